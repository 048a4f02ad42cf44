import Database from 'better-sqlite3'

interface Statement {
  readonly source: string
  all(...values: unknown[]): unknown[]
}

/** What SQLite is really asked, by watching the driver: nothing between it and the product is replaced. */
export interface StatementWatch {
  /** Every statement that was prepared, as text. */
  readonly sources: ReadonlySet<string>
  /** Rows that statements about this table have given since the last reset. */
  rowsOf(table: string): number
  reset(): void
  stop(): void
}

export function watchStatements(): StatementWatch {
  const sources = new Set<string>()
  const given: { source: string; rows: number }[] = []
  const proto = Database.prototype as { prepare(source: string): Statement }
  const prepare = proto.prepare
  const probe = new Database(':memory:')
  const statements = Object.getPrototypeOf(probe.prepare('select 1')) as Statement
  probe.close()
  const all = statements.all
  proto.prepare = function (source) {
    sources.add(source)
    return prepare.call(this, source)
  }
  statements.all = function (this: Statement, ...values) {
    const rows = all.apply(this, values)
    given.push({ source: this.source, rows: rows.length })
    return rows
  }
  return {
    sources,
    rowsOf: (table) => given.reduce((n, g) => n + (g.source.includes(`from "${table}"`) ? g.rows : 0), 0),
    reset: () => void given.splice(0),
    stop() {
      proto.prepare = prepare
      statements.all = all
    },
  }
}
