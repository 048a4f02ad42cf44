import { expect, it } from 'vitest'
import type { Signals } from '../../src/jobs/signals.ts'
import type { Store } from '../../src/store/store.ts'
import type { Clock } from '../../src/util/time.ts'

export interface SignalsUnderTest {
  readonly store: Store
  readonly signals: Signals
  readonly clock: Clock & { advance(ms: number): Promise<void> }
}

/** A waiter looks at its row at least this often, ms. */
const MAX_LOOK_MS = 10_000

/** What every Signals promises. `make` gives a fresh database each time. */
export function signalsContract(make: () => Promise<SignalsUnderTest>): void {
  /** A waiter on a row that the test turns true, and how often it has looked. */
  const waitOn = (t: SignalsUnderTest, key: string, signal = new AbortController().signal) => {
    const row = { ready: false, looks: 0, done: false }
    const look = async (): Promise<boolean> => {
      row.looks++
      return row.ready
    }
    const promise = t.signals.until(key, look, signal).then(() => {
      row.done = true
    })
    promise.catch(() => undefined)
    return { row, promise }
  }
  const send = (t: SignalsUnderTest, key: string): Promise<void> => t.store.transaction((tx) => t.signals.send(tx, key))

  it('resolves at once where the row is already so', async () => {
    const t = await make()
    await t.signals.until('k', async () => true, new AbortController().signal)
  })

  it('wakes every waiter of the key when the transaction commits', async () => {
    const t = await make()
    const [a, b] = [waitOn(t, 'k'), waitOn(t, 'k')]
    await t.clock.advance(1)
    expect([a.row.looks, b.row.looks]).toEqual([1, 1])
    a.row.ready = true
    b.row.ready = true
    await send(t, 'k')
    await Promise.all([a.promise, b.promise])
    expect([a.row.looks, b.row.looks]).toEqual([2, 2])
  })

  it('wakes nobody before the commit, nor after a rollback', async () => {
    const t = await make()
    const { row } = waitOn(t, 'k')
    await t.clock.advance(1)
    row.ready = true
    await t.store
      .transaction(async (tx) => {
        await t.signals.send(tx, 'k')
        expect(row.looks).toBe(1)
        throw new Error('no')
      })
      .catch(() => undefined)
    await t.clock.advance(1)
    expect(row).toEqual({ ready: true, looks: 1, done: false })
  })

  it('loses no hint that comes while the waiter looks', async () => {
    const t = await make()
    let looks = 0
    const done = t.signals.until(
      'k',
      async () => {
        looks++
        if (looks === 1) await send(t, 'k')
        return looks > 1
      },
      new AbortController().signal,
    )
    await done
    expect(looks).toBe(2)
  })

  it('looks again within seconds, so that a lost hint costs no more', async () => {
    const t = await make()
    const { row, promise } = waitOn(t, 'k')
    await t.clock.advance(100)
    row.ready = true
    await t.clock.advance(MAX_LOOK_MS)
    await promise
    expect(row.done).toBe(true)
  })

  it('goes on waiting while the row says no', async () => {
    const t = await make()
    const { row, promise } = waitOn(t, 'k')
    await t.clock.advance(1)
    await send(t, 'k')
    await t.clock.advance(1)
    expect(row).toMatchObject({ looks: 2, done: false })
    row.ready = true
    await send(t, 'k')
    await promise
  })

  it('rejects with the reason of the signal, before and during the wait', async () => {
    const t = await make()
    const stop = new AbortController()
    const { promise } = waitOn(t, 'k', stop.signal)
    await t.clock.advance(1)
    stop.abort(new Error('stopped'))
    await expect(promise).rejects.toThrow('stopped')
    await expect(waitOn(t, 'k', stop.signal).promise).rejects.toThrow('stopped')
  })

  it('passes on what the look throws', async () => {
    const t = await make()
    const failing = async (): Promise<boolean> => {
      throw new Error('the database is gone')
    }
    await expect(t.signals.until('k', failing, new AbortController().signal)).rejects.toThrow('the database is gone')
  })
}
