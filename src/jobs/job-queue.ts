import type { Tx } from '../store/store.ts'

export interface Job {
  readonly key: string
  /** 1 for the first start; grows when a handler throws. */
  readonly attempt: number
  /** Aborts when the queue stops and the grace is over. */
  readonly signal: AbortSignal
}

/**
 * After `send`'s transaction commits, the handler starts for that key at least once; never two at once for a key;
 * nothing is dropped and nothing is given up. A job that finds nothing to do must end at once.
 */
export interface JobQueue {
  send(tx: Tx, job: { readonly key: string /** ms since the epoch */; readonly notBefore?: number }): Promise<void>
  work(handler: (job: Job) => Promise<void>, options: { readonly concurrency: number }): Promise<void>
  /** Starts nothing new, waits `graceMs`, then aborts the signals and waits for the handlers; what is unfinished runs again. */
  stop(graceMs: number): Promise<void>
}
