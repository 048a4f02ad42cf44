import type { Locks } from './locks.ts'

/** For one process that has the store to itself. */
export function createLocalLocks(): Locks {
  const tails = new Map<string, Promise<unknown>>()
  return {
    run(key, task) {
      const before = tails.get(key) ?? Promise.resolve()
      const mine = before.then(task)
      const tail = mine.catch(() => undefined)
      tails.set(key, tail)
      void tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key)
      })
      return mine
    },
  }
}
