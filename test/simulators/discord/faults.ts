import type { Json } from './json.ts'
import type { LoggedRequest } from './model.ts'

export interface FaultSpec {
  method?: string
  /** Tested against the path under /api/v10, or against /attachments/… for files. */
  path?: RegExp | string
  /** How many requests it hits; default 1. */
  times?: number
  /** How many matching requests pass first. */
  skip?: number
  when?: (request: LoggedRequest) => boolean
  /** Whether the request's work is done before the fault shows; default false. */
  afterWork?: boolean
  /** Answers with this status and body instead. */
  status?: number
  body?: unknown
  headers?: Record<string, string>
  /** Answers 429; `retryAfter` in seconds. */
  rateLimit?: { retryAfter: number; global?: boolean; scope?: 'user' | 'global' | 'shared' }
  /** Holds the answer back, in real milliseconds or until the promise settles. */
  delay?: number | Promise<unknown>
  /** Cuts the connection without an answer. */
  drop?: boolean
  /** Never answers; the connection stays open until the simulator stops. */
  hang?: boolean
}

export interface Fault {
  readonly hits: number
  off(): void
}

interface Entry extends FaultSpec {
  hits: number
  seen: number
}

/** Faults laid over the REST API and the file host, first match first. */
export class Faults {
  readonly #list: Entry[] = []

  on(spec: FaultSpec): Fault {
    const entry: Entry = { ...spec, hits: 0, seen: 0 }
    this.#list.push(entry)
    return {
      get hits() {
        return entry.hits
      },
      off: () => {
        const at = this.#list.indexOf(entry)
        if (at >= 0) this.#list.splice(at, 1)
      },
    }
  }

  clear(): void {
    this.#list.length = 0
  }

  /** The fault for this request, counted as used. */
  take(request: LoggedRequest): FaultSpec | undefined {
    for (const e of this.#list) {
      if (e.method && e.method !== request.method) continue
      if (e.path !== undefined && !(typeof e.path === 'string' ? request.path === e.path : e.path.test(request.path)))
        continue
      if (e.when && !e.when(request)) continue
      if (e.seen++ < (e.skip ?? 0) || e.hits >= (e.times ?? 1)) continue
      e.hits++
      return e
    }
    return undefined
  }
}

/** Discord docs: Rate Limits, Exceeding A Rate Limit. */
export function tooMany(
  retryAfter: number,
  scope: 'user' | 'global' | 'shared',
): { body: Json; headers: Record<string, string> } {
  const global = scope === 'global'
  return {
    body: { message: 'You are being rate limited.', retry_after: retryAfter, global },
    headers: {
      'retry-after': String(Math.ceil(retryAfter)),
      'x-ratelimit-scope': scope,
      ...(global ? { 'x-ratelimit-global': 'true' } : {}),
    },
  }
}
