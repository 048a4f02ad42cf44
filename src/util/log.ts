import pino from 'pino'
import type { Redactor } from './redact.ts'

/** Structured, one JSON object a line; every line passes the redactor as a whole. */
export type Log = pino.Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** JSON for programs, pretty for people. */
export const LOG_FORMATS = ['json', 'pretty'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/**
 * `write` gets each line with its newline; standard output by default. `render` makes another form of a line that has
 * passed the redactor.
 */
export function createLog(
  level: LogLevel,
  redactor: Redactor,
  write: (line: string) => void = (line) => process.stdout.write(line),
  render: (json: string) => string = (json) => json,
): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
    },
    { write: (line: string) => write(render(redactor.redact(line))) },
  )
}

/** Library errors carry requests with headers and bodies: only what names the fault goes to the log. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  const code = (error as { code?: unknown }).code
  const cause = error.cause === undefined ? undefined : serializeError(error.cause)
  return { name, message, ...(code === undefined ? {} : { code: String(code) }), stack, ...(cause ? { cause } : {}) }
}
