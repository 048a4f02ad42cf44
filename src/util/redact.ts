import { RedactedStream } from './redact-stream.ts'
import { piecesOf, spansOf, withoutSpans } from './secret-spans.ts'
import { REDACTED } from './secrets.ts'

export { REDACTED } from './secrets.ts'

declare const redacted: unique symbol
/** Text that a redactor gave; whatever is made of it, or cut from it, is plain text again. */
export type Redacted = string & { readonly [redacted]: true }

/** Values shorter than this are too common to be taken out of text. */
const MIN_SECRET_CHARS = 6

export interface Redactor {
  redact(value: string): Redacted
  /** The first `max` characters at most, redacted: where the cut may go through a secret, it comes before it. */
  head(value: string, max: number): Redacted
  /** What follows a part that is not known, redacted: without what may be the rest of a secret that begins there. */
  tail(value: string): Redacted
  /** Whether `redact` would change it. */
  containsSecret(value: string): boolean
  /** For text that comes in pieces: what may still become part of a secret is held back, however long it is. */
  stream(): { push(piece: string): string; end(): string }
}

/** Knows the exact values of all configured secrets and the known token forms. */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const values = [...new Set(secrets)].filter((s) => s.length >= MIN_SECRET_CHARS)
  // A value may stand JSON-escaped in a log line or percent-encoded in a URL.
  const spelled = new Set(
    values.flatMap((v) => [v, JSON.stringify(v).slice(1, -1), encodeURIComponent(v.toWellFormed())]),
  )
  const spellings = [...spelled]
  const redact = (text: string): string => {
    let out = ''
    for (const piece of piecesOf(text)) {
      out += piece.isKey ? REDACTED : withoutSpans(piece.text, spansOf(piece.text, spellings))
    }
    return out
  }
  return {
    redact: (text) => redact(text) as Redacted,
    head(text, max) {
      return (text.length <= max ? redact(text) : new RedactedStream(spellings).push(text.slice(0, max))) as Redacted
    },
    tail(text) {
      const known = redact(text)
      return known.slice(restOfSecret(known, spellings)) as Redacted
    },
    containsSecret: (text) => redact(text) !== text,
    stream: () => new RedactedStream(spellings),
  }
}

/** More of a run of token characters is not taken for the rest of a token. */
const TOKEN_REST = /^[A-Za-z0-9._~+/=-]{0,4096}/

function restOfSecret(text: string, values: readonly string[]): number {
  let end = TOKEN_REST.exec(text)?.[0].length ?? 0
  for (const value of values) {
    let length = Math.min(value.length - 1, text.length)
    while (length > end && !value.endsWith(text.slice(0, length))) length--
    end = Math.max(end, length)
  }
  return end
}
