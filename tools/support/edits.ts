import { LINE_CUT } from './numbered-lines.ts'

/** One replacement as the model asked for it. */
export interface Edit {
  readonly old_string: string
  readonly new_string: string
  readonly near_line?: number
}

/** Places that are counted, and lines that are named, where there are too many. */
const MAX_COUNTED = 10_000
const MAX_NAMED = 20

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
  const ends = lineEndsOf(text)
  const regions = edits.map((edit, i) =>
    locateEdit(text, withLineEndings(text, edit, ends), named ? `edits[${i}]: ` : ''),
  )
  const sorted = regions.map((r, i) => ({ ...r, i })).sort((a, b) => a.start - b.start)
  for (const [n, region] of sorted.entries()) {
    const next = sorted[n + 1]
    if (next && next.start < region.end) {
      throw new EditError('overlap', `edits[${region.i}] and edits[${next.i}] overlap. Nothing was changed.`)
    }
  }
  const pieces: string[] = []
  let at = 0
  for (const { start, end, text: replacement } of sorted) {
    pieces.push(text.slice(at, start), replacement)
    at = end
  }
  return pieces.join('') + text.slice(at)
}

/** Every place, counted without overlaps. Throws EditError 'not-found' where there is none. */
export function replaceAll(text: string, edit: Edit): { text: string; count: number } {
  const { old_string: old, new_string: replacement } = withLineEndings(text, edit, lineEndsOf(text))
  const parts = text.split(old)
  if (parts.length === 1) throw notFound(edit, '')
  return { text: parts.join(replacement), count: parts.length - 1 }
}

function locateEdit(text: string, edit: Edit, prefix: string): Region {
  const { old_string: old, near_line: near } = edit
  const first = text.indexOf(old)
  if (first < 0) throw notFound(edit, prefix)
  const region = (start: number): Region => ({ start, end: start + old.length, text: edit.new_string })
  if (text.indexOf(old, first + 1) < 0) return region(first)
  if (near !== undefined) return region(nearest(text, old, near))
  const { count, lines } = placesOf(text, old)
  const found = count > MAX_COUNTED ? `more than ${MAX_COUNTED}` : String(count)
  throw new EditError(
    'ambiguous',
    `${prefix}Found ${found} occurrences of old_string (lines ${lines.join(', ')}). The text must be unique: add more of the text around it, or give near_line or replace_all.`,
  )
}

/** The place whose line is nearest; of two, the earlier one. */
function nearest(text: string, old: string, near: number): number {
  const from = startOfLine(text, near)
  const after = text.indexOf(old, from)
  const last = from > 0 ? text.lastIndexOf(old, from - 1) : -1
  // Of several on one line it is the first.
  const before = last < 0 ? -1 : text.indexOf(old, text.lastIndexOf('\n', last - 1) + 1)
  if (after < 0 || before < 0) return Math.max(after, before)
  return near - lineAt(text, before) <= lineAt(text, after) - near ? before : after
}

/** Where the line of this number begins; the text's end where it has fewer. */
function startOfLine(text: string, line: number): number {
  let at = 0
  for (let n = 1; n < line; n++) {
    const end = text.indexOf('\n', at)
    if (end < 0) return text.length
    at = end + 1
  }
  return at
}

/** How often it is found, and the lines of the first twenty. Overlapping places count: `aa` is found twice in `aaa`. */
function placesOf(text: string, old: string): { count: number; lines: readonly number[] } {
  const lines: number[] = []
  let count = 0
  let line = 1
  let counted = 0
  for (let at = text.indexOf(old); at >= 0 && count <= MAX_COUNTED; at = text.indexOf(old, at + 1)) {
    if (count++ >= MAX_NAMED) continue
    for (let end = text.indexOf('\n', counted); end >= 0 && end < at; end = text.indexOf('\n', counted)) {
      line++
      counted = end + 1
    }
    lines.push(line)
  }
  return { count, lines }
}

type LineEnds = 'lf' | 'crlf' | 'mixed'

function lineEndsOf(text: string): LineEnds {
  if (!text.includes('\r\n')) return 'lf'
  return /(?<!\r)\n/.test(text) ? 'mixed' : 'crlf'
}

/** In a file of CRLF lines a model's LF means the file's line end. */
function withLineEndings(text: string, edit: Edit, ends: LineEnds): Edit {
  if (ends === 'lf') return edit
  if (!text.includes(edit.old_string)) {
    return { ...edit, old_string: toCrlf(edit.old_string), new_string: toCrlf(edit.new_string) }
  }
  return ends === 'crlf' ? { ...edit, new_string: toCrlf(edit.new_string) } : edit
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}

function notFound({ old_string: old }: Edit, prefix: string): EditError {
  const cut = LINE_CUT.test(old)
    ? 'It holds the note on what was left out of a long line; name only text that the file has, before or after it.'
    : 'Read the file again and copy the text exactly.'
  return new EditError('not-found', `${prefix}old_string was not found. ${cut}`)
}
