import pino from 'pino'
import type { Redactor } from './redact.ts'

/** Structured, one JSON object a line; every line passes the redactor as a whole. */
export type Log = pino.Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** `write` gets each line with its newline; standard output by default. */
export function createLog(
  level: LogLevel,
  redactor: Redactor,
  write: (line: string) => void = (line) => process.stdout.write(line),
): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
    },
    { write: (line: string) => write(redactor.redact(line)) },
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
