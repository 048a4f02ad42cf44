import { expect, it } from 'vitest'
import type { Job } from '../../src/jobs/job.ts'
import type { JobQueue, JobRun } from '../../src/jobs/job-queue.ts'
import type { Store } from '../../src/store/store.ts'
import type { Clock } from '../../src/util/time.ts'

export interface JobQueueUnderTest {
  readonly store: Store
  readonly queue: JobQueue
  readonly clock: Clock & { advance(ms: number): Promise<void> }
  /** A new queue on the same database, as after a crash of the first. */
  again(): JobQueue
}

const turn = (workstream: string): Job => ({ kind: 'turn', workstream })
const nameOf = (job: Job): string => (job.kind === 'turn' ? job.workstream : job.kind)

/** What every JobQueue promises. `make` gives a fresh database each time. */
export function jobQueueContract(make: () => Promise<JobQueueUnderTest>): void {
  const send = (t: JobQueueUnderTest, key: string, notBefore?: number): Promise<void> =>
    t.store.transaction((tx) => t.queue.send(tx, turn(key), notBefore === undefined ? {} : { notBefore }))

  /** Advances the clock a little each time, so that timers of the queue fall due. */
  const until = async (t: JobQueueUnderTest, look: () => boolean): Promise<void> => {
    for (let i = 0; i < 400 && !look(); i++) {
      await t.clock.advance(5)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(look()).toBe(true)
  }

  it('starts a job after the commit', async () => {
    const t = await make()
    const seen: string[] = []
    await t.queue.work(async ({ job }) => void seen.push(nameOf(job)), { concurrency: 4 })
    await send(t, 'a')
    await until(t, () => seen.length === 1)
    expect(seen).toEqual(['a'])
  })

  it('starts nothing after a rollback', async () => {
    const t = await make()
    const seen: string[] = []
    await t.queue.work(async ({ job }) => void seen.push(nameOf(job)), { concurrency: 4 })
    const failed = t.store.transaction(async (tx) => {
      await t.queue.send(tx, turn('a'))
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    await send(t, 'b')
    await until(t, () => seen.length === 1)
    expect(seen).toEqual(['b'])
  })

  it('runs jobs that were sent before anybody worked', async () => {
    const t = await make()
    await send(t, 'a')
    const seen: string[] = []
    await t.queue.work(async ({ job }) => void seen.push(nameOf(job)), { concurrency: 1 })
    await until(t, () => seen.length === 1)
  })

  it('E5f gives the place of a job that only waits to others, and gives it back', async () => {
    const t = await make()
    const gates: (() => void)[] = []
    const seen: string[] = []
    await t.queue.work(
      async ({ job, idle }) => {
        const name = nameOf(job)
        const wait = (): Promise<void> => new Promise((resolve) => gates.push(resolve))
        if (name.startsWith('sick')) await idle(wait)
        else if (name === 'busy') await wait()
        seen.push(name)
      },
      { concurrency: 1 },
    )
    for (const key of ['sick1', 'sick2', 'well', 'busy']) await send(t, key)
    await until(t, () => gates.length === 3 && seen.length === 1)
    expect(seen).toEqual(['well'])
    // The place is taken by one that works.
    await send(t, 'behind')
    for (let i = 0; i < 20; i++) await t.clock.advance(5)
    expect(seen).toEqual(['well'])
    for (const open of gates) open()
    await until(t, () => seen.length === 5)
    expect(seen).toContain('behind')
  })

  it('never runs two of a key at once, and runs again for what comes meanwhile', async () => {
    const t = await make()
    const gates: (() => void)[] = []
    let inside = 0
    let most = 0
    await t.queue.work(
      async () => {
        most = Math.max(most, ++inside)
        await new Promise<void>((resolve) => gates.push(resolve))
        inside--
      },
      { concurrency: 4 },
    )
    await send(t, 'a')
    await until(t, () => gates.length === 1)
    await send(t, 'a')
    await send(t, 'a')
    await t.clock.advance(50)
    expect(gates).toHaveLength(1)
    gates[0]?.()
    await until(t, () => gates.length === 2)
    gates[1]?.()
    await until(t, () => inside === 0)
    expect(most).toBe(1)
  })

  it('takes back what is queued, and nothing else', async () => {
    const t = await make()
    await send(t, 'a')
    await send(t, 'b')
    await t.store.transaction((tx) => t.queue.cancel(tx, turn('a')))
    await t.store.transaction((tx) => t.queue.cancel(tx, { kind: 'archive', workstream: 'b' }))
    const ran: Job[] = []
    await t.queue.work(async ({ job }) => void ran.push(job), { concurrency: 2 })
    await until(t, () => ran.length === 1)
    await t.clock.advance(1000)
    expect(ran).toEqual([turn('b')])
  })

  it('tells what is queued or running, kinds of one name apart', async () => {
    const t = await make()
    const pending = (job: Job) => t.store.transaction((tx) => t.queue.isPending(tx, job))
    expect(await pending(turn('a'))).toBe(false)
    await send(t, 'a')
    expect(await pending(turn('a'))).toBe(true)
    expect(await pending({ kind: 'archive', workstream: 'a' })).toBe(false)
    let release = (): void => undefined
    let running = false
    await t.queue.work(
      () => {
        running = true
        return new Promise<void>((resolve) => {
          release = resolve
        })
      },
      { concurrency: 1 },
    )
    await until(t, () => running)
    expect(await pending(turn('a'))).toBe(true)
    release()
    for (let i = 0; i < 100 && (await pending(turn('a'))); i++) await t.clock.advance(5)
    expect(await pending(turn('a'))).toBe(false)
  })

  it('runs keys side by side up to the limit', async () => {
    const t = await make()
    const gates: (() => void)[] = []
    await t.queue.work(() => new Promise<void>((resolve) => gates.push(resolve)), { concurrency: 3 })
    for (const key of ['a', 'b', 'c', 'd']) await send(t, key)
    await until(t, () => gates.length === 3)
    await t.clock.advance(50)
    expect(gates).toHaveLength(3)
    gates[0]?.()
    await until(t, () => gates.length === 4)
    for (const open of gates) open()
  })

  it('loses no message to the race of draining and sending', async () => {
    const t = await make()
    await t.store.db.insertInto('seen').values({ key: 'count', at: 0 }).execute()
    let handled = 0
    await t.queue.work(
      async () => {
        const row = await t.store.db
          .selectFrom('seen')
          .select('at')
          .where('key', '=', 'count')
          .executeTakeFirstOrThrow()
        handled = row.at
      },
      { concurrency: 2 },
    )
    for (let i = 1; i <= 30; i++) {
      void t.store.transaction(async (tx) => {
        await tx.db
          .updateTable('seen')
          .set((e) => ({ at: e('at', '+', 1) }))
          .where('key', '=', 'count')
          .execute()
        await t.queue.send(tx, turn('a'))
      })
    }
    await until(t, () => handled === 30)
  })

  it('works off a backlog without pausing', async () => {
    const t = await make()
    for (let i = 0; i < 60; i++) await send(t, `k${i}`)
    let done = 0
    await t.queue.work(async () => void done++, { concurrency: 4 })
    const begun = t.clock.now()
    await until(t, () => done === 60)
    expect(t.clock.now() - begun).toBeLessThan(2000)
  })

  it('runs a throwing handler again, with a growing attempt and back-off', async () => {
    const t = await make()
    const attempts: { n: number; at: number }[] = []
    await t.queue.work(
      async ({ attempt }) => {
        attempts.push({ n: attempt, at: t.clock.now() })
        if (attempt < 3) throw new Error('not yet')
      },
      { concurrency: 1 },
    )
    await send(t, 'a')
    await until(t, () => attempts.length === 1)
    await t.clock.advance(1100)
    await until(t, () => attempts.length === 2)
    await t.clock.advance(2100)
    await until(t, () => attempts.length === 3)
    expect(attempts.map((a) => a.n)).toEqual([1, 2, 3])
    expect((attempts[2]?.at ?? 0) - (attempts[1]?.at ?? 0)).toBeGreaterThanOrEqual(2000)
  })

  it('runs again what was active when the process died', async () => {
    const t = await make()
    let started = 0
    await t.queue.work(
      () => {
        started++
        return new Promise(() => undefined)
      },
      { concurrency: 1 },
    )
    await send(t, 'a')
    await until(t, () => started === 1)
    const seen: string[] = []
    await t.again().work(async ({ job }) => void seen.push(nameOf(job)), { concurrency: 1 })
    await until(t, () => seen.length === 1)
    expect(seen).toEqual(['a'])
  })

  it('stops: nothing new, a grace, then the signal; what was unfinished runs again', async () => {
    const t = await make()
    const jobs: JobRun[] = []
    await t.queue.work(
      (job) => {
        jobs.push(job)
        return new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)))
      },
      { concurrency: 1 },
    )
    await send(t, 'a')
    await send(t, 'b')
    await until(t, () => jobs.length === 1)
    const stopped = t.queue.stop(1000)
    await t.clock.advance(500)
    expect(jobs[0]?.signal.aborted).toBe(false)
    await t.clock.advance(600)
    await stopped
    expect(jobs[0]?.signal.aborted).toBe(true)
    expect(jobs).toHaveLength(1)
    const seen: string[] = []
    await t.again().work(async ({ job, attempt }) => void seen.push(`${nameOf(job)}${attempt}`), { concurrency: 1 })
    await until(t, () => seen.length === 2)
    expect(seen.sort()).toEqual(['a1', 'b1'])
  })

  it('waits for notBefore, and an earlier wish wins', async () => {
    const t = await make()
    const seen: number[] = []
    const begun = t.clock.now()
    await t.queue.work(async () => void seen.push(t.clock.now() - begun), { concurrency: 1 })
    await send(t, 'a', begun + 60_000)
    await t.clock.advance(1000)
    expect(seen).toEqual([])
    await send(t, 'a', begun + 5000)
    await send(t, 'a', begun + 90_000)
    await t.clock.advance(3000)
    expect(seen).toEqual([])
    await t.clock.advance(1500)
    await until(t, () => seen.length === 1)
    await t.clock.advance(100_000)
    expect(seen).toHaveLength(1)
  })

  it('keeps a job that ends at once from blocking the next', async () => {
    const t = await make()
    let n = 0
    await t.queue.work(async () => void n++, { concurrency: 1 })
    for (let i = 1; i <= 20; i++) {
      await send(t, 'a')
      await until(t, () => n >= i)
    }
    expect(n).toBe(20)
  })
}
