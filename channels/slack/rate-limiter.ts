import type { Clock } from '../../src/util/time.ts'
import { PER_MINUTE, PER_MINUTE_ELSE, POST_BURST, POST_EVERY_MS } from './limits.ts'

/** Who goes first when a method's budget runs short: the later in this list, the earlier it gives way. */
export type Priority = 'final' | 'sign' | 'growing'

/** Share of a method's budget that each may use up; the rest is left to those before it. */
const SHARE: Readonly<Record<Priority, number>> = { final: 1, sign: 0.8, growing: 0.6 }

/** The budget of the workspace: calls per method in a sliding minute, posts per channel. */
export class RateLimiter {
  readonly #clock: Clock
  readonly #calls = new Map<string, number[]>()
  readonly #blocked = new Map<string, number>()
  readonly #channels = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds until the call may be made; 0 where it may be made now. */
  delayFor(method: string, urgency: Priority, channel?: string): number {
    const now = this.#clock.now()
    const most = Math.max(1, Math.floor((PER_MINUTE[method] ?? PER_MINUTE_ELSE) * SHARE[urgency]))
    const times = this.#recent(method, now)
    const first = times.length < most ? undefined : times[times.length - most]
    const budget = first === undefined ? 0 : first + 60_000 - now
    const blocked = (this.#blocked.get(method) ?? 0) - now
    return Math.max(0, budget, blocked, method === 'chat.postMessage' ? this.#channelWait(channel ?? '', now) : 0)
  }

  /** The call is being made. */
  acquire(method: string, channel?: string): void {
    const now = this.#clock.now()
    this.#recent(method, now).push(now)
    if (method !== 'chat.postMessage') return
    const key = channel ?? ''
    this.#channels.set(key, Math.max(this.#channels.get(key) ?? 0, now) + POST_EVERY_MS)
    if (this.#channels.size > 1000)
      for (const [id, until] of this.#channels) if (until <= now) this.#channels.delete(id)
  }

  /** Slack said how long this method is to rest. */
  block(method: string, ms: number): void {
    this.#blocked.set(method, this.#clock.now() + ms)
  }

  #recent(method: string, now: number): number[] {
    const times = (this.#calls.get(method) ?? []).filter((at) => at > now - 60_000)
    this.#calls.set(method, times)
    return times
  }

  #channelWait(channel: string, now: number): number {
    return (this.#channels.get(channel) ?? 0) - now - (POST_BURST - 1) * POST_EVERY_MS
  }
}
