/** What looks like a secret, wherever it appears: the one list. `createRedactor` puts it to use. */

/** What stands in a secret's place. */
export const REDACTED = '[redacted]'

/** A private key is secret from here to its end, whatever lies between. */
export const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
export const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
/** What may still become the first line of one. */
export const KEY_BEGINNING = /^-----BEGIN(?: [A-Z0-9 ]{0,60}-{0,5})?$/
/** Longer than the longest of these lines. */
export const KEY_LINE_CHARS = 90

/** From `start` up to and without `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** What tokens are made of. A form below stays within one run of these, but for what stands before `reach`. */
export const TOKEN_CHAR = /[A-Za-z0-9._~+/=-]/

interface Form {
  /** One of these begins it. */
  readonly openers: readonly string[]
  /** Global; bounded, so that each place where it may begin is looked at in constant time. A group is what is secret of it. */
  readonly shape: RegExp
  /** Sticky: how it may go on without an end. */
  readonly tail?: RegExp
  /** How far from the opener the token itself may begin, characters; 0 where blanks cannot lie between. */
  readonly reach: number
}

const W = '[A-Za-z0-9_-]'
const ALNUM = '[A-Za-z0-9]'
const HEX = '[0-9a-f]'
const NO_DIGIT = '[A-Za-z_./~+-]'
/**
 * A digit soon, or a long run of letters: words with dashes between them have neither. What has no digit soon is known by
 * its first 41 characters, without going back over them.
 */
const RANDOM = `(?=(?!${NO_DIGIT}{41})${NO_DIGIT}{0,40}\\d|[A-Za-z]{24})`
const QUOTED_VALUE = '["\']?\\s{0,5}[:=]\\s{0,5}["\']?'

function form(openers: string, shape: string, tail = '', reach = 0): Form {
  const all = openers.split(' ')
  const begin = all.map((o) => o.replace(/[.-]/g, '\\$&')).join('|')
  return {
    openers: all,
    shape: new RegExp(shape.replace('^', `(?:${begin})`), 'g'),
    ...(tail ? { tail: new RegExp(`${tail}*`, 'y') } : {}),
    reach,
  }
}

/** `^` stands for the opener. */
const FORMS: readonly Form[] = [
  // Ours.
  form('ts_', `^${HEX}{64}`),
  // Slack.
  form(
    'xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-',
    `^${RANDOM}[A-Za-z0-9.-]{10}`,
    '[A-Za-z0-9-]',
  ),
  form('hooks.slack.com/', `^(?:services|workflows|triggers)/(${W}{6,20}/${W}{6,20}/${W}{16})`, '[A-Za-z0-9/_-]'),
  // Discord: the bot's id in base64, so its characters come in a fixed pattern.
  form('mfa.', `^${W}{60}`, W),
  form('/api/webhooks/', `^\\d{17,20}/(${W}{40})`, W),
  // GitHub, GitLab, npm, PyPI, Docker.
  form('ghp_ gho_ ghu_ ghs_ ghr_', `^${ALNUM}{20}`, ALNUM),
  form('github_pat_', `^${ALNUM}[A-Za-z0-9_]{19}`, '[A-Za-z0-9_]'),
  form('glpat- gldt- glrt- glcbt- glptt- glsoat- glft- glimt-', `^${RANDOM}${W}{16}`, '[A-Za-z0-9_.-]'),
  form('npm_', `^${ALNUM}{30}`, ALNUM),
  form('pypi-', `^${RANDOM}${W}{40}`, W),
  form('dckr_pat_ dckr_oat_', `^${W}{20}`, W),
  // Models.
  form('sk-', `(?<!${ALNUM})^${RANDOM}${W}{16}`, W),
  form('sk-ant- sk-proj- sk-svcacct- sk-admin-', `^${RANDOM}${W}{10}`, W),
  form('gsk_ hf_ xai-', `^${ALNUM}{30}`, ALNUM),
  form('nvapi- tvly-', `^${RANDOM}${W}{16}`, W),
  // Clouds and platforms.
  form('AKIA ASIA ABIA ACCA', '^[A-Z0-9]{16}'),
  form('ecret_access_key ecretAccessKey ECRET_ACCESS_KEY', `^${QUOTED_VALUE}([A-Za-z0-9/+]{40})`, '', 14),
  form('AIza', `^${W}{30}`, W),
  form('ya29.', `^${W}{20}`, '[A-Za-z0-9_.-]'),
  form('GOCSPX-', `^${W}{20}`, W),
  form('AccountKey= SharedAccessKey=', '^([A-Za-z0-9+/]{40})', '[A-Za-z0-9+/=]'),
  form('dop_v1_ doo_v1_ dor_v1_', `^${HEX}{40}`, HEX),
  form('sk_live_ sk_test_ rk_live_ rk_test_ whsec_', `^${ALNUM}{16}`, '[A-Za-z0-9+/=]'),
  form('shpat_ shpss_ shpca_ shppa_', `^${HEX}{32}`),
  form('SG.', `^${W}{16,32}\\.${W}{16}`, W),
  form('hvs. hvb.', `^${W}{20}`, W),
  form('glsa_ glc_', `^${ALNUM}{20}`, '[A-Za-z0-9_=+/]'),
  form('sntrys_ lin_api_ tskey- ntn_', `^${RANDOM}${W}{20}`, '[A-Za-z0-9_=+/.-]'),
  form('AGE-SECRET-KEY-1', '^[A-Z0-9]{50}', '[A-Z0-9]'),
  // Headers.
  form('Bearer bearer BEARER', `^\\s{1,100}${RANDOM}[A-Za-z0-9._~+/-]{16}`, '[A-Za-z0-9._~+/=-]', 100),
  form(
    'uthorization UTHORIZATION',
    `^["']?\\s{0,5}[:=,]\\s{0,5}["']?[Bb]asic\\s{1,5}([A-Za-z0-9+/]{8})`,
    '[A-Za-z0-9+/=]',
    30,
  ),
]

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

const OPENERS = FORMS.flatMap((f) => f.openers)
/** The longest that stands at a place. */
const OPENER = new RegExp(patternOf(OPENERS), 'g')
/** With it come the forms of those that it begins with. */
const OPENED_BY = new Map(OPENERS.map((o) => [o, FORMS.filter((f) => f.openers.some((other) => o.startsWith(other)))]))

/** One of the words, the longest first; a tree of their characters, which is looked through several times as fast as a list. */
function patternOf(words: readonly string[]): string {
  const byFirst = Map.groupBy(words, (word) => word.slice(0, 1))
  const branches = [...byFirst].map(([first, below]) => {
    const rests = below.map((word) => word.slice(1)).filter(Boolean)
    if (rests.length === 0) return literal(first)
    return `${literal(first)}${patternOf(rests)}${rests.length < below.length ? '?' : ''}`
  })
  return `(?:${branches.join('|')})`
}

function openedPattern(): RegExp {
  const openers = ['-----BEGIN', ...OPENERS]
  const begun = new Set(['eyJ', ...openers].flatMap((o) => Array.from(o, (_, n) => o.slice(0, n + 1))))
  return new RegExp(`${openers.map(literal).join('|')}|(?:${[...begun].map(literal).join('|')})$`)
}
/** One of them, or the beginning of one at the end. */
const OPENED = openedPattern()

const DISCORD_GROUP = '[MNO][DTjz][AEIMQUYcgk][w-z0-5]'
/** The bot's id: 17 to 20 digits. */
const DISCORD_ID = new RegExp(`(?:${DISCORD_GROUP}){5,6}${ALNUM}{0,3}$`)
const DISCORD_ID_CHARS = 27
/** What follows it; rarer in texts than how it begins. */
const DISCORD_REST = new RegExp(`\\.${W}{6}\\.${W}{27,}`, 'g')
const DISCORD_BEGUN = new RegExp(`${DISCORD_GROUP}|(?:[MNO]|[MNO][DTjz]|[MNO][DTjz][AEIMQUYcgk])$`)

/** A token's first and second part, characters: what is longer is none, and need not be held back. */
const MAX_HEADER_CHARS = 16 * 1024
const MAX_PAYLOAD_CHARS = 64 * 1024

/** All tokens of the known forms. `text` is linear work, whatever it is; spans may overlap. */
export function tokenSpans(text: string): Span[] {
  const spans = webTokens(text)
  discordTokens(text, spans)
  for (const f of formsIn(text)) spansOfForm(text, f, spans)
  passwords(text, spans)
  return spans
}

/** The forms of which an opener is there: in one pass for all. */
function formsIn(text: string): Set<Form> {
  const found = new Set<Form>()
  OPENER.lastIndex = 0
  for (let m = OPENER.exec(text); m; m = OPENER.exec(text)) {
    for (const f of OPENED_BY.get(m[0]) ?? []) found.add(f)
    OPENER.lastIndex = m.index + 1
  }
  return found
}

function discordTokens(text: string, into: Span[]): void {
  DISCORD_REST.lastIndex = 0
  for (let m = DISCORD_REST.exec(text); m; m = DISCORD_REST.exec(text)) {
    const id = DISCORD_ID.exec(text.slice(Math.max(0, m.index - DISCORD_ID_CHARS), m.index))
    if (id) into.push({ start: m.index - id[0].length, end: m.index + m[0].length })
    // Another may begin inside of it.
    DISCORD_REST.lastIndex = m.index + 1
  }
}

function spansOfForm(text: string, { shape, tail }: Form, into: Span[]): void {
  let tailEnd = 0
  shape.lastIndex = 0
  for (let m = shape.exec(text); m; m = shape.exec(text)) {
    let end = m.index + m[0].length
    if (tail && end > tailEnd) {
      tail.lastIndex = end
      tail.test(text)
      tailEnd = tail.lastIndex
    }
    if (tail) end = tailEnd
    const start = m[1] === undefined ? m.index : m.index + m[0].length - m[1].length
    into.push({ start, end })
    // Another may begin inside of it.
    shape.lastIndex = m.index + 1
  }
}

/** JSON web tokens: three runs with dots between, the first with `eyJ` in it. */
function webTokens(text: string): Span[] {
  const spans: Span[] = []
  for (let at = text.indexOf('eyJ'); at >= 0; ) {
    const [first, second, third] = runsAt(text, at)
    const start = first ? headerStart(text, at, first.end) : -1
    const whole = first && second && third && start >= 0 && first.end - start >= 11
    if (whole && sizeOf(second) >= 8 && sizeOf(second) <= MAX_PAYLOAD_CHARS && sizeOf(third) >= 8) {
      spans.push({ start, end: third.end })
    }
    // No later place in the first run can do better.
    at = text.indexOf('eyJ', first?.end ?? at + 3)
  }
  return spans
}

/** The first place from `from` on where a header that ends at `end` is not too long. */
function headerStart(text: string, from: number, end: number): number {
  const at = text.indexOf('eyJ', Math.max(from, end - MAX_HEADER_CHARS))
  return at < end ? at : -1
}

const RUN = /[A-Za-z0-9_-]*/y

/** Up to three runs with a dot between each. */
function runsAt(text: string, at: number): Span[] {
  const runs: Span[] = []
  for (let start = at; runs.length < 3; ) {
    RUN.lastIndex = start
    RUN.test(text)
    runs.push({ start, end: RUN.lastIndex })
    if (text[RUN.lastIndex] !== '.') break
    start = RUN.lastIndex + 1
  }
  return runs
}

const sizeOf = ({ start, end }: Span): number => end - start

/** Where in a word a JSON web token begins to which what follows may belong; its length if nowhere. */
function openWebToken(word: string): number {
  for (let at = word.indexOf('eyJ'); at >= 0; ) {
    const runs = runsAt(word, at)
    const [first, second] = runs
    const last = runs.at(-1)
    if (!first || !last) break
    const start = headerStart(word, at, first.end)
    const fits = start >= 0 && (!second || sizeOf(second) <= MAX_PAYLOAD_CHARS)
    if (fits && last.end === word.length) return start
    at = word.indexOf('eyJ', first.end)
  }
  return word.length
}

/** What ends the part of an address in which a name and a password may stand. */
const AUTHORITY_END = /[\s/?#"'<>`\\]/g

function passwords(text: string, into: Span[]): void {
  for (let at = text.indexOf('://'); at >= 0; ) {
    const begin = at + 3
    AUTHORITY_END.lastIndex = begin
    const end = AUTHORITY_END.exec(text)?.index ?? text.length
    const authority = text.slice(begin, end)
    const [colon, host] = [authority.indexOf(':'), authority.lastIndexOf('@')]
    const password = colon < 0 ? '' : authority.slice(colon + 1, Math.max(host, 0))
    if (isPassword(password)) into.push({ start: begin + colon + 1, end: begin + host })
    at = text.indexOf('://', Math.max(begin, end - 1))
  }
}

/** Neither a word, as in examples, nor a place for one: `${PASSWORD}`, `<password>`, `****`. */
function isPassword(text: string): boolean {
  return text.length >= MIN_PASSWORD_CHARS && !isPlainWord(text) && !/^(?:[$<[({%]|(.)\1*$)/.test(text)
}

const MIN_PASSWORD_CHARS = 6

/** Longer than every form up to where only its tail is open, characters. */
const MAX_SHAPE_CHARS = 256

/**
 * Where in `word`, a run of token characters to which more may come, one of the forms may begin that is not known yet; its
 * length if nowhere.
 */
export function openingIn(word: string): number {
  const from = Math.max(0, word.length - MAX_SHAPE_CHARS)
  const end = word.slice(from)
  const places = [DISCORD_BEGUN.exec(end)?.index, OPENED.exec(end)?.index].map((at) =>
    at === undefined ? word.length : from + at,
  )
  return Math.min(...places, openWebToken(word))
}

/** The first opener before `word` from which a token that begins at `word` may be reached; `word` where there is none. */
export function beforeReach(text: string, word: number): number {
  let cut = word
  for (const { openers, reach } of FORMS) {
    if (reach === 0) continue
    for (const o of openers) {
      const at = text.indexOf(o, Math.max(0, word - reach - o.length))
      if (at >= 0 && at < cut) cut = at
    }
  }
  return cut
}

/** Where an address begins whose name and password have perhaps not come whole; `text.length` where none does. */
export function beforeAddress(text: string): number {
  const at = text.lastIndexOf('://')
  if (at >= 0) {
    AUTHORITY_END.lastIndex = at + 3
    if (!AUTHORITY_END.test(text)) return at
  }
  return text.length - (/:\/?$/.exec(text.slice(-2))?.[0].length ?? 0)
}

/** A word, a name or a version: letters in the case of words, and few digits after them. */
export function isPlainWord(text: string): boolean {
  return /^(?:[A-Z]{0,20}|[A-Z]?[a-z]{0,20}(?:[A-Z][a-z]{1,20}){0,3})\d{0,4}$|^\d{1,12}$/.test(text)
}

/** Shorter values are too common to be taken out of text. */
const MIN_VALUE_CHARS = 8

/**
 * Whether a value whose name says that it is a secret also looks like one. Words, versions, paths and numbers do not: if
 * they were taken out of texts, nothing that names them could be said or run.
 */
export function looksSecret(value: string): boolean {
  if (value.length < MIN_VALUE_CHARS || new Set(value).size < 5 || isPath(value)) return false
  return !value.split(/[\s_.,:;/@\\~-]+/).every(isPlainWord)
}

/** A path or an address by its beginning, unless a part of it is as mixed as base64. */
export function isPath(value: string): boolean {
  if (!/^(?:~|\.{0,2})\/|^[A-Za-z]:\\|^\w{2,12}:\/\//.test(value)) return false
  const random = (part: string): boolean =>
    part.length >= 16 && /\d/.test(part) && /[a-z]/.test(part) && /[A-Z]/.test(part)
  return !value.split(/[/\\]/).some(random)
}
