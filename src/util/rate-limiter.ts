import type { Clock } from './time.ts'

/** Keys whose past is kept; the one idle longest is forgotten first. */
const MAX_KEYS = 10_000

/** At most `max` in a sliding window for each key. */
export class RateLimiter {
  readonly #max: number
  readonly #windowMs: number
  readonly #clock: Clock
  readonly #times = new Map<string, number[]>()

  constructor(max: number, windowMs: number, clock: Clock) {
    this.#max = max
    this.#windowMs = windowMs
    this.#clock = clock
  }

  /** Counts one, or returns false where that would be too many. */
  acquire(key: string): boolean {
    const now = this.#clock.now()
    const recent = (this.#times.get(key) ?? []).filter((t) => t > now - this.#windowMs)
    const allowed = recent.length < this.#max
    if (allowed) recent.push(now)
    this.#times.delete(key)
    this.#times.set(key, recent)
    const [oldest] = this.#times.keys()
    if (this.#times.size > MAX_KEYS && oldest !== undefined) this.#times.delete(oldest)
    return allowed
  }
}
