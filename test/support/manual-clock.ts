import type { Clock } from '../../src/util/time.ts'

/** A clock that moves only when told to. Timers run in the order of their time, then of their making. */
export class ManualClock implements Clock {
  #now: number
  #next = 0
  readonly #timers = new Map<number, { at: number; run: () => void }>()

  constructor(start = Date.UTC(2026, 10, 30, 12)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): () => void {
    const id = this.#next++
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), run })
    return () => this.#timers.delete(id)
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size
  }

  /** Moves on by `ms`, running what falls due on the way; between two timers the event loop gets its turn. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      const due = [...this.#timers].filter(([, t]) => t.at <= end).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0]
      if (!due) break
      const [id, timer] = due
      this.#timers.delete(id)
      this.#now = Math.max(this.#now, timer.at)
      timer.run()
      await settle()
    }
    this.#now = end
    await settle()
  }
}

/** Lets promises and the I/O that is ready run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
