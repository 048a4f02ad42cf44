import { spansOf, withoutSpans } from './secret-spans.ts'
import {
  beforeAddress,
  beforeReach,
  KEY_BEGIN,
  KEY_BEGINNING,
  KEY_END,
  KEY_LINE_CHARS,
  openingIn,
  REDACTED,
  type Span,
  TOKEN_CHAR,
} from './secrets.ts'

/** A longer token is not held for its end: all token characters that follow count as its, characters. */
const MAX_TOKEN_CHARS = 128 * 1024
/** From here on what is held is not looked through again for each piece, but as it has grown, so that the work stays linear. */
const FREE_CHARS = 256
const GROWTH = 1.25
/** A blank ends a word: up to this length what is held is looked through for it. */
const MAX_FREE_CHARS = 16 * 1024

/** Releases what can no longer be part of a secret, in whatever pieces the text comes: the same text as of the whole. */
export class RedactedStream {
  readonly #values: readonly string[]
  #held = ''
  /** The last character that was released: some forms depend on what stands before. */
  #before = ''
  /** Inside a private key: nothing is kept of it. */
  #inKey = false
  /** Inside a token that has no end so far, and is not kept any more. */
  #inToken = false
  /** What is held is looked through when it is as long as this. */
  #due = 0

  constructor(values: readonly string[]) {
    this.#values = values
  }

  push(piece: string): string {
    this.#held += piece
    const size = this.#held.length
    if (size > FREE_CHARS && size < this.#due && !(size < MAX_FREE_CHARS && /\s/.test(piece))) return ''
    const out = this.#release()
    this.#due = this.#held.length * GROWTH
    return out
  }

  end(): string {
    const out = this.#release()
    const rest = this.#inKey ? REDACTED : this.#redacted(this.#held)
    this.#held = ''
    this.#before = ''
    this.#inKey = false
    this.#inToken = false
    return out + rest
  }

  #release(): string {
    let out = ''
    for (;;) {
      if (this.#inKey) {
        const end = KEY_END.exec(this.#held)
        if (!end) {
          this.#held = this.#held.slice(-KEY_LINE_CHARS)
          return out
        }
        out += REDACTED
        this.#held = this.#held.slice(end.index + end[0].length)
        this.#before = ''
        this.#inKey = false
      }
      const begin = KEY_BEGIN.exec(this.#held)
      if (!begin) break
      out += this.#redacted(this.#held.slice(0, begin.index))
      this.#held = this.#held.slice(begin.index + begin[0].length)
      this.#inKey = true
    }
    if (this.#inToken) {
      this.#held = this.#held.replace(TOKEN_RUN, '')
      if (!this.#held) return out
      this.#inToken = false
    }
    const spans = this.#spans(this.#held)
    const cut = this.#safeLength(spans)
    const released = this.#held.slice(0, cut)
    out += withoutSpans(
      released,
      spans.filter(({ end }) => end <= cut),
    )
    this.#held = this.#held.slice(cut)
    this.#before = released.at(-1) ?? this.#before
    const [open] = spans.slice(-1)
    if (open && open.start === cut && open.end - cut === this.#held.length && this.#held.length > MAX_TOKEN_CHARS) {
      this.#held = ''
      this.#before = ''
      this.#inToken = true
      return out + REDACTED
    }
    return out
  }

  #redacted(text: string): string {
    return withoutSpans(text, this.#spans(text))
  }

  #spans(text: string): Span[] {
    const shift = this.#before.length
    const spans = spansOf(this.#before + text, this.#values)
    return spans.map(({ start, end }) => ({ start: Math.max(0, start - shift), end: end - shift }))
  }

  /** How much of what is held can be released: nothing that may be the beginning of a secret, and never half of one. */
  #safeLength(spans: readonly Span[]): number {
    const held = this.#held
    const word = lastWord(held)
    let cut = Math.min(word + openingIn(held.slice(word)), beforeAddress(held), reached(held, word))
    // What is known as a token and has not ended.
    const last = spans.at(-1)
    if (last?.end === held.length && last.end > word) cut = Math.min(cut, last.start)
    const key = held.lastIndexOf('-----BEGIN')
    if (key >= 0 && held.length - key < KEY_LINE_CHARS && KEY_BEGINNING.test(held.slice(key))) cut = Math.min(cut, key)
    for (let before = -1; before !== cut; ) {
      before = cut
      for (const value of this.#values) cut = beforeValue(held, cut, value)
      const halved = spans.find(({ start, end }) => start < cut && cut < end)
      if (halved) cut = halved.start
    }
    return cut
  }
}

const TOKEN_RUN = /^[A-Za-z0-9._~+/=-]+/

/** Where the run of token characters begins that the text ends with. */
function lastWord(held: string): number {
  let at = held.length
  while (at > 0 && TOKEN_CHAR.test(held[at - 1] ?? '')) at--
  return at
}

function reached(held: string, word: number): number {
  const cut = beforeReach(held, word)
  return cut === word ? held.length : cut
}

/** The beginning of a value, or of what may become it, that a cut would go through. */
function beforeValue(held: string, cut: number, value: string): number {
  const first = value[0] ?? ''
  const from = Math.max(0, cut - value.length + 1)
  for (let at = held.indexOf(first, from); at >= 0 && at < cut; at = held.indexOf(first, at + 1)) {
    if (value.startsWith(held.slice(at, at + value.length))) return at
  }
  return cut
}
