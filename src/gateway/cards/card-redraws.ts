import type { Approval } from '../../approval/approval.ts'
import { approvalsWithOldCards } from '../../approval/approvals.ts'
import type { Address } from '../../channel/channel-adapter.ts'
import { LOG } from '../../copy/log.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { CalmLog } from '../../util/calm-log.ts'
import { messageOf } from '../../util/errors.ts'
import type { CardRedraws, GatewayDeps } from '../gateway-deps.ts'
import { redrawCard } from './card-painter.ts'

type Deps = Omit<Parameters<typeof redrawCard>[0], 'redraws'> & Pick<GatewayDeps, 'log'>

/** A card that is not redrawn by then lets the next one of its place begin, ms. */
const WITHIN_MS = 15_000
/** Waits after a redraw that failed, ms; the last one repeats. */
const WAITS_MS = [1000, 5000, 15_000, 60_000]

/**
 * Redraws every settled card that shows an older state: one at a time for a card and for a place, so that a platform
 * that hangs holds up nobody else. What fails is tried again later. `life` ends it.
 */
export function createCardRedraws(deps: Deps, life: AbortSignal): CardRedraws {
  return new Redraws(deps, life)
}

class Redraws implements CardRedraws {
  readonly #deps: Deps
  readonly #life: AbortSignal
  readonly #log: CalmLog
  readonly #underWay = new Set<string>()
  readonly #places = new Map<string, Promise<void>>()
  readonly #failed = new Map<string, { tries: number; notBefore: number }>()
  #looking = false
  #again = false

  constructor(deps: Deps, life: AbortSignal) {
    this.#deps = deps
    this.#life = life
    this.#log = new CalmLog(deps.log, deps.clock)
  }

  soon(): void {
    this.#again = true
    if (!this.#looking) void this.#look()
  }

  async #look(): Promise<void> {
    this.#looking = true
    try {
      while (this.#again && !this.#life.aborted) {
        this.#again = false
        for (const approval of await approvalsWithOldCards(this.#deps.store.db)) {
          if (approval.state !== 'open' && this.#isDue(approval)) await this.#line(approval)
        }
      }
    } catch (error) {
      if (!this.#life.aborted) this.#log.warn({ reason: messageOf(error) }, LOG.cardsNotListed)
    } finally {
      this.#looking = false
    }
  }

  #isDue({ id }: Approval): boolean {
    const { notBefore = 0 } = this.#failed.get(id) ?? {}
    return !this.#underWay.has(id) && notBefore <= this.#deps.clock.now()
  }

  /** Behind the others of its place. */
  async #line(approval: Approval): Promise<void> {
    const to = await addressOfTurn(this.#deps.store.db, approval.turn)
    const place = to ? `${to.platform}:${to.id}` : ''
    this.#underWay.add(approval.id)
    const mine = (this.#places.get(place) ?? Promise.resolve()).then(() => this.#redraw(approval, to))
    this.#places.set(place, mine)
    void mine.then(() => {
      if (this.#places.get(place) === mine) this.#places.delete(place)
    })
  }

  /** Resolves when it is over, or when the next one need not wait for it any longer. */
  async #redraw(approval: Approval, to: Address | undefined): Promise<void> {
    if (this.#life.aborted) return
    const late = new AbortController()
    const signal = AbortSignal.any([this.#life, late.signal])
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    const cancel = this.#deps.clock.after(WITHIN_MS, () => late.abort(new Error('it took too long')))
    const work = redrawCard({ ...this.#deps, redraws: this }, { approval, to }, signal).then(
      () => void this.#failed.delete(approval.id),
      (error: unknown) => this.#tryAgain(approval, error),
    )
    // One that never returns is not started a second time.
    void work.finally(() => this.#underWay.delete(approval.id))
    await Promise.race([work, over])
    cancel()
  }

  #tryAgain({ id }: Approval, error: unknown): void {
    if (this.#life.aborted) return
    this.#log.warn({ reason: messageOf(error), approval: id }, LOG.cardNotRedrawn)
    const { clock } = this.#deps
    const tries = this.#failed.get(id)?.tries ?? 0
    const wait = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 60_000
    this.#failed.set(id, { tries: tries + 1, notBefore: clock.now() + wait })
    clock.after(wait, () => this.soon())
  }
}
