import { KEY_BEGIN, KEY_END, REDACTED, type Span, tokenSpans } from './secrets.ts'

/** `text` without a private key, or a private key. */
export interface Piece {
  readonly text: string
  readonly isKey: boolean
}

/** Private keys first: whatever else one holds goes with it. A key without an end reaches to the text's. */
export function* piecesOf(text: string): Generator<Piece> {
  let rest = text
  for (let begin = KEY_BEGIN.exec(rest); begin; begin = KEY_BEGIN.exec(rest)) {
    yield { text: rest.slice(0, begin.index), isKey: false }
    const body = rest.slice(begin.index + begin[0].length)
    const end = KEY_END.exec(body)
    yield { text: '', isKey: true }
    if (!end) return
    rest = body.slice(end.index + end[0].length)
  }
  yield { text: rest, isKey: false }
}

/** Where tokens and known values stand in a text without private keys; in order, none overlaps another. */
export function spansOf(text: string, values: readonly string[]): Span[] {
  const spans = tokenSpans(text)
  for (const value of values) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      spans.push({ start: at, end: at + value.length })
    }
  }
  const merged: Span[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last && span.start < last.end)
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
    else merged.push(span)
  }
  return merged
}

export function withoutSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text
  let out = ''
  let at = 0
  for (const { start, end } of spans) {
    out += text.slice(at, start) + REDACTED
    at = end
  }
  return out + text.slice(at)
}
