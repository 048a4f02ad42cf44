import type { Clock } from '../../src/util/time.ts'
import { TIMES } from './limits.ts'

/** Keeps "is typing" alive while somebody works: at once, then every 8 s, and never after `off`. */
export class Typing {
  readonly #clock: Clock
  readonly #post: () => Promise<void>
  #cancel: (() => void) | undefined
  #until = 0

  /** `post` must not reject. */
  constructor(clock: Clock, post: () => Promise<void>) {
    this.#clock = clock
    this.#post = post
  }

  /** Said at every news of the turn; without any for 15 minutes typing ends by itself. */
  on(): void {
    this.#until = this.#clock.now() + TIMES.typingLost
    if (this.#cancel === undefined) this.#beat()
  }

  off(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #beat(): void {
    this.#cancel = this.#clock.after(TIMES.typing, () => {
      if (this.#clock.now() < this.#until) this.#beat()
      else this.#cancel = undefined
    })
    void this.#post()
  }
}
