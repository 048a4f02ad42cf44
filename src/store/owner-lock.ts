import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { storeUnavailable } from './unavailable.ts'

export interface OwnerLock {
  release(): void
}

/**
 * Makes this process the one gateway on a SQLite file, by an exclusive lock on a side file that the system frees when
 * the process dies. Undefined where another process holds it. The command line never acquires it.
 */
export function acquireOwnerLock(file: string): OwnerLock | undefined {
  if (file === ':memory:') return { release: () => undefined }
  const handle = openLockFile(file)
  try {
    handle.pragma('journal_mode = DELETE')
    handle.exec('begin exclusive')
    return { release: () => handle.close() }
  } catch (error) {
    handle.close()
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return undefined
    throw storeUnavailable(file, error)
  }
}

function openLockFile(file: string): Database.Database {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // Who can open it can hold the lock: nobody else's, also where an earlier version made it for all.
    closeSync(openSync(`${file}-lock`, 'a', 0o600))
    chmodSync(`${file}-lock`, 0o600)
    return new Database(`${file}-lock`, { timeout: 0 })
  } catch (error) {
    throw storeUnavailable(file, error)
  }
}
