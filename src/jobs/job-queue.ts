import type { Tx } from '../store/store.ts'
import type { Job } from './job.ts'

/** One start of a job. */
export interface JobRun {
  readonly job: Job
  /** 1 for the first start; grows when a handler throws. */
  readonly attempt: number
  /** Aborts when the queue stops and the grace is over. */
  readonly signal: AbortSignal
  /** Runs what only waits for somebody else, a platform say: for so long the job takes no place from other jobs. */
  idle<T>(wait: () => Promise<T>): Promise<T>
}

/**
 * After `send`'s transaction commits, the handler starts for that job at least once; never two at once for the same
 * job; nothing is dropped and nothing is given up. A job that finds nothing to do must end at once.
 */
export interface JobQueue {
  /** `notBefore`: ms since the epoch; of several wishes for one job the earliest wins. */
  send(tx: Tx, job: Job, options?: { readonly notBefore?: number }): Promise<void>
  /** Takes a start back that is queued; one that runs goes on. */
  cancel(tx: Tx, job: Job): Promise<void>
  /** Whether a start of the job is queued or running. */
  isPending(tx: Tx, job: Job): Promise<boolean>
  work(handler: (run: JobRun) => Promise<void>, options: { readonly concurrency: number }): Promise<void>
  /** Starts nothing new, waits `graceMs`, then aborts the signals and waits for the handlers; what is unfinished runs again. */
  stop(graceMs: number): Promise<void>
}
