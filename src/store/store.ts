import { AsyncLocalStorage } from 'node:async_hooks'
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, type Transaction } from 'kysely'
import { STORE } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'
import { migrations } from './migrations/index.ts'
import { openSqlite, sqliteDialect } from './sqlite.ts'
import type { Tables } from './tables.ts'
import { storeUnavailable } from './unavailable.ts'

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
  /** Whether the database answers and its file is still the one that was opened. */
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
    return createStore(db, handle, file)
  } catch (error) {
    throw asStoreError(file, error)
  }
}

function asStoreError(file: string, error: unknown): TurnstoneError {
  if (error instanceof TurnstoneError) return error
  const code = (error as { code?: string }).code ?? ''
  const options = { cause: error }
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new TurnstoneError('store-corrupt', STORE.damaged(file), options)
  }
  return storeUnavailable(file, error)
}

/**
 * Looks without writing or migrating, also beside a running gateway. Resolves where `openStore` would take the file as
 * it is or bring it up to date; throws as it does.
 */
export function inspectStore(file: string): void {
  try {
    if (!existsSync(file)) accessSync(existingAbove(file), constants.W_OK)
    else {
      accessSync(file, constants.R_OK | constants.W_OK)
      accessSync(dirname(file), constants.W_OK)
      refuseUnknown(file)
    }
  } catch (error) {
    throw asStoreError(file, error)
  }
}

function existingAbove(path: string): string {
  const directory = dirname(path)
  return existsSync(directory) || directory === path ? directory : existingAbove(directory)
}

/** Looks without writing: a database of a newer version or of another program is left untouched. */
function refuseUnknown(file: string): void {
  const handle = new Database(file, { readonly: true, timeout: 2000 })
  try {
    const tables = handle.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[]
    if (tables.length === 0) return
    if (!tables.includes('schema_version')) {
      throw new TurnstoneError('store-corrupt', STORE.foreign(file))
    }
    const version = handle.prepare('select version from schema_version').pluck().get()
    if (typeof version === 'number' && version > migrations.length) {
      throw new TurnstoneError('store-newer', STORE.newer(file, version, migrations.length))
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

function createStore(db: Db, handle: ReturnType<typeof openSqlite>, file: string): SqliteStore {
  const opened = inodeOf(file)
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
        handle.prepare('select version from schema_version').get()
        // SQLite goes on with a deleted file, and all that it takes in is lost at the end.
        return inodeOf(file) === opened
      } catch {
        return false
      }
    },
    dataVersion: () => handle.pragma('data_version', { simple: true }) as number,
    close: () => db.destroy(),
  }
}

/** Of the file at this path; undefined where there is none. */
function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/** Whether an error says that a UNIQUE column has the value already. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: string } | undefined)?.code
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505'
}
