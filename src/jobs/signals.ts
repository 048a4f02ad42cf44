import type { Tx } from '../store/store.ts'

/** A hint that a row has changed. It may be lost, so whoever waits also looks every few seconds: the row is the truth. */
export interface Signals {
  /** Sent when the transaction commits. */
  send(tx: Tx, key: string): Promise<void>
  /**
   * Resolves when `check` says true; it is called now, at each hint and every few seconds. Rejects with what `check`
   * throws, or with the signal's reason.
   */
  until(key: string, check: () => Promise<boolean>, signal: AbortSignal): Promise<void>
}
