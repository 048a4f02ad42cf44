import type { Tx } from '../store/store.ts'

/** A hint that a row has changed; it may be lost, so whoever waits also looks by itself. The row is the truth. */
export interface Signals {
  /** Sent when the transaction commits. */
  send(tx: Tx, key: string): Promise<void>
  /** Resolves when `check` says true; it is asked now, at each hint and every few seconds. Rejects when `signal` aborts. */
  until(key: string, check: () => Promise<boolean>, signal: AbortSignal): Promise<void>
}
