import type { Clock } from '../util/time.ts'

/** The reason of a deadline's signal. */
export class DeadlineError extends Error {
  readonly code = 'deadline'
  constructor(limitMs: number) {
    super(`the time limit of ${limitMs / 1000} s was reached`)
    this.name = 'DeadlineError'
  }
}

/** A time limit that does not run while a person is being waited for. */
export interface Deadline {
  /** Aborts with DeadlineError. */
  readonly signal: AbortSignal
  /** The time until `waiting` settles does not count; several may wait at once. */
  whileWaiting<T>(waiting: Promise<T>): Promise<T>
  /** Must be called when the work is over. */
  cancel(): void
}

export function startDeadline(clock: Clock, limitMs: number): Deadline {
  const controller = new AbortController()
  let left = limitMs
  let waiting = 0
  let over = false
  let startedAt = 0
  let stopTimer = (): void => undefined
  const start = (): void => {
    if (over || waiting > 0) return
    startedAt = clock.now()
    stopTimer = clock.after(left, () => controller.abort(new DeadlineError(limitMs)))
  }
  const pause = (): void => {
    stopTimer()
    left = Math.max(0, left - (clock.now() - startedAt))
  }
  start()
  return {
    signal: controller.signal,
    async whileWaiting(promise) {
      if (waiting === 0) pause()
      waiting++
      try {
        return await promise
      } finally {
        waiting--
        start()
      }
    },
    cancel() {
      over = true
      stopTimer()
    },
  }
}
