export const REDACTED = '[redacted]'

/** Token forms that are secrets wherever they appear. The first alternatives are the longest. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bts_[0-9a-f]{64}\b/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\btvly-[A-Za-z0-9_-]{16,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
  /\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/-]{16,}=*/g,
]

/** Values shorter than this are too common to be taken out of text. */
const MIN_SECRET_CHARS = 6

/** Text that could still grow into a secret is held back while streaming, up to this many characters. */
const MAX_HELD_CHARS = 4096

export interface Redactor {
  redact(value: string): string
  /** Whether `text` would change it. */
  containsSecret(value: string): boolean
  /** For text that comes in pieces: what a piece's end may still be part of is held back until it is certain. */
  stream(): { push(piece: string): string; end(): string }
}

/** Knows the exact values of all configured secrets and the known token forms. */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const values = [...new Set(secrets)].filter((s) => s.length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length)
  // A value may stand JSON-escaped in a log line or percent-encoded in a URL.
  const spellings = values.flatMap((v) => [...new Set([v, JSON.stringify(v).slice(1, -1), encodeURIComponent(v)])])

  const text = (value: string): string => {
    let out = value
    for (const s of spellings) if (out.includes(s)) out = out.replaceAll(s, REDACTED)
    for (const form of FORMS) out = out.replace(form, REDACTED)
    return out
  }
  return {
    redact: text,
    containsSecret: (value) => text(value) !== value,
    stream: () => createStream(text, spellings),
  }
}

function createStream(text: (s: string) => string, spellings: readonly string[]) {
  let held = ''
  return {
    push(piece: string): string {
      held += piece
      const cut = safeLength(held, spellings)
      const out = text(held.slice(0, cut))
      held = held.slice(cut)
      return out
    },
    end(): string {
      const out = text(held)
      held = ''
      return out
    },
  }
}

/** How much of `held` can be released: nothing that may be the beginning of a secret, and never half of one. */
function safeLength(held: string, spellings: readonly string[]): number {
  let cut = held.length
  for (const s of spellings) {
    for (let n = Math.min(s.length - 1, held.length); n > 0; n--) {
      if (held.endsWith(s.slice(0, n))) {
        cut = Math.min(cut, held.length - n)
        break
      }
    }
  }
  // A token form has no white space but for PEM blocks and "Bearer x": hold back the last word that may open one.
  const pem = held.lastIndexOf('-----BEGIN')
  if (pem >= 0 && !/-----END [A-Z ]*PRIVATE KEY-----/.test(held.slice(pem))) cut = Math.min(cut, pem)
  const word = /(?:Bearer\s+)?\S*$/.exec(held.slice(-MAX_HELD_CHARS))?.[0] ?? ''
  if (mayOpenSecret(word)) cut = Math.min(cut, held.length - word.length)
  if (held.length - cut > MAX_HELD_CHARS) return held.length
  return beforeSecret(held, cut, spellings)
}

/** A cut inside a whole secret moves to its beginning. */
function beforeSecret(held: string, cut: number, spellings: readonly string[]): number {
  let at = cut
  for (const s of spellings) {
    const start = held.lastIndexOf(s, at - 1)
    if (start >= 0 && start + s.length > at) at = start
  }
  for (const form of FORMS) {
    for (const match of held.matchAll(form)) {
      if (match.index < at && match.index + match[0].length > at) at = match.index
    }
  }
  return at
}

const OPENERS = [
  'ts_',
  'xox',
  'xapp-',
  'sk-',
  'gh',
  'github_pat_',
  'AKIA',
  'ASIA',
  'AIza',
  'tvly-',
  'eyJ',
  'Bearer',
  '-----BEGIN',
]

function mayOpenSecret(word: string): boolean {
  if (/[MNO][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]*){0,2}$/.test(word)) return true
  return OPENERS.some((o) => {
    if (word.includes(o)) return true
    for (let n = o.length - 1; n > 0; n--) if (word.endsWith(o.slice(0, n))) return true
    return false
  })
}
