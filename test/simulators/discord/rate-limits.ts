import { ApiError } from './errors.ts'
import { tooMany } from './faults.ts'
import { limit } from './rules.ts'

export interface Budget {
  limit: number
  windowMs: number
}

interface Window {
  used: number
  resetAt: number
}

/**
 * Per-route budgets and the global one. Time is real by default, because clients wait for a reset in real time.
 */
export class RateLimits {
  enabled = true
  /** Answers that count toward the 10,000 after which an address is banned (401, 403, 429 but not shared ones). */
  invalidRequests = 0
  globalPerSecond = limit('globalPerSecond')
  readonly #budgets = new Map<string, Budget>()
  readonly #windows = new Map<string, Window>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
    const message = { limit: limit('messageBudget'), windowMs: limit('messageBudgetWindowMs') }
    this.set('POST /channels/:id/messages', message)
    this.set('PATCH /channels/:id/messages/:id', message)
  }

  /** `route` as "POST /channels/:id/messages"; the budget holds for each channel, server or webhook by itself. */
  set(route: string, budget: Budget | undefined): void {
    if (budget) this.#budgets.set(route, budget)
    else this.#budgets.delete(route)
  }

  /** Counts a request; gives the headers to answer with, or throws the 429. */
  take(method: string, path: string, exemptFromGlobal: boolean): Record<string, string> {
    if (!this.enabled) return {}
    if (!exemptFromGlobal) {
      const w = this.#spend('global', { limit: this.globalPerSecond, windowMs: 1000 })
      if (w.over) throw this.#refuse(w.resetAt, 'global', {})
    }
    const route = `${method} ${path.replace(/\/\d{15,}/g, '/:id')}`
    const budget = this.#budgets.get(route)
    if (!budget) return {}
    const w = this.#spend(`${route} ${path.split('/')[2] ?? ''}`, budget)
    const after = Math.max(0, w.resetAt - this.#now()) / 1000
    const headers = {
      'x-ratelimit-limit': String(budget.limit),
      'x-ratelimit-remaining': String(Math.max(0, budget.limit - w.used)),
      'x-ratelimit-reset': (w.resetAt / 1000).toFixed(3),
      'x-ratelimit-reset-after': after.toFixed(3),
      'x-ratelimit-bucket': Buffer.from(route).toString('hex').slice(0, 32),
    }
    if (w.over) throw this.#refuse(w.resetAt, 'user', headers)
    return headers
  }

  #spend(key: string, budget: Budget): Window & { over: boolean } {
    const now = this.#now()
    let w = this.#windows.get(key)
    if (!w || w.resetAt <= now) {
      w = { used: 0, resetAt: now + budget.windowMs }
      this.#windows.set(key, w)
    }
    const over = w.used >= budget.limit
    if (!over) w.used++
    return { ...w, over }
  }

  #refuse(resetAt: number, scope: 'user' | 'global', headers: Record<string, string>): ApiError {
    const made = tooMany(Math.max(0, resetAt - this.#now()) / 1000, scope)
    return new ApiError(429, made.body, { ...headers, ...made.headers })
  }

  /** Takes note of an answer that went out. */
  note(status: number, headers: Record<string, string>): void {
    if (status === 401 || status === 403) this.invalidRequests++
    if (status === 429 && headers['x-ratelimit-scope'] !== 'shared') this.invalidRequests++
  }
}
