import type { Log } from './log.ts'
import type { Clock } from './time.ts'

/** How often one line may be logged, ms. */
const EVERY_MS = 60_000
/** Lines that are remembered; the oldest is forgotten first. */
const MAX_LINES = 1000

/** For what fails again and again: the same line at most once a minute, with how often it was left out. */
export class CalmLog {
  readonly #log: Log
  readonly #clock: Clock
  readonly #lines = new Map<string, { at: number; leftOut: number }>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Lines are the same where message and facts are. */
  warn(facts: Readonly<Record<string, unknown>>, message: string): void {
    const key = `${message} ${JSON.stringify(facts)}`
    const now = this.#clock.now()
    const last = this.#lines.get(key)
    if (last && now - last.at < EVERY_MS) {
      last.leftOut++
      return
    }
    this.#lines.delete(key)
    this.#lines.set(key, { at: now, leftOut: 0 })
    const [oldest] = this.#lines.keys()
    if (this.#lines.size > MAX_LINES && oldest !== undefined) this.#lines.delete(oldest)
    this.#log.warn(last?.leftOut ? { ...facts, leftOut: last.leftOut } : facts, message)
  }
}
