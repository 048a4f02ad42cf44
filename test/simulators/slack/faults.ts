import type { Json } from './world.ts'

export interface Fault {
  /** A method name; `files.download`, `files.upload`, `response_url` are the places beside the Web API; `*` is any. */
  method: string
  /** How many calls it hits; Infinity without it. */
  times?: number
  /** Calls let through before it begins. */
  skip?: number
  when?: (args: Json) => boolean
  /** HTTP status with this body instead of the work. */
  status?: number
  body?: string
  headers?: Record<string, string>
  /** `ok: false` with this code instead of the work. */
  error?: string
  extra?: Json
  /** 429 with so many seconds. */
  retryAfter?: number
  /** Simulated milliseconds to wait before or after the work. */
  delayBeforeMs?: number
  delayAfterMs?: number
  /** The work is done, then the socket is closed without an answer. */
  dropAfter?: boolean
  /** The socket is closed without work. */
  dropBefore?: boolean
  /** Never answers; `hangAfter` does the work first. */
  hang?: boolean
  hangAfter?: boolean
  /** Waits for this before the work. */
  until?: Promise<unknown>
  /** 200 with the login page. */
  html?: boolean
}

export class Faults {
  #list: { fault: Fault; left: number; skip: number }[] = []

  /** Adds a fault; the returned function takes it away. */
  on(fault: Fault): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY, skip: fault.skip ?? 0 }
    this.#list.push(entry)
    return () => {
      this.#list = this.#list.filter((other) => other !== entry)
    }
  }

  clear(): void {
    this.#list = []
  }

  take(method: string, args: Json): Fault | undefined {
    for (const entry of this.#list) {
      const { fault } = entry
      if (fault.method !== '*' && fault.method !== method) continue
      if (fault.when && !fault.when(args)) continue
      if (entry.skip > 0) {
        entry.skip--
        continue
      }
      entry.left--
      if (entry.left <= 0) this.#list = this.#list.filter((other) => other !== entry)
      return fault
    }
    return undefined
  }
}
