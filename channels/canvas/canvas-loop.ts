import type { TurnCanvas } from '../../src/channel/channel-adapter.ts'
import { askedToWait } from '../../src/channel/post-once.ts'
import { isWorking, type TurnView } from '../../src/channel/turn-view.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import type { Clock } from '../../src/util/time.ts'

/** Waits after a round in which something failed, ms; the last one repeats. */
const WAITS_MS = [1000, 2000, 5000, 10_000, 30_000]
/** Failed rounds in a row after which a canvas that nobody waits for gives up. */
const MAX_ROUNDS_ALONE = 10
/** Shortest wait before a round goes on with what it put off, ms. */
const MIN_LATER_MS = 50

/**
 * A first text is held back so long, ms, or until it is whole: a short answer then is one post instead of a post and
 * an edit. Typing or a status is shown during this time.
 */
const GATHER_MS = 250

/** What one round has to bring about. */
export interface Round {
  readonly view: TurnView
  /** Somebody waits until the view is shown whole: nothing is saved up. */
  readonly final: boolean
  /** True once a newer view was drawn. */
  readonly outdated: () => boolean
  /** Aborts when the canvas has to stop. */
  readonly signal: AbortSignal
}

/** `shown`: the platform shows the whole view. `again`: plan anew at once. A number: go on after so many ms. */
export type RoundOutcome = 'shown' | 'again' | number

/** How one platform shows a turn. The loop calls one method at a time; each may reject, and is then called again. */
export interface CanvasPainter {
  /** Before the first round: takes up what an earlier process posted of this turn. */
  resume(signal: AbortSignal): Promise<void>
  /** Nothing of this turn was posted yet. */
  isEmpty(): boolean
  /** Milliseconds until a message that still grows may be changed again. */
  delayMs(): number
  paint(round: Round): Promise<RoundOutcome>
  /** Before those who wait are told that the view is shown whole. */
  finish(): Promise<void>
}

export interface CanvasLoopDeps {
  readonly clock: Clock
  readonly log: Log
  /** Aborts when the adapter stops. */
  readonly life: AbortSignal
}

/** Coalesces draws into rounds, one at a time; gathers, backs off, resumes and settles. The painter does the rest. */
export class CanvasLoop implements Pick<TurnCanvas, 'draw' | 'settle'> {
  readonly #deps: CanvasLoopDeps
  readonly #painter: CanvasPainter
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  #view: TurnView | undefined
  /** Counts what asks for a round; `#done` is the last one that was shown whole. */
  #version = 0
  #done = 0
  #running: Promise<void> | undefined
  #waiting = 0
  #gathered = false
  #resumed = false
  /** Ends a wait that a whole view need not keep. */
  #wake: () => void = () => {}

  constructor(deps: CanvasLoopDeps, painter: CanvasPainter) {
    this.#deps = deps
    this.#painter = painter
    this.#signal = AbortSignal.any([this.#abort.signal, deps.life])
  }

  draw(view: TurnView): void {
    this.#view = view
    this.touch()
    if (this.#isFinal()) this.#wake()
  }

  /** Asks for one more round of the view as it is. */
  touch(): void {
    this.#version++
    this.#kick()
  }

  async settle(signal: AbortSignal): Promise<void> {
    const abort = (): void => this.#abort.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#waiting++
    this.#version++
    this.#wake()
    try {
      while (this.#done !== this.#version) {
        this.#signal.throwIfAborted()
        this.#kick()
        await this.#running
      }
    } finally {
      this.#waiting--
      signal.removeEventListener('abort', abort)
    }
  }

  #isFinal(): boolean {
    return this.#waiting > 0 || (this.#view !== undefined && !isWorking(this.#view.phase))
  }

  #kick(): void {
    if (this.#running || this.#signal.aborted) return
    // A microtask later, so that draws of one moment make one round and `draw` does no work.
    this.#running = Promise.resolve()
      .then(() => this.#run())
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Works until the last view is shown, or the canvas is stopped. Does not reject. */
  async #run(): Promise<void> {
    for (let failed = 0; this.#done !== this.#version && !this.#signal.aborted; ) {
      try {
        const laterMs = await this.#round()
        failed = 0
        if (laterMs !== undefined) await this.#pause(Math.max(MIN_LATER_MS, laterMs), false)
      } catch (error) {
        if (this.#signal.aborted) return
        failed++
        this.#deps.log.warn({ reason: messageOf(error), turn: this.#view?.turn }, LOG.answerNotShown)
        if (failed >= MAX_ROUNDS_ALONE && this.#waiting === 0) return
        const wait = WAITS_MS[Math.min(failed, WAITS_MS.length) - 1] ?? 30_000
        await this.#pause(askedToWait(error) ?? wait, false)
      }
    }
  }

  /** One round; returns how long to wait before the next, where something was put off. */
  async #round(): Promise<number | undefined> {
    if (!this.#resumed) await this.#painter.resume(this.#signal)
    this.#resumed = true
    if (!this.#isFinal()) await this.#pause(Math.max(this.#painter.delayMs(), this.#gatherMs()), true)
    this.#signal.throwIfAborted()
    const version = this.#version
    const view = this.#view
    const final = this.#isFinal()
    if (view) {
      const outdated = (): boolean => this.#version !== version
      const outcome = await this.#painter.paint({ view, final, outdated, signal: this.#signal })
      if (outcome === 'again') return undefined
      if (outcome !== 'shown') return outcome
    }
    if (this.#waiting > 0 && this.#version === version) await this.#painter.finish()
    this.#done = version
    return undefined
  }

  /** How long a first text is held back, ms; once. */
  #gatherMs(): number {
    const begun = this.#view?.sections.some((s) => s.items.some((i) => i.kind !== 'text' || i.text.trim() !== ''))
    if (this.#gathered || !begun || !this.#painter.isEmpty()) return 0
    this.#gathered = true
    return GATHER_MS
  }

  /** Waits; where `wakes`, a view that is to be shown whole ends the wait. */
  #pause(ms: number, wakes: boolean): Promise<void> {
    if (ms <= 0 || this.#signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        this.#signal.removeEventListener('abort', done)
        this.#wake = () => {}
        resolve()
      }
      const cancel = this.#deps.clock.after(ms, done)
      this.#signal.addEventListener('abort', done, { once: true })
      if (wakes) this.#wake = done
    })
  }
}
