import { afterEach, describe, expect, it } from 'vitest'
import { createLocalJobs } from '../../../src/jobs/local-jobs.ts'
import { createLocalSignals } from '../../../src/jobs/local-signals.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { createLog } from '../../../src/util/log.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { jobQueueContract } from '../../contracts/job-queue.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const log = createLog('silent', createRedactor())
const stores: Store[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

describe('the queue on SQLite', () => {
  jobQueueContract(async () => {
    const store = await openStore(':memory:')
    stores.push(store)
    const clock = new ManualClock()
    const again = () => createLocalJobs(store, clock, log)
    return { store, clock, queue: again(), again }
  })
})

describe('signals on SQLite', () => {
  it('wake a waiter when the transaction commits, and not when it rolls back', async () => {
    const store = await openStore(':memory:')
    stores.push(store)
    const clock = new ManualClock()
    const signals = createLocalSignals(store, clock)
    let looks = 0
    let done = false
    const look = async (): Promise<boolean> => {
      looks++
      return done
    }
    const waiting = signals.until('k', look, AbortSignal.timeout(5000))
    await clock.advance(1)
    expect(looks).toBe(1)
    await store
      .transaction(async (tx) => {
        await signals.send(tx, 'k')
        throw new Error('no')
      })
      .catch(() => undefined)
    await clock.advance(1)
    expect(looks).toBe(1)
    done = true
    await store.transaction((tx) => signals.send(tx, 'k'))
    await waiting
    expect(looks).toBe(2)
    signals.stop()
  })

  it('look by themselves, so that a lost hint costs seconds only', async () => {
    const store = await openStore(':memory:')
    stores.push(store)
    const clock = new ManualClock()
    const signals = createLocalSignals(store, clock)
    let done = false
    const waiting = signals.until('k', async () => done, AbortSignal.timeout(5000))
    await clock.advance(100)
    done = true
    await clock.advance(5000)
    await waiting
    signals.stop()
  })
})
