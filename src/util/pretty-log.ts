const COLOURS: Readonly<Record<string, number>> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 35 }
const DIM = 2
const BOLD = 1

interface Line {
  readonly level?: unknown
  readonly time?: unknown
  readonly msg?: unknown
  readonly err?: unknown
  readonly [field: string]: unknown
}

/** Makes one readable line of a JSON log line: time, level, message, fields; an error's stack below it. */
export function prettyLine(json: string, colours: boolean): string {
  const line = parse(json)
  if (line === undefined) return json
  const paint = (code: number, text: string): string => (colours && text ? `\u001b[${code}m${text}\u001b[0m` : text)
  const { level, time, msg, err, ...fields } = line
  const name = String(level)
  const shown = Object.entries(fields).map(([key, value]) => `${paint(DIM, `${key}=`)}${shownValue(value)}`)
  const head = [
    paint(DIM, clockOf(time)),
    paint(COLOURS[name] ?? 0, name.toUpperCase().padEnd(5)),
    paint(BOLD, printable(String(msg ?? ''))),
    ...shown,
  ]
  return `${head.filter(Boolean).join(' ')}\n${errorLines(err)}`
}

function parse(json: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Line) : undefined
  } catch {
    return undefined
  }
}

/** The local time of day; the date is nearly always today. */
function clockOf(time: unknown): string {
  const at = new Date(String(time))
  if (Number.isNaN(at.getTime())) return ''
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return printable(typeof value === 'string' && (text === '' || /[\s"=]/.test(text)) ? JSON.stringify(text) : text)
}

/** The stack begins with name and message; causes follow. */
function errorLines(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { name, message, stack, code, cause } = error as Record<string, unknown>
  const text = typeof stack === 'string' ? stack : [name, message].filter(Boolean).join(': ')
  const lines = `${text}${code === undefined ? '' : ` (${code})`}`
    .split('\n')
    .map((l) => `    ${printable(l.trim())}\n`)
  const below = errorLines(cause)
  return lines.join('') + (below && `    caused by\n${below}`)
}

/** Text of people may be in it: nothing that a terminal would interpret, and no line that looks like one of the log. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) =>
    c === '\n' ? '\\n' : c === '\t' ? ' ' : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
