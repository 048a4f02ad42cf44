import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, type Transaction } from 'kysely'
import { messageOf, TurnstoneError } from '../util/errors.ts'
import { migrations } from './migrations/index.ts'
import { openSqlite, sqliteDialect } from './sqlite.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

/** An open transaction. In it await nothing but its own queries, and never catch a database error. */
export interface Tx {
  readonly db: Transaction<Tables>
  /** Runs after the commit, outside the transaction; not at all after a rollback. Must not throw. */
  afterCommit(run: () => void): void
}

export interface Store {
  /** For single statements outside any transaction; throws inside one, where it would wait for itself for ever. */
  readonly db: Db
  /** The only way to write more than one statement. A rejection of `work` rolls back. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Whether the database answers. */
  healthy(): Promise<boolean>
  close(): Promise<void>
}

/** A store whose file other processes may write; only SQLite needs to look for that. */
export interface SqliteStore extends Store {
  /** Changes when another process has written. */
  dataVersion(): number
}

/**
 * Opens the database and brings its schema up to date. Throws TurnstoneError: 'store-newer' or 'store-corrupt' before
 * anything was written, 'store-unavailable' where it cannot be opened.
 */
export async function openStore(file: string): Promise<SqliteStore> {
  try {
    if (file !== ':memory:') {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      if (existsSync(file)) refuseUnknown(file)
      // Conversations are nobody else's to read; SQLite gives its side files the same mode.
      else writeFileSync(file, '', { mode: 0o600 })
    }
    const handle = openSqlite(file)
    const db = new Kysely<Tables>({ dialect: sqliteDialect(handle) })
    await migrate(db)
    return createStore(db, handle)
  } catch (error) {
    throw asStoreError(file, error)
  }
}

function asStoreError(file: string, error: unknown): TurnstoneError {
  if (error instanceof TurnstoneError) return error
  const code = (error as { code?: string }).code ?? ''
  const options = { cause: error }
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new TurnstoneError(
      'store-corrupt',
      `${file} is damaged or no SQLite database: put back a copy of it, or name another file in database.url`,
      options,
    )
  }
  const why =
    code === 'SQLITE_FULL' || code === 'ENOSPC'
      ? 'the disk is full'
      : code.startsWith('SQLITE_BUSY')
        ? 'another program holds it locked'
        : messageOf(error)
  return new TurnstoneError('store-unavailable', `the database ${file} cannot be used: ${why}`, options)
}

/** Looks without writing: a database of a newer version, or one that is not ours, is left untouched. */
function refuseUnknown(file: string): void {
  const handle = new Database(file, { readonly: true, timeout: 2000 })
  try {
    const tables = handle.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[]
    if (tables.length === 0) return
    if (!tables.includes('schema_version')) {
      throw new TurnstoneError(
        'store-corrupt',
        `${file} is a database of another program: name another file in database.url`,
      )
    }
    const version = handle.prepare('select version from schema_version').pluck().get()
    if (typeof version === 'number' && version > migrations.length) {
      throw new TurnstoneError(
        'store-newer',
        `${file} was written by a newer version (schema ${version}, this one knows ${migrations.length}): update turnstone, nothing was changed`,
      )
    }
  } finally {
    handle.close()
  }
}

async function migrate(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.schema
      .createTable('schema_version')
      .ifNotExists()
      .addColumn('version', 'integer', (c) => c.notNull())
      .execute()
    const row = await tx.selectFrom('schema_version').select('version').executeTakeFirst()
    if (!row) await tx.insertInto('schema_version').values({ version: 0 }).execute()
    const from = row?.version ?? 0
    for (const migration of migrations.slice(from)) await migration.up(tx as unknown as Kysely<unknown>)
    if (from < migrations.length) await tx.updateTable('schema_version').set({ version: migrations.length }).execute()
  })
}

function createStore(db: Db, handle: ReturnType<typeof openSqlite>): SqliteStore {
  const inside = new AsyncLocalStorage<true>()
  const outside = (): Db => {
    if (inside.getStore()) throw new Error('the store was used inside its own transaction; use tx.db')
    return db
  }
  return {
    get db() {
      return outside()
    },
    async transaction(work) {
      outside()
      const after: (() => void)[] = []
      const result = await db
        .transaction()
        .execute((tx) => inside.run(true, () => work({ db: tx, afterCommit: (run) => after.push(run) })))
      for (const run of after) run()
      return result
    },
    async healthy() {
      try {
        handle.prepare('select 1').get()
        return true
      } catch {
        return false
      }
    },
    dataVersion: () => handle.pragma('data_version', { simple: true }) as number,
    close: () => db.destroy(),
  }
}

/** Whether an error says that a UNIQUE column has the value already. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: string } | undefined)?.code
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505'
}
