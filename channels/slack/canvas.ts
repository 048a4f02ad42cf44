import type { Address, PostLog, TurnCanvas } from '../../src/channel/channel-adapter.ts'
import { decodePostKey, encodePostKey } from '../../src/channel/post-key.ts'
import { adoptPending } from '../../src/channel/post-once.ts'
import type { TurnView } from '../../src/channel/turn-view.ts'
import { LOG } from '../../src/copy/log.ts'
import { CanvasLoop, type CanvasPainter, type Round, type RoundOutcome } from '../canvas/canvas-loop.ts'
import { LIMITS } from './limits.ts'
import { PartWriter, type WriterDeps } from './part-writer.ts'
import { type Part, planSection, type SectionState } from './parts.ts'
import { type StatusDeps, StatusLine } from './status.ts'

export type CanvasDeps = WriterDeps & StatusDeps

export class SlackCanvas implements TurnCanvas {
  readonly #status: StatusLine
  readonly #loop: CanvasLoop

  constructor(deps: CanvasDeps, to: Address, turn: string, posts: PostLog) {
    this.#status = new StatusLine(deps, to)
    const painter = new SlackPainter({
      deps,
      to,
      turn,
      posts,
      status: this.#status,
      touch: () => this.#loop.touch(),
    })
    this.#loop = new CanvasLoop(deps, painter)
  }

  draw(view: TurnView): void {
    this.#status.show(view)
    this.#loop.draw(view)
  }

  settle(signal: AbortSignal): Promise<void> {
    return this.#loop.settle(signal)
  }
}

interface PainterOptions {
  readonly deps: CanvasDeps
  readonly to: Address
  readonly turn: string
  readonly posts: PostLog
  readonly status: StatusLine
  /** Asks the loop for one more round. */
  readonly touch: () => void
}

class SlackPainter implements CanvasPainter {
  readonly #options: PainterOptions
  readonly #writer: PartWriter
  readonly #sections: SectionState[] = []
  #alarm: () => void = () => {}

  constructor(options: PainterOptions) {
    this.#options = options
    const { deps, to, posts, status } = options
    this.#writer = new PartWriter(deps, to, posts, () => status.posted())
  }

  isEmpty(): boolean {
    return this.#sections.every((s) => s.parts.every((p) => p.mode === 'none'))
  }

  delayMs(): number {
    return this.#options.deps.pace.delayMs(this.#options.to.id)
  }

  async finish(): Promise<void> {
    this.#alarm()
    await this.#options.status.clear()
  }

  /** After a restart: what an earlier process posted is compared and brought to the view's content. */
  async resume(signal: AbortSignal): Promise<void> {
    const { deps, to, turn, posts } = this.#options
    const { adapter, locks, clock } = deps
    await adoptPending({ adapter, posts, locks, clock }, to, turn, signal)
    const parts: Part[] = []
    for (const [key, ref] of await posts.known(turn)) {
      const found = decodePostKey(key)
      if (found?.kind !== 'part') continue
      const part = this.#part(found.section, found.part)
      Object.assign(part, { ref, mode: 'posted', shown: undefined })
      parts.push(part)
    }
    if (parts.length === 0) return
    deps.log.debug({ turn, parts: parts.length }, LOG.answerResumed)
    await this.#writer.inspect(parts)
  }

  async paint({ view, final }: Round): Promise<RoundOutcome> {
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
        if (next === 'cut') state.cuts.push({ at: part.covered, head: plan.markdown.slice(0, part.covered), part: i })
        if (next === 'cut' || next === 'again') return final ? 'again' : LIMITS.editEveryMs
      }
      if (!final && last) continue
      await this.#removeSurplus(state, plan.targets.length)
      if (whole) state.settled = plan.markdown
    }
    this.#watchStreams()
    return whole ? 'shown' : LIMITS.editEveryMs
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
      const key = encodePostKey({ kind: 'part', turn: this.#options.turn, section: s, part: parts.length })
      parts.push({ key, mode: 'none', shown: undefined, covered: 0, startedAt: 0, touchedAt: 0, renewals: 0 })
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
    const { clock } = this.#options.deps
    const due = Math.min(...open.map((p) => Math.min(p.startedAt + LIMITS.streamMs, p.touchedAt + LIMITS.streamIdleMs)))
    this.#alarm = clock.after(Math.max(1000, due - clock.now()), this.#options.touch)
  }
}
