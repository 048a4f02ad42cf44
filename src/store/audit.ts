import { sql } from 'kysely'
import type { Db, Tx } from './store.ts'

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
