import type { Clock } from '../../src/util/time.ts'

/** Real time plus what was skipped: a jump runs every timer that falls due by it, in order. */
export class SkewedClock implements Clock {
  #skew: number
  #next = 0
  readonly #timers = new Map<number, { at: number; run: () => void; real: NodeJS.Timeout }>()

  constructor(skew = 0) {
    this.#skew = skew
  }

  now(): number {
    return Date.now() + this.#skew
  }

  after(ms: number, run: () => void): () => void {
    const id = this.#next++
    const at = this.now() + Math.max(0, ms)
    this.#timers.set(id, { at, run, real: this.#arm(id, at) })
    return () => {
      const timer = this.#timers.get(id)
      if (timer) clearTimeout(timer.real)
      this.#timers.delete(id)
    }
  }

  jump(ms: number): void {
    this.#skew += ms
    const waiting = [...this.#timers].sort(([, a], [, b]) => a.at - b.at)
    for (const [id, timer] of waiting) {
      clearTimeout(timer.real)
      timer.real = this.#arm(id, timer.at)
    }
  }

  #arm(id: number, at: number): NodeJS.Timeout {
    const real = setTimeout(
      () => {
        const timer = this.#timers.get(id)
        this.#timers.delete(id)
        timer?.run()
      },
      Math.min(Math.max(0, at - this.now()), 2_000_000_000),
    )
    return real.unref()
  }
}
