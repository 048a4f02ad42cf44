import type { Address, PostLog, TurnCanvas } from '../../src/channel/channel-adapter.ts'
import { adoptPending, type KeyedMutex } from '../../src/channel/post-once.ts'
import { isWorking, type TurnView } from '../../src/channel/turn-view.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import type { Clock } from '../../src/util/time.ts'
import { SlackUnclearError } from './errors.ts'
import { LIMITS } from './limits.ts'
import { PartWriter, type WriterDeps } from './part-writer.ts'
import { type Part, planSection, type SectionState } from './parts.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { type StatusDeps, StatusLine } from './status.ts'

export interface CanvasDeps extends WriterDeps, StatusDeps {
  readonly clock: Clock
  readonly log: Log
  readonly lanes: KeyedMutex
  readonly pacer: RateLimiter
  readonly life: AbortSignal
}

/** Waits after a round that failed, ms; the last one repeats. */
const BACKOFF_MS = [1000, 2000, 5000, 10_000, 30_000]
/** A canvas that nobody waits for gives up after so many failures in a row. */
const MAX_ROUNDS_ALONE = 8

/**
 * A first text is held back so long, ms, or until it is whole: a short answer then is one post instead of a stream, of
 * which a workspace has few in a minute. The status is shown meanwhile.
 */
const GATHER_MS = 250

/** Paints one turn: draws are coalesced into rounds, one at a time; each round brings every part to its content. */
export class SlackCanvas implements TurnCanvas {
  readonly #deps: CanvasDeps
  readonly #to: Address
  readonly #turn: string
  readonly #posts: PostLog
  readonly #status: StatusLine
  readonly #writer: PartWriter
  readonly #sections: SectionState[] = []
  #view: TurnView | undefined
  #dirty = false
  #running = false
  #gathered = false
  #resumed = false
  #settlers: (() => void)[] = []
  #wake: () => void = () => {}
  #alarm: () => void = () => {}

  constructor(deps: CanvasDeps, to: Address, turn: string, posts: PostLog) {
    this.#deps = deps
    this.#to = to
    this.#turn = turn
    this.#posts = posts
    this.#status = new StatusLine(deps, to)
    this.#writer = new PartWriter(deps, to, posts, () => this.#status.posted())
  }

  draw(view: TurnView): void {
    this.#view = view
    this.#dirty = true
    this.#status.show(view)
    if (this.#isFinal()) this.#wake()
    this.#kick()
  }

  settle(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const done = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const onAbort = (): void => {
        this.#settlers = this.#settlers.filter((other) => other !== done)
        reject(signal.reason)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#settlers.push(done)
      this.#dirty = true
      this.#wake()
      this.#kick()
    })
  }

  #isFinal(): boolean {
    return this.#settlers.length > 0 || (this.#view !== undefined && !isWorking(this.#view.phase))
  }

  #kick(): void {
    if (this.#running || this.#deps.life.aborted) return
    this.#running = true
    // A microtask later, so that draws of one moment make one round and `draw` does no work.
    void Promise.resolve().then(() => this.#loop())
  }

  async #loop(): Promise<void> {
    try {
      for (let fails = 0; this.#dirty && !this.#deps.life.aborted; ) {
        const wait = this.#isFinal() ? 0 : Math.max(this.#deps.pacer.untilEdit(this.#to.id), this.#gather())
        if (wait > 0) await this.#pause(wait)
        const ok = await this.#tryRound(fails)
        fails = ok ? 0 : fails + 1
        if (fails >= MAX_ROUNDS_ALONE && this.#settlers.length === 0) this.#dirty = false
      }
    } finally {
      this.#running = false
    }
  }

  /** How long a first text is held back, ms; once. */
  #gather(): number {
    const begun = this.#view?.sections.some((s) => s.items.some((i) => i.kind !== 'text' || i.text.trim() !== ''))
    if (this.#gathered || !begun) return 0
    this.#gathered = true
    return GATHER_MS
  }

  async #tryRound(fails: number): Promise<boolean> {
    const final = this.#isFinal()
    this.#dirty = false
    try {
      const whole = await this.#round(final)
      if (!whole) {
        this.#dirty = true
        if (!final) await this.#pause(LIMITS.editEveryMs)
      } else if (final && !this.#dirty) await this.#settled()
      return true
    } catch (error) {
      if (this.#deps.life.aborted) return true
      this.#dirty = true
      const asked = error instanceof SlackUnclearError ? error.retryAfterMs : undefined
      this.#deps.log.warn({ reason: messageOf(error), turn: this.#view?.turn }, 'an answer could not be shown yet')
      await this.#pause(asked ?? BACKOFF_MS[Math.min(fails, BACKOFF_MS.length - 1)] ?? 30_000, !final)
      return false
    }
  }

  async #settled(): Promise<void> {
    this.#alarm()
    await this.#status.clear()
    if (this.#dirty) return
    const settlers = this.#settlers
    this.#settlers = []
    for (const done of settlers) done()
  }

  /** True where all stands as the view wants it; false where something waits for its turn. */
  async #round(final: boolean): Promise<boolean> {
    const view = this.#view
    if (!view) return true
    await this.#resume(view)
    let whole = true
    for (const [s, section] of view.sections.entries()) {
      const state = this.#section(s)
      const last = s === view.sections.length - 1
      const plan = planSection(section, state, last && !final)
      if ((final || !last) && state.settled === plan.markdown) continue
      for (const [i, target] of plan.targets.entries()) {
        const part = this.#part(s, i)
        const next = await this.#writer.bring(part, target)
        if (next === 'later') whole = false
        if (next === 'cut') {
          state.cuts.push({ at: part.covered, head: plan.markdown.slice(0, part.covered), part: i })
          return false
        }
        if (next === 'again') return false
      }
      if (!final && last) continue
      await this.#removeSurplus(state, plan.targets.length)
      if (whole) state.settled = plan.markdown
    }
    this.#watchStreams()
    return whole
  }

  /** After a restart: what stands there is taken up, compared, and brought to the view's content. */
  async #resume(view: TurnView): Promise<void> {
    if (this.#resumed) return
    const { adapter, lanes, clock, life } = this.#deps
    await adoptPending({ adapter, posts: this.#posts, lanes, clock }, this.#to, this.#turn, life)
    const known = await this.#posts.known(this.#turn)
    const refs = [...known].flatMap(([key, ref]) => {
      const found = /^(\d+)\/(\d+)$/.exec(key.slice(this.#turn.length + 1))
      return found ? [{ s: Number(found[1]), i: Number(found[2]), ref }] : []
    })
    const parts = refs.map(({ s, i, ref }) => {
      const part = this.#part(s, i)
      Object.assign(part, { ref, mode: 'posted', shown: undefined })
      return part
    })
    if (parts.length > 0) {
      this.#deps.log.debug({ turn: view.turn, parts: parts.length }, 'an answer is taken up')
      await this.#writer.inspect(parts)
    }
    this.#resumed = true
  }

  async #removeSurplus(state: SectionState, from: number): Promise<void> {
    for (const part of state.parts.splice(from)) await this.#writer.remove(part)
  }

  #section(s: number): SectionState {
    while (this.#sections.length <= s) this.#sections.push({ parts: [], cuts: [] })
    const found = this.#sections[s]
    if (!found) throw new Error('no such section')
    return found
  }

  #part(s: number, i: number): Part {
    const { parts } = this.#section(s)
    while (parts.length <= i) {
      const key = `${this.#turn}/${s}/${parts.length}`
      parts.push({ key, mode: 'none', shown: undefined, covered: 0, startedAt: 0, touchedAt: 0, renewed: false })
    }
    const found = parts[i]
    if (!found) throw new Error('no such part')
    return found
  }

  /** An open stream must be ended in time even if nothing more is drawn. */
  #watchStreams(): void {
    this.#alarm()
    const open = this.#sections.flatMap((s) => s.parts).filter((p) => p.mode === 'stream')
    if (open.length === 0) return
    const now = this.#deps.clock.now()
    const due = Math.min(...open.map((p) => Math.min(p.startedAt + LIMITS.streamMs, p.touchedAt + LIMITS.streamIdleMs)))
    this.#alarm = this.#deps.clock.after(Math.max(1000, due - now), () => {
      this.#dirty = true
      this.#kick()
    })
  }

  /** Waits; where `wakes`, a view that is to stand complete ends the wait. */
  #pause(ms: number, wakes = true): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        this.#deps.life.removeEventListener('abort', done)
        this.#wake = () => {}
        resolve()
      }
      const cancel = this.#deps.clock.after(ms, done)
      this.#deps.life.addEventListener('abort', done, { once: true })
      if (wakes) this.#wake = done
    })
  }
}
