import { sql } from 'kysely'
import { LOG } from '../copy/log.ts'
import type { Store, Tx } from '../store/store.ts'
import { CalmLog } from '../util/calm-log.ts'
import { messageOf } from '../util/errors.ts'
import type { Log } from '../util/log.ts'
import type { Clock } from '../util/time.ts'
import { decodeJob, encodeJob, type Job } from './job.ts'
import type { JobQueue, JobRun } from './job-queue.ts'

/** Back-off of a throwing handler, ms: doubles from the first to the last. */
const FIRST_BACKOFF_MS = 1000
const LAST_BACKOFF_MS = 60_000

export interface LocalJobQueue extends JobQueue {
  /** Looks for jobs that another process has sent. */
  poke(): void
}

/**
 * The queue inside one process, on the same database as everything else. It relies on being the only one on this
 * database: a job that is active at start belongs to a dead process.
 */
export function createLocalJobs(store: Store, clock: Clock, log: Log): LocalJobQueue {
  return new LocalJobs(store, clock, log)
}

class LocalJobs implements LocalJobQueue {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #calm: CalmLog
  readonly #abort = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #handler: ((run: JobRun) => Promise<void>) | undefined
  #concurrency = 0
  #idle = 0
  #stopping = false
  #cancelTimer: () => void = () => undefined
  #pumping: Promise<void> = Promise.resolve()

  constructor(store: Store, clock: Clock, log: Log) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#calm = new CalmLog(log, clock)
  }

  async send(tx: Tx, job: Job, { notBefore = 0 }: { notBefore?: number } = {}): Promise<void> {
    await tx.db
      .insertInto('jobs')
      .values({ key: encodeJob(job), state: 'queued', run_at: notBefore, attempt: 0 })
      .onConflict((c) => c.columns(['key', 'state']).doUpdateSet({ run_at: earlier, attempt: sql.ref('jobs.attempt') }))
      .execute()
    tx.afterCommit(() => this.#pump())
  }

  async cancel(tx: Tx, job: Job): Promise<void> {
    await tx.db.deleteFrom('jobs').where('key', '=', encodeJob(job)).where('state', '=', 'queued').execute()
  }

  async isPending(tx: Tx, job: Job): Promise<boolean> {
    const row = await tx.db.selectFrom('jobs').select('id').where('key', '=', encodeJob(job)).executeTakeFirst()
    return row !== undefined
  }

  async work(handler: (run: JobRun) => Promise<void>, { concurrency }: { concurrency: number }): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const orphans = await tx.db
        .deleteFrom('jobs')
        .where('state', '=', 'active')
        .returning(['key', 'attempt'])
        .execute()
      for (const { key, attempt } of orphans) await requeue(tx.db, key, 0, attempt)
    })
    this.#handler = handler
    this.#concurrency = concurrency
    this.#pump()
  }

  poke(): void {
    this.#pump()
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    this.#cancelTimer()
    let cancel = (): void => undefined
    const grace = new Promise<void>((resolve) => {
      cancel = this.#clock.after(graceMs, resolve)
    })
    await Promise.race([this.#drained(), grace])
    cancel()
    this.#abort.abort(new Error('the gateway is stopping'))
    await this.#drained()
  }

  async #drained(): Promise<void> {
    await this.#pumping
    await Promise.all(this.#running)
  }

  /** Claims are made one after the other; a call during a round begins another one. */
  #pump(): void {
    this.#pumping = this.#pumping.then(() => this.#claimAll()).catch((error) => this.#claimFailed(error))
  }

  #claimFailed(error: unknown): void {
    this.#calm.warn({ reason: messageOf(error) }, LOG.jobsNotClaimed)
    this.#wakeIn(1000)
  }

  async #claimAll(): Promise<void> {
    while (this.#handler && !this.#stopping && this.#isFree()) {
      const job = await this.#claim()
      if (!job) break
      const run = this.#run(job.key, job.attempt, this.#handler)
      this.#running.add(run)
      void run.then(() => {
        this.#running.delete(run)
        if (!this.#stopping) this.#pump()
      })
    }
    await this.#armTimer()
  }

  async #claim(): Promise<{ key: string; attempt: number } | undefined> {
    const now = this.#clock.now()
    return this.#store.db
      .updateTable('jobs')
      .set((e) => ({ state: 'active', attempt: e('attempt', '+', 1) }))
      .where('id', '=', (e) =>
        e
          .selectFrom('jobs as q')
          .select('q.id')
          .where('q.state', '=', 'queued')
          .where('q.run_at', '<=', now)
          .where('q.key', 'not in', (n) => n.selectFrom('jobs as a').select('a.key').where('a.state', '=', 'active'))
          .orderBy('q.run_at')
          .orderBy('q.id')
          .limit(1),
      )
      .returning(['key', 'attempt'])
      .executeTakeFirst()
  }

  async #run(key: string, attempt: number, handler: (run: JobRun) => Promise<void>): Promise<void> {
    let failed: unknown
    try {
      const idle: JobRun['idle'] = (wait) => this.#waitAside(wait)
      await handler({ job: decodeJob(key), attempt, signal: this.#abort.signal, idle })
    } catch (error) {
      failed = error ?? new Error('unknown')
    }
    const aborted = this.#abort.signal.aborted
    if (failed && !aborted) this.#log.error({ err: failed, key, attempt }, LOG.jobFailed)
    const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), LAST_BACKOFF_MS)
    try {
      await this.#store.transaction(async (tx) => {
        await tx.db.deleteFrom('jobs').where('key', '=', key).where('state', '=', 'active').execute()
        if (aborted && failed) await requeue(tx.db, key, 0, attempt - 1)
        else if (failed) await requeue(tx.db, key, this.#clock.now() + backoff, attempt)
      })
    } catch (error) {
      // The row stays active and runs again at the next start; the workstream's belt sends another job meanwhile.
      this.#log.error({ err: error, key }, LOG.jobEndNotStored)
      this.#clock.after(1000, () => void this.#releaseStuck(key))
    }
  }

  #isFree(): boolean {
    return this.#running.size - this.#idle < this.#concurrency
  }

  /** A job that comes back may make one more than there are places: it is under way and need not wait again. */
  async #waitAside<T>(wait: () => Promise<T>): Promise<T> {
    this.#idle++
    if (!this.#stopping) this.#pump()
    try {
      return await wait()
    } finally {
      this.#idle--
    }
  }

  async #releaseStuck(key: string): Promise<void> {
    try {
      await this.#store.transaction(async (tx) => {
        const gone = await tx.db
          .deleteFrom('jobs')
          .where('key', '=', key)
          .where('state', '=', 'active')
          .returning('attempt')
          .execute()
        if (gone[0]) await requeue(tx.db, key, 0, gone[0].attempt)
        tx.afterCommit(() => this.#pump())
      })
    } catch {
      if (!this.#stopping) this.#clock.after(5000, () => void this.#releaseStuck(key))
    }
  }

  async #armTimer(): Promise<void> {
    if (this.#stopping || !this.#handler || !this.#isFree()) return
    const next = await this.#store.db
      .selectFrom('jobs')
      .select((e) => e.fn.min('run_at').as('at'))
      .where('state', '=', 'queued')
      .where('run_at', '>', this.#clock.now())
      .executeTakeFirst()
    if (next?.at !== null && next?.at !== undefined) this.#wakeIn(Number(next.at) - this.#clock.now())
  }

  #wakeIn(ms: number): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(Math.max(ms, 1), () => this.#pump())
  }
}

const earlier = sql<number>`case when excluded.run_at < jobs.run_at then excluded.run_at else jobs.run_at end`

async function requeue(
  db: Parameters<Parameters<Store['transaction']>[0]>[0]['db'],
  key: string,
  runAt: number,
  attempt: number,
): Promise<void> {
  await db
    .insertInto('jobs')
    .values({ key, state: 'queued', run_at: runAt, attempt })
    .onConflict((c) => c.columns(['key', 'state']).doUpdateSet({ run_at: earlier }))
    .execute()
}
