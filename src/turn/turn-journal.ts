import type { Store, Tx } from '../store/store.ts'
import type { Redacted } from '../util/redact.ts'
import type { Claim } from '../workstream/claim.ts'
import {
  append,
  type JournalEntry,
  type JournalRow,
  readTurn,
  readTurnsSince,
  type TurnsRead,
  totalWeight,
} from './journal.ts'

/**
 * The rows of one turn and of those before it, read once: while the claim holds, nobody else can append. Where it is lost,
 * they may be out of date, and the next write says so.
 */
export class TurnJournal {
  readonly #store: Store
  readonly #claim: Claim
  readonly #turn: string
  #own: readonly JournalRow[] | undefined
  #earlier: (TurnsRead & { readonly above: number }) | undefined

  constructor(store: Store, claim: Claim, turn: string) {
    this.#store = store
    this.#claim = claim
    this.#turn = turn
  }

  /** The turn's rows, oldest first. */
  async rows(): Promise<readonly JournalRow[]> {
    this.#own ??= await readTurn(this.#store.db, this.#turn)
    return this.#own
  }

  /** Known to `rows` after the commit. Throws ClaimLost. */
  async append(tx: Tx, entries: readonly JournalEntry<Redacted>[], now: number): Promise<void> {
    const added = await append(tx, this.#claim, this.#turn, entries, now)
    tx.afterCommit(() => {
      if (this.#own) this.#own = [...this.#own, ...added].sort((a, b) => a.id - b.id)
    })
  }

  /** The weight of the workstream's rows, this turn's included, tokens. */
  async totalWeight(): Promise<number> {
    const last = (await this.rows()).at(-1)
    return last?.total ?? totalWeight(this.#store.db, this.#claim.workstream)
  }

  /** The turns before this one, as `readTurnsSince` gives them. */
  async earlier({ above, limit, heavy }: { above: number; limit: number; heavy: number }): Promise<TurnsRead> {
    const known = this.#earlier
    if (known && known.above === above && (known.begin >= limit || known.begin === above)) return known
    const [first] = await this.rows()
    const before = first?.id ?? Number.MAX_SAFE_INTEGER
    const read = await readTurnsSince(this.#store.db, this.#claim.workstream, { above, limit, heavy, before })
    this.#earlier = { ...read, above }
    return this.#earlier
  }
}
