/** An open code fence. */
export interface Fence {
  /** Quote marks and blanks that stand before the fence on its further lines. */
  readonly prefix: string
  /** The run of ` or ~ that opened it. */
  readonly mark: string
  /** What comes after the mark, trimmed: the language. */
  readonly info: string
}

export type FenceLine =
  | { readonly kind: 'open'; readonly fence: Fence }
  | { readonly kind: 'close' | 'inside' | 'text' }

const CONTAINER = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))/y
const MARK = /[ \t]*(`{3,}|~{3,})/y

/** Where a fence may begin in a line, after quote and list marks. */
function markAt(line: string): { prefix: string; mark: string; info: string } | undefined {
  let at = 0
  for (;;) {
    CONTAINER.lastIndex = at
    if (!CONTAINER.test(line)) break
    at = CONTAINER.lastIndex
  }
  MARK.lastIndex = at
  const mark = MARK.exec(line)?.[1]
  if (!mark) return undefined
  const end = MARK.lastIndex
  const prefix = line.slice(0, end - mark.length).replace(/[^>\s]/g, ' ')
  return { prefix, mark, info: line.slice(end).trim() }
}

/** Whether the line begins like a fence, be it one or not. */
export function looksLikeFence(line: string): boolean {
  return (line.includes('```') || line.includes('~~~')) && markAt(line) !== undefined
}

/** What one line is, given the fence that is open before it. Depends on nothing that comes later. */
export function fenceLine(line: string, open: Fence | undefined): FenceLine {
  const ended = open?.prefix.includes('>') && !line.trimStart().startsWith('>')
  if (open && !ended) return { kind: closes(line, open, open.mark.length) ? 'close' : 'inside' }
  if (!line.includes('```') && !line.includes('~~~')) return { kind: 'text' }
  const found = markAt(line)
  if (!found || (found.mark.startsWith('`') && found.info.includes('`'))) return { kind: 'text' }
  return { kind: 'open', fence: found }
}

/** Whether the line, perhaps not yet written to its end, may still become the fence's closing line. */
export function mayBecomeClose(line: string, open: Fence): boolean {
  return closes(line, open, 0)
}

function closes(line: string, open: Fence, least: number): boolean {
  const quoted = open.prefix.includes('>')
  const rest = line.replace(quoted ? /^[ \t>]*/ : /^[ \t]*/, '')
  if (line.length - rest.length > open.prefix.length + 3) return false
  const run = rest.trimEnd()
  return run.length >= least && [...run].every((c) => c === open.mark[0])
}

/** What closes the fence, on a line of its own. */
export function closing(fence: Fence): string {
  return fence.prefix + fence.mark
}

/** The fence at the beginning of a further part: quote marks are kept, a list's indent is not. */
export function reopened(fence: Fence): Fence {
  const quote = fence.prefix.includes('>') ? `${fence.prefix.slice(0, fence.prefix.lastIndexOf('>') + 1)} ` : ''
  return { ...fence, prefix: quote }
}

/** The text with the fence closed that it leaves open, so that what follows is not taken for code. */
export function closeFences(text: string): string {
  let open: Fence | undefined
  for (const line of text.split('\n')) {
    const found = fenceLine(line, open)
    open = found.kind === 'open' ? found.fence : found.kind === 'inside' ? open : undefined
  }
  return open ? `${text.replace(/\n$/, '')}\n${closing(open)}` : text
}
