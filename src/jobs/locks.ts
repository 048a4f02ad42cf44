/** Exclusive work by key, on every node that shares the store. Nothing of it outlives a process: rows decide, locks only order. */
export interface Locks {
  /** Runs the task when all that asked for the key before have ended, however they ended. Must not be nested for one key. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>
}
