/** One replacement as the model asked for it. */
export interface Edit {
  readonly old_string: string
  readonly new_string: string
  readonly near_line?: number
}

interface Region {
  readonly start: number
  readonly end: number
  readonly text: string
}

export type EditErrorCode = 'not-found' | 'ambiguous' | 'overlap'

/** What is wrong with an edit, in words for the model. */
export class EditError extends Error {
  readonly code: EditErrorCode
  constructor(code: EditErrorCode, message: string) {
    super(message)
    this.name = 'EditError'
    this.code = code
  }
}

/** The text with all edits made, or none: throws EditError and changes nothing. */
export function applyEdits(text: string, edits: readonly Edit[], named: boolean): string {
  const regions = edits.map((edit, i) => locateEdit(text, edit, named ? `edits[${i}]: ` : ''))
  const sorted = regions.map((r, i) => ({ ...r, i })).sort((a, b) => a.start - b.start)
  for (const [n, region] of sorted.entries()) {
    const next = sorted[n + 1]
    if (next && next.start < region.end) {
      throw new EditError('overlap', `edits[${region.i}] and edits[${next.i}] overlap. Nothing was changed.`)
    }
  }
  return sorted.reduceRight((out, r) => out.slice(0, r.start) + r.text + out.slice(r.end), text)
}

/** Every place, counted without overlaps. Throws EditError 'not-found' where there is none. */
export function replaceAll(text: string, edit: Edit): { text: string; count: number } {
  const { old, replacement } = withLineEndings(text, edit)
  const parts = text.split(old)
  if (parts.length === 1) throw notFound('')
  return { text: parts.join(replacement), count: parts.length - 1 }
}

function locateEdit(text: string, edit: Edit, prefix: string): Region {
  const { old, replacement } = withLineEndings(text, edit)
  const starts = startsOf(text, old)
  const [first] = starts
  if (first === undefined) throw notFound(prefix)
  const region = (start: number): Region => ({ start, end: start + old.length, text: replacement })
  if (starts.length === 1) return region(first)
  const lines = starts.map((start) => lineAt(text, start))
  const { near_line: near } = edit
  if (near === undefined) {
    const places = lines.slice(0, 20).join(', ')
    throw new EditError(
      'ambiguous',
      `${prefix}Found ${starts.length} occurrences of old_string (lines ${places}). The text must be unique: add more of the text around it, or give near_line or replace_all.`,
    )
  }
  const nearest = lines.reduce(
    (best, line, i) => (Math.abs(line - near) < Math.abs((lines[best] ?? 0) - near) ? i : best),
    0,
  )
  return region(starts[nearest] ?? first)
}

/** In a file of CRLF lines a model's LF means the file's line end. */
function withLineEndings(text: string, edit: Edit): { old: string; replacement: string } {
  const plain = { old: edit.old_string, replacement: edit.new_string }
  if (text.includes(plain.old) || !text.includes('\r\n')) {
    const crlf = text.includes('\r\n') && !/(?<!\r)\n/.test(text)
    return crlf ? { ...plain, replacement: toCrlf(plain.replacement) } : plain
  }
  return { old: toCrlf(plain.old), replacement: toCrlf(plain.replacement) }
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

/** Overlapping places count: `aa` is found twice in `aaa`. */
function startsOf(text: string, old: string): number[] {
  const starts: number[] = []
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + 1)) starts.push(at)
  return starts
}

function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}

function notFound(prefix: string): EditError {
  return new EditError('not-found', `${prefix}old_string was not found. Read the file again and copy the text exactly.`)
}
