import type { Clock } from '../../../src/util/time.ts'
import type { RuleValues, Tier } from './rules.ts'

/** Counts calls per method in a sliding minute, and posts per channel in a leaking bucket. */
export class RateLimits {
  on = true
  /** Own limits of a test: calls per minute by method. */
  readonly perMinute = new Map<string, number>()
  readonly #calls = new Map<string, number[]>()
  readonly #buckets = new Map<string, { left: number; at: number }>()
  readonly #clock: Clock
  readonly #rules: RuleValues

  constructor(clock: Clock, rules: RuleValues) {
    this.#clock = clock
    this.#rules = rules
  }

  /** Seconds to wait, or undefined where the call may go on. */
  take(method: string, tier: Tier, channel: string | undefined): number | undefined {
    if (!this.on) return undefined
    const own = this.perMinute.get(method)
    if (tier === 'post' && own === undefined) return this.#post(channel ?? '')
    const most = own ?? this.#rules[tier === 'post' ? 'tierSpecial' : tier]
    const now = this.#clock.now()
    const times = (this.#calls.get(method) ?? []).filter((at) => at > now - 60_000)
    this.#calls.set(method, times)
    if (times.length < most) {
      times.push(now)
      return undefined
    }
    const first = times[times.length - most] ?? now
    return Math.max(1, Math.ceil((first + 60_000 - now) / 1000))
  }

  #post(channel: string): number | undefined {
    const now = this.#clock.now()
    const { postBurst, postPerSecond } = this.#rules
    const bucket = this.#buckets.get(channel) ?? { left: postBurst, at: now }
    bucket.left = Math.min(postBurst, bucket.left + ((now - bucket.at) / 1000) * postPerSecond)
    bucket.at = now
    this.#buckets.set(channel, bucket)
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / postPerSecond))
    bucket.left -= 1
    return undefined
  }
}
