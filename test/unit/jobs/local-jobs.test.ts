import { afterEach, describe, expect, it } from 'vitest'
import { createLocalJobs } from '../../../src/jobs/local-jobs.ts'
import { createLocalLocks } from '../../../src/jobs/local-locks.ts'
import { createLocalSignals, type LocalSignals } from '../../../src/jobs/local-signals.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { createLog } from '../../../src/util/log.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { jobQueueContract } from '../../contracts/job-queue.ts'
import { locksContract } from '../../contracts/locks.ts'
import { signalsContract } from '../../contracts/signals.ts'
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
  const running: LocalSignals[] = []
  afterEach(() => {
    for (const signals of running.splice(0)) signals.stop()
  })
  const make = async () => {
    const store = await openStore(':memory:')
    stores.push(store)
    const clock = new ManualClock()
    const signals = createLocalSignals(store, clock)
    running.push(signals)
    return { store, clock, signals }
  }

  signalsContract(make)

  it('leave no timer behind when a wait has failed', async () => {
    const { clock, signals } = await make()
    const before = clock.pending
    const failing = async (): Promise<boolean> => {
      throw new Error('no')
    }
    await signals.until('k', failing, new AbortController().signal).catch(() => undefined)
    expect(clock.pending).toBe(before)
  })
})

describe('local locks', () => {
  locksContract(async () => createLocalLocks())
})
