import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { STORE } from '../copy/config.ts'
import { messageOf, TurnstoneError } from '../util/errors.ts'

/** Why a database cannot be opened, and the cure: SQLite's own "unable to open database file" tells neither. */
export function storeUnavailable(file: string, error: unknown): TurnstoneError {
  return new TurnstoneError('store-unavailable', STORE.unusable(file, reasonOf(file, error)), { cause: error })
}

function reasonOf(file: string, error: unknown): string {
  const code = (error as { code?: string }).code ?? ''
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return STORE.full
  if (code.startsWith('SQLITE_BUSY')) return STORE.locked
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return STORE.isDirectory
  if (/^(?:SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR)|E[A-Z]+$)/.test(code)) return STORE.notWritable(dirname(file), code)
  return messageOf(error)
}
