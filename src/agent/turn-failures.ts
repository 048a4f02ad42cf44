import { DATABASE_FAILING, DISK_FULL, GATEWAY_FAULT, TOO_LARGE_TO_STORE } from '../copy/turns.ts'
import type { Clock } from '../util/time.ts'

/** A line of the same words is said in one place at most so often, ms. */
const SAME_LINE_MS = 60_000
/** Turns and lines that are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 10_000

/** A fault whose message may be read by people. */
export class TurnFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TurnFault'
  }
}

/** Why a turn could not go on, in a sentence for people that holds nothing of the error's own words. */
export function reasonFor(error: unknown): string {
  if (error instanceof TurnFault) return error.message
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return DISK_FULL
  if (code === 'SQLITE_TOOBIG') return TOO_LARGE_TO_STORE
  return typeof code === 'string' && code.startsWith('SQLITE_') ? DATABASE_FAILING : GATEWAY_FAULT
}

/** Why starts of turns failed in this process, so that whoever gives up can say it. Nothing of it outlives the process. */
export class TurnFailures {
  readonly #clock: Clock
  readonly #reasons = new Map<string, string>()
  readonly #saidAt = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(turn: string, error: unknown): void {
    remember(this.#reasons, turn, reasonFor(error))
  }

  /** Undefined where the last start ended with its process. */
  reasonOf(turn: string): string | undefined {
    return this.#reasons.get(turn)
  }

  forget(turn: string): void {
    this.#reasons.delete(turn)
  }

  /** Whether the line may be said there: the same one was not in the last minute. */
  maySay(place: string, line: string): boolean {
    const key = `${place} ${line}`
    const now = this.#clock.now()
    if (now - (this.#saidAt.get(key) ?? Number.NEGATIVE_INFINITY) < SAME_LINE_MS) return false
    remember(this.#saidAt, key, now)
    return true
  }
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest)
}
