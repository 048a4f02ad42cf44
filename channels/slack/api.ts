import { type Logger, LogLevel, WebClient } from '@slack/web-api'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { isTokenCode, SlackUnclearError, slackErrorOf } from './errors.ts'
import { isJson, type Json } from './json.ts'
import { LIMITS } from './limits.ts'
import type { Priority, RateLimiter } from './rate-limiter.ts'

/** Options of every client: no retries of the SDK, which would post twice, and no waiting inside it. */
export function clientOptions(apiUrl: string, log: Log) {
  return {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: LIMITS.callMs,
    allowAbsoluteUrls: false,
    logger: sdkLogger(log),
  }
}

/** The SDK's own lines at debug: what matters is logged by us. */
export function sdkLogger(log: Log): Logger {
  const line =
    (level: 'debug' | 'warn') =>
    (...parts: unknown[]): void =>
      log[level]({ sdk: parts.map((p) => (typeof p === 'string' ? p : String(p))).join(' ') }, 'Slack SDK')
  return {
    debug: () => {},
    info: () => {},
    warn: line('debug'),
    error: line('debug'),
    setLevel: () => {},
    getLevel: () => LogLevel.ERROR,
    setName: () => {},
  }
}

export interface CallOptions {
  readonly priority?: Priority
  /** Tries in all for a call that may be repeated without harm; 1 without it. */
  readonly tries?: number
  readonly signal?: AbortSignal
}

/** The Web API with one token: paced, without retries of its own, errors as SlackRefused or SlackUnclear. */
export class SlackApi {
  readonly #client: WebClient
  readonly #pacer: RateLimiter
  readonly #clock: Clock
  readonly #life: AbortSignal
  /** Hears of every answer that says whether the token is good. */
  onToken: (refused: string | undefined) => void = () => {}

  constructor(parts: { token: string; apiUrl: string; pacer: RateLimiter; clock: Clock; log: Log; life: AbortSignal }) {
    this.#client = new WebClient(parts.token, clientOptions(parts.apiUrl, parts.log))
    this.#pacer = parts.pacer
    this.#clock = parts.clock
    this.#life = parts.life
  }

  /** Waits for the budget, then calls; growing text and signs do not wait: without budget they reject with `retryAfterMs`. */
  async call(method: string, args: Json, how: CallOptions = {}): Promise<Json> {
    const signal = how.signal ? AbortSignal.any([how.signal, this.#life]) : this.#life
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(method, args, how.priority ?? 'final', signal)
      } catch (error) {
        if (tries >= (how.tries ?? 1) || !(error instanceof SlackUnclearError) || isTokenCode(error.code)) throw error
        await sleep(this.#clock, error.retryAfterMs ?? Math.min(500 * 2 ** tries, 8000), signal)
      }
    }
  }

  async #once(method: string, args: Json, urgency: Priority, signal: AbortSignal): Promise<Json> {
    const channel = typeof args.channel === 'string' ? args.channel : undefined
    for (;;) {
      signal.throwIfAborted()
      const wait = this.#pacer.delayFor(method, urgency, channel)
      if (wait <= 0) break
      if (urgency !== 'final')
        throw new SlackUnclearError(`budget of ${method}`, { code: 'budget', retryAfterMs: wait })
      await sleep(this.#clock, wait, signal)
    }
    this.#pacer.acquire(method, channel)
    try {
      const result = await this.#client.apiCall(method, args)
      this.onToken(undefined)
      return isJson(result) ? result : {}
    } catch (error) {
      const fault = slackErrorOf(error, method)
      if (fault instanceof SlackUnclearError && fault.retryAfterMs !== undefined)
        this.#pacer.block(method, fault.retryAfterMs)
      if (isTokenCode(fault.code)) this.onToken(fault.code)
      throw fault
    }
  }
}
