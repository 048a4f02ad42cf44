import { type Fence, fenceLine } from './fences.ts'

/** What a line is to the one before it: lines of one kind below each other may be one block. */
type Kind = 'blank' | 'text' | 'single' | 'code' | 'bar' | 'quote' | 'html' | `list ${string}`

/**
 * Where blocks at the top begin, at least: of what only a parser can tell (a list with blank lines, say) there are
 * more. Each place depends only on the lines up to its own; linear.
 */
export function* blockStarts(source: string): Generator<number> {
  let fence: Fence | undefined
  let before: Kind = 'blank'
  let list: { readonly kind: Kind; readonly indent: number } | undefined
  for (let at = 0; at <= source.length; ) {
    const end = source.indexOf('\n', at)
    const line = source.slice(at, end < 0 ? source.length : end)
    const found = fenceLine(line, fence)
    const kind = found.kind === 'text' ? kindOf(line) : 'code'
    const inside: boolean = list !== undefined && (list.kind === kind || indentOf(line) >= list.indent)
    const begins = found.kind === 'open' || (kind !== 'code' && beginsBlock(kind, before))
    if (begins && !inside) {
      yield at
      list = kind.startsWith('list') ? { kind, indent: indentOf(line) + 1 + kind.length - 'list '.length } : undefined
    }
    fence = found.kind === 'open' ? found.fence : found.kind === 'inside' ? fence : undefined
    // What follows a fence begins anew.
    before = kind === 'code' ? 'blank' : kind
    if (end < 0) return
    at = end + 1
  }
}

function beginsBlock(kind: Kind, before: Kind): boolean {
  if (kind === 'blank') return false
  if (kind === 'single' || before === 'blank' || before === 'single' || before === 'html') return true
  return kind !== before && kind !== 'text'
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function kindOf(line: string): Kind {
  const text = line.trimStart()
  if (text === '') return 'blank'
  if (/^(?:#{1,6}(?:\s|$)|\[)/.test(text) || /^[-*_=](?:[ \t]*[-*_=]){2,}[ \t]*$/.test(text)) return 'single'
  const list = /^(?:[-*+]|\d{1,9}([.)]))(?=\s|$)/.exec(text)
  if (list) return `list ${list[1] ?? text[0]}`
  if (text.startsWith('>')) return 'quote'
  if (text.startsWith('<')) return 'html'
  return text.includes('|') ? 'bar' : 'text'
}
