import { type ColumnDefinitionBuilder, type Kysely, SqliteAdapter } from 'kysely'

export function isSqlite(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** A growing number as the primary key, in each database's own way. */
export function growingId(db: Kysely<unknown>): (c: ColumnDefinitionBuilder) => ColumnDefinitionBuilder {
  return (c) => (isSqlite(db) ? c.primaryKey().autoIncrement() : c.primaryKey().generatedByDefaultAsIdentity())
}
