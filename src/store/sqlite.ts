import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

/** SQLite's own wait blocks the event loop, so it is short and the rest is waited for here, ms. */
const BUSY_TIMEOUT_MS = 50
/** How long another process may hold the write lock before a write fails, ms. */
const BUSY_LIMIT_MS = 30_000

export type SqliteHandle = Database.Database

/** Opens the file for reading and writing with the durability that "accepted means stored" needs. */
export function openSqlite(file: string): SqliteHandle {
  const handle = new Database(file, { timeout: BUSY_TIMEOUT_MS })
  handle.pragma('journal_mode = WAL')
  // FULL: a commit survives a power cut, not only a crash of the process.
  handle.pragma('synchronous = FULL')
  handle.pragma('foreign_keys = ON')
  return handle
}

/** Kysely's dialect over one connection: prepared statements are kept, transactions take the write lock at once. */
export function sqliteDialect(handle: SqliteHandle): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(handle),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

class SqliteDriver implements Driver {
  readonly #connection: SqliteConnection
  readonly #handle: SqliteHandle
  #tail: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined

  constructor(handle: SqliteHandle) {
    this.#handle = handle
    this.#connection = new SqliteConnection(handle)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#tail
    let release = (): void => undefined
    this.#tail = new Promise((resolve) => {
      release = resolve
    })
    await before
    this.#release = release
    return this.#connection
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk or an I/O error may have rolled it back already.
    if (this.#handle.inTransaction) await this.#connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async releaseConnection(): Promise<void> {
    this.#release()
  }

  async destroy(): Promise<void> {
    this.#handle.close()
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #handle: SqliteHandle
  readonly #statements = new Map<string, Database.Statement>()

  constructor(handle: SqliteHandle) {
    this.#handle = handle
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const started = Date.now()
    for (;;) {
      try {
        return this.#run<R>(sql, parameters)
      } catch (error) {
        const busy = (error as { code?: string }).code?.startsWith('SQLITE_BUSY') ?? false
        if (!busy || this.#handle.inTransaction || Date.now() - started > BUSY_LIMIT_MS) throw error
        await wait(20)
      }
    }
  }

  #run<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#handle.prepare(sql)
      this.#statements.set(sql, statement)
    }
    if (statement.reader) {
      const rows = statement.all(...parameters) as R[]
      return { rows, numAffectedRows: BigInt(rows.length) }
    }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  // biome-ignore lint/correctness/useYield: SQLite has no streaming here and nothing asks for it.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported')
  }
}
