import { audit } from '../store/audit.ts'
import type { Db, Tx } from '../store/store.ts'

/** What *Always allow* remembers for a workstream. Labels that it has already are left as they are. */
export async function addGrants(
  tx: Tx,
  grant: { workstream: string; labels: readonly string[]; by: string },
  now: number,
): Promise<void> {
  const { workstream, labels, by } = grant
  for (const label of new Set(labels)) {
    await tx.db
      .insertInto('grants')
      .values({ ws_id: workstream, label, granted_by: by, created_at: now })
      .onConflict((c) => c.columns(['ws_id', 'label']).doNothing())
      .execute()
    await audit(tx, { at: now, actor: by, action: 'grant', workstream, detail: label })
  }
}

export async function grantsOf(db: Db | Tx['db'], workstream: string): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('grants').select('label').where('ws_id', '=', workstream).orderBy('label').execute()
  return new Set(rows.map((r) => r.label))
}

/** False where there was no such grant. */
export async function revokeGrant(
  tx: Tx,
  grant: { workstream: string; label: string; by: string },
  now: number,
): Promise<boolean> {
  const { workstream, label, by } = grant
  const gone = await tx.db
    .deleteFrom('grants')
    .where('ws_id', '=', workstream)
    .where('label', '=', label)
    .returning('label')
    .execute()
  if (gone.length === 0) return false
  await audit(tx, { at: now, actor: by, action: 'revoke', workstream, detail: label })
  return true
}
