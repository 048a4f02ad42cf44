import type { Clock } from './time.ts'

/** People whose past is kept; the longest silent are forgotten first. */
const KEYS_MAX = 10_000

/** So many in a sliding window for each key. */
export class RateWindow {
  readonly #most: number
  readonly #window: number
  readonly #clock: Clock
  readonly #times = new Map<string, number[]>()

  constructor(most: number, windowMs: number, clock: Clock) {
    this.#most = most
    this.#window = windowMs
    this.#clock = clock
  }

  /** Counts one, or says false where that would be too many. */
  take(key: string): boolean {
    const now = this.#clock.now()
    const recent = (this.#times.get(key) ?? []).filter((t) => t > now - this.#window)
    const allowed = recent.length < this.#most
    if (allowed) recent.push(now)
    this.#times.delete(key)
    this.#times.set(key, recent)
    const [oldest] = this.#times.keys()
    if (this.#times.size > KEYS_MAX && oldest !== undefined) this.#times.delete(oldest)
    return allowed
  }
}
