export const REDACTED = '[redacted]'

/**
 * Token forms that are secrets wherever they appear. Each is linear: it has a fixed beginning, bounded repeats, and an
 * open end only where nothing can follow that would make it fail. JSON web tokens have three open runs: see `webTokens`.
 */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /\bts_[0-9a-f]{64}\b/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\btvly-[A-Za-z0-9_-]{16,}/g,
  /\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}/g,
  /\bBearer\s{1,100}[A-Za-z0-9._~+/-]{16,}=*/g,
]

/** What the token forms are made of, but for the blanks of PEM blocks and of "Bearer x". */
const TOKEN_CHAR = /[A-Za-z0-9._~+/=-]/
const OTHER_CHAR = /[^A-Za-z0-9._~+/=-]/
const PEM_BEGIN = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/
const PEM_BEGINNING = /^-----BEGIN(?: [A-Z ]{0,51}-{0,5})?$/
const PEM_END = /-----END [A-Z ]{0,40}PRIVATE KEY-----/
/** Longer than the longest line that ends a PEM block. */
const PEM_END_CHARS = 80
/** A word that is longer is held back to its end, without a look at what it may become. */
const MAX_JUDGED_CHARS = 256

/** Values shorter than this are too common to be taken out of text. */
const MIN_SECRET_CHARS = 6

export interface Redactor {
  redact(value: string): string
  /** Whether `text` would change it. */
  containsSecret(value: string): boolean
  /** For text that comes in pieces: what may still become part of a secret is held back, however long it is. */
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
    return withoutWebTokens(out)
  }
  return {
    redact: text,
    containsSecret: (value) => text(value) !== value,
    stream: () => new RedactedStream(text, spellings),
  }
}

function withoutWebTokens(text: string): string {
  let out = ''
  let at = 0
  for (const [start, end] of webTokens(text)) {
    out += text.slice(at, start) + REDACTED
    at = end
  }
  return at === 0 ? text : out + text.slice(at)
}

/** Where JSON web tokens stand. As a pattern it would try each `eyJ` of a long run to the run's end. */
function* webTokens(text: string): Generator<readonly [number, number]> {
  const run = /[A-Za-z0-9_-]*/y
  const endOf = (from: number): number => {
    run.lastIndex = from
    run.test(text)
    return run.lastIndex
  }
  for (let at = text.indexOf('eyJ'); at >= 0; at = text.indexOf('eyJ', at)) {
    if (/\w/.test(text[at - 1] ?? '')) {
      at += 3
      continue
    }
    const first = endOf(at)
    const second = text[first] === '.' ? endOf(first + 1) : first
    const third = text[second] === '.' && second > first ? endOf(second + 1) : second
    const whole = first - at >= 11 && second - first >= 9 && third - second >= 9
    if (whole) yield [at, third]
    // No later place in the first run can do better.
    at = whole ? third : first
  }
}

/** Releases words as they end; each character is looked at once, but for a bounded part before the last word. */
class RedactedStream {
  readonly #redact: (text: string) => string
  readonly #spellings: readonly string[]
  #held = ''
  /** Inside a private key: nothing is kept of it. */
  #inKey = false

  constructor(redact: (text: string) => string, spellings: readonly string[]) {
    this.#redact = redact
    this.#spellings = spellings
  }

  push(piece: string): string {
    this.#held += piece
    if (!OTHER_CHAR.test(piece) && !this.#inKey && this.#held.length > MAX_JUDGED_CHARS) return ''
    return this.#release()
  }

  end(): string {
    const out = this.#inKey ? REDACTED : this.#redact(this.#held)
    this.#held = ''
    this.#inKey = false
    return out
  }

  #release(): string {
    let out = ''
    for (;;) {
      if (this.#inKey) {
        const end = PEM_END.exec(this.#held)
        if (!end) {
          this.#held = this.#held.slice(-PEM_END_CHARS)
          return out
        }
        out += REDACTED
        this.#held = this.#held.slice(end.index + end[0].length)
        this.#inKey = false
      }
      const begin = PEM_BEGIN.exec(this.#held)
      if (!begin) break
      out += this.#redact(this.#held.slice(0, begin.index))
      this.#held = this.#held.slice(begin.index + begin[0].length)
      this.#inKey = true
    }
    const cut = safeLength(this.#held, this.#spellings)
    out += this.#redact(this.#held.slice(0, cut))
    this.#held = this.#held.slice(cut)
    return out
  }
}

/** How much of `held` can be released: nothing that may be the beginning of a secret, and never half of one. */
function safeLength(held: string, spellings: readonly string[]): number {
  const word = lastWord(held)
  let cut = beforeBearer(held, word)
  // A word that cannot open a secret is shown as it grows.
  if (cut === word && held.length - word <= MAX_JUDGED_CHARS && !mayOpenSecret(held.slice(word))) cut = held.length
  const pem = held.lastIndexOf('-----BEGIN')
  if (pem >= 0 && held.length - pem < 80 && PEM_BEGINNING.test(held.slice(pem))) cut = Math.min(cut, pem)
  for (let before = -1; before !== cut; ) {
    before = cut
    for (const s of spellings) cut = beforeValue(held, cut, s)
  }
  return cut
}

/** Where the run of token characters begins that the text ends with. */
function lastWord(held: string): number {
  let at = held.length
  while (at > 0 && TOKEN_CHAR.test(held[at - 1] ?? '')) at--
  return at
}

/** A word after "Bearer" belongs to it. */
function beforeBearer(held: string, cut: number): number {
  const from = Math.max(0, cut - 106)
  const found = /\bBearer\s{1,100}$/.exec(held.slice(from, cut))
  return found ? from + found.index : cut
}

/** The beginning of a value, or of what may become it, that a cut would go through. */
function beforeValue(held: string, cut: number, value: string): number {
  const from = Math.max(0, cut - value.length + 1)
  for (let at = held.indexOf(value[0] ?? '', from); at >= 0 && at < cut; at = held.indexOf(value[0] ?? '', at + 1)) {
    if (value.startsWith(held.slice(at, at + value.length))) return at
  }
  return cut
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
