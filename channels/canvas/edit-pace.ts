import type { Clock } from '../../src/util/time.ts'

/** Conversations whose last edit is remembered; those whose time is over are forgotten beyond it. */
const MAX_KEPT = 1000

/** One edit per conversation in a time, shared by all its turns. */
export class EditPace {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #next = new Map<string, number>()

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Milliseconds until the conversation may be edited; never more than one interval, whatever the clock does. */
  delayMs(conversation: string): number {
    const wait = (this.#next.get(conversation) ?? 0) - this.#clock.now()
    return Math.max(0, Math.min(wait, this.#everyMs))
  }

  /** Something was posted or edited there now. */
  note(conversation: string): void {
    const now = this.#clock.now()
    this.#next.set(conversation, now + this.#everyMs)
    if (this.#next.size > MAX_KEPT) for (const [id, at] of this.#next) if (at <= now) this.#next.delete(id)
  }
}
