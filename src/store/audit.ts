import { sql } from 'kysely'
import type { Db, Tx } from './store.ts'

/** How long presses are kept, ms. What they led to is a row of its own, kept for good. */
const PRESSES_FOR_MS = 90 * 86_400_000
/** A literal, as the partial index spells it. */
const PRESS = sql.lit('press' as const)

export type AuditAction =
  | 'press'
  | 'decision'
  | 'grant'
  | 'revoke'
  | 'policy'
  | 'link'
  | 'unlink'
  | 'user-add'
  | 'user-remove'
  | 'token-create'
  | 'token-revoke'
  | 'stop'
  | 'close'

/** One row for each decision, press, grant, revocation, link and unlink. `detail` holds no secret and no payload. */
export async function audit(
  tx: Tx,
  row: { at: number; actor: string; action: AuditAction; workstream?: string; detail: string },
): Promise<void> {
  const { at, actor, action, workstream, detail } = row
  await tx.db
    .insertInto('audit')
    .values({ at, actor, action, ws_id: workstream ?? null, detail })
    .execute()
}

/** Deletes presses that are older than they are kept, at most `limit`. How many there were. */
export async function prunePresses(db: Db, now: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('audit')
    .select('id')
    .where('action', '=', PRESS)
    .where('at', '<', now - PRESSES_FOR_MS)
    .limit(limit)
  const gone = await db.deleteFrom('audit').where('id', 'in', old).returning('id').execute()
  return gone.length
}

/** Rows at the end of the table among which a recent one is looked for. */
const RECENT_ROWS = 10_000

/** Who stopped or closed the workstream last. */
export async function lastStopper(db: Db, workstream: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('audit')
    .select('actor')
    .where('id', '>', sql<number>`(select coalesce(max(id), 0) - ${RECENT_ROWS} from audit)`)
    .where('ws_id', '=', workstream)
    .where('action', 'in', ['stop', 'close'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.actor
}
