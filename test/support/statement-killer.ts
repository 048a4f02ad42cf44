import Database from 'better-sqlite3'

interface Statement {
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): unknown
  get(...values: unknown[]): unknown
}

/**
 * Counts what SQLite is asked in this process, and ends the process as a crash does before the statement that it was
 * armed for. Only the driver is watched: nothing between it and the product is replaced.
 */
export class StatementKiller {
  #seen = 0
  #killBefore = Number.POSITIVE_INFINITY
  /** Called before each statement; what it throws is what the statement throws. */
  onStatement: (source: string) => void = () => undefined

  constructor() {
    const probe = new Database(':memory:')
    const statements = Object.getPrototypeOf(probe.prepare('select 1')) as Statement
    probe.close()
    for (const verb of ['all', 'run', 'get'] as const) {
      const real = statements[verb]
      const before = (source: string): void => this.#before(source)
      statements[verb] = function (this: Statement & { source: string }, ...values: unknown[]) {
        before(this.source)
        return real.apply(this, values) as never
      }
    }
  }

  /** Statements since it was armed last. */
  get seen(): number {
    return this.#seen
  }

  /** Counts from here; before the `before`th statement from here, from 1, the process is killed. */
  arm(before: number): void {
    this.#seen = 0
    this.#killBefore = before
  }

  #before(source: string): void {
    // Asked again and again by the look at other processes' writes, and it writes nothing.
    if (source.startsWith('PRAGMA')) return
    if (++this.#seen >= this.#killBefore) process.kill(process.pid, 'SIGKILL')
    this.onStatement(source)
  }
}
