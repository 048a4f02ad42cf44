import { EventEmitter } from 'node:events'
import type { SqliteStore } from '../store/store.ts'
import type { Clock } from '../util/time.ts'
import type { Signals } from './signals.ts'

/** How often the database is asked whether another process (the command line) wrote, ms. */
const FOREIGN_WRITES_MS = 1000
/** A waiter looks at its row at least this often, ms. */
const SAFETY_LOOK_MS = 5000

export interface LocalSignals extends Signals {
  /** Called when another process (the command line) has written. Must not throw. */
  onForeignWrite(run: () => void): void
  /** Ends the watch for foreign writes. */
  stop(): void
}

export function createLocalSignals(store: SqliteStore, clock: Clock): LocalSignals {
  const hints = new EventEmitter().setMaxListeners(0)
  let seen = store.dataVersion()
  let cancel: () => void
  const look = (): void => {
    const now = store.dataVersion()
    if (now !== seen) hints.emit('any')
    seen = now
    cancel = clock.after(FOREIGN_WRITES_MS, look)
  }
  cancel = clock.after(FOREIGN_WRITES_MS, look)

  return {
    async send(tx, key) {
      tx.afterCommit(() => hints.emit(key))
    },
    async until(key, check, signal) {
      for (;;) {
        signal.throwIfAborted()
        const woken = hint(hints, key, clock, signal)
        try {
          if (await check()) return
          await woken.promise
        } finally {
          woken.cancel()
        }
      }
    },
    onForeignWrite: (run) => void hints.on('any', run),
    stop: () => cancel(),
  }
}

/** Armed before the row is looked at, so that a hint between look and wait is not lost. */
function hint(hints: EventEmitter, key: string, clock: Clock, signal: AbortSignal) {
  let wake = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    wake = resolve
  })
  hints.once(key, wake)
  hints.once('any', wake)
  signal.addEventListener('abort', wake, { once: true })
  const cancelTimer = clock.after(SAFETY_LOOK_MS, wake)
  const cancel = (): void => {
    hints.off(key, wake)
    hints.off('any', wake)
    signal.removeEventListener('abort', wake)
    cancelTimer()
  }
  return { promise, cancel }
}
