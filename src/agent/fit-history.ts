import type { ContentPart, Message } from '../model/message.ts'

const LEFT_OUT: ContentPart = {
  type: 'text',
  text: '[this result was left out, it no longer fits; the call did run, do not repeat it only to see it]',
}
/** Shorter than this is not worth leaving out, characters. */
const SHORT_CHARS = 500
/** What stays at least of the texts that matter most, characters. */
const MIN_KEPT_CHARS = 1024

/**
 * One turn's messages within `room`. First the results of its earlier steps go, then the arguments of those calls, oldest
 * first; what is left is cut in the middle, the longest first. No message is taken out: calls keep their results.
 */
export function fitTurn(
  messages: readonly Message[],
  room: number,
  tokensOf: (messages: readonly Message[]) => number,
): readonly Message[] {
  const out = [...messages]
  let over = tokensOf(out) - room
  const replace = (i: number, by: Message): void => {
    over -= tokensOf(out.slice(i, i + 1)) - tokensOf([by])
    out[i] = by
  }
  const lastStep = out.findLastIndex((m) => m.role === 'assistant' && m.calls.length > 0)
  for (const [i, m] of out.entries()) {
    if (over <= 0) return out
    if (i < lastStep && m.role === 'tool' && lengthOf(m) > SHORT_CHARS) replace(i, { ...m, content: [LEFT_OUT] })
  }
  for (const [i, m] of out.entries()) {
    if (over <= 0) return out
    if (i < lastStep && m.role === 'assistant') replace(i, withoutArguments(m))
  }
  // Those that cannot be made any shorter.
  const spent = new Set<number>()
  while (over > 0) {
    const i = longest(out, spent)
    const m = out[i]
    if (!m) return out
    const before = lengthOf(m)
    const shorter = cut(m, Math.max(MIN_KEPT_CHARS, Math.floor(before / 2)))
    if (lengthOf(shorter) < before) replace(i, shorter)
    else spent.add(i)
  }
  return out
}

function withoutArguments(m: Extract<Message, { role: 'assistant' }>): Message {
  const calls = m.calls.map((call) =>
    call.arguments.length <= SHORT_CHARS
      ? call
      : { ...call, arguments: JSON.stringify({ left_out: `${call.arguments.length} characters, to save room` }) },
  )
  return { ...m, calls }
}

/** The message whose text can be cut most; -1 where none can. */
function longest(messages: readonly Message[], spent: ReadonlySet<number>): number {
  let found = -1
  let most = MIN_KEPT_CHARS
  for (const [i, m] of messages.entries()) {
    const length = spent.has(i) ? 0 : lengthOf(m)
    if (length > most) [found, most] = [i, length]
  }
  return found
}

/** Of what may be cut; an image counts as more than any text. */
function lengthOf(m: Message): number {
  if (m.role === 'system') return 0
  if (m.role === 'assistant') return m.text.length
  return m.content.reduce((n, p) => n + (p.type === 'text' ? p.text.length : 0), 0)
}

function cut(m: Message, limit: number): Message {
  if (m.role === 'system') return m
  if (m.role === 'assistant') return { ...m, text: shortened(m.text, limit) }
  const whole = lengthOf(m)
  const texts = m.content.map((p) => (p.type === 'text' ? shortened(p.text, (p.text.length / whole) * limit) : ''))
  if (texts.reduce((n, text) => n + text.length, 0) < whole) {
    return { ...m, content: m.content.map((p, i) => (p.type === 'text' ? { ...p, text: texts[i] ?? '' } : p)) }
  }
  // Many short parts, of which none can be cut alone: as one text they can.
  const joined = m.content.map((p) => (p.type === 'text' ? p.text : '')).join('')
  const others = m.content.filter((p) => p.type !== 'text')
  return { ...m, content: [{ type: 'text', text: shortened(joined, limit) }, ...others] }
}

function shortened(text: string, limit: number): string {
  const note = (dropped: number): string => `\n[… ${dropped} characters left out here, they do not fit …]\n`
  const side = Math.floor((Math.floor(limit) - note(text.length).length) / 2)
  if (text.length <= limit || side < 1) return text
  const head = text.slice(0, side).replace(/[\uD800-\uDBFF]$/, '')
  const tail = text.slice(-side).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}${note(text.length - head.length - tail.length)}${tail}`
}
