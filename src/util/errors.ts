/** Faults that end the program or a command; `exit` is the process's exit code. */
const EXITS = {
  config: 2,
  'store-newer': 1,
  'store-corrupt': 1,
  'store-unavailable': 1,
  'port-taken': 1,
  refused: 1,
} as const

export type ErrorCode = keyof typeof EXITS

/** An error whose message is one line for the operator: it names what was wrong and what to do, and holds no secret. */
export class TurnstoneError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TurnstoneError'
    this.code = code
  }

  get exit(): number {
    return EXITS[this.code]
  }
}

/** The message of anything thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/\s+/g, ' ').trim() || 'unknown error'
}
