import type { Tx } from './store.ts'

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
