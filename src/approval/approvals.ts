import type { Selectable } from 'kysely'
import { audit } from '../store/audit.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import type { Approval, ApprovalCall, Outcome } from './approval.ts'

type Row = Selectable<Tables['approvals']>

/** The key of the job that ends an approval at its time. */
export const expiryJob = (approval: string): string => `expire:${approval}`

export interface ApprovalRequest {
  readonly id: string
  readonly workstream: string
  readonly turn: string
  readonly calls: readonly ApprovalCall[]
  readonly always: boolean
  readonly changed?: string
  /** ms since the epoch; undefined: waits for ever. */
  readonly expiresAt?: number
}

/** Makes the row. Nothing of the step may have run. */
export async function requestApproval(tx: Tx, request: ApprovalRequest, now: number): Promise<Approval> {
  await tx.db
    .insertInto('approvals')
    .values({
      id: request.id,
      ws_id: request.workstream,
      turn_id: request.turn,
      state: 'open',
      calls: JSON.stringify(request.calls),
      changed: request.changed ?? null,
      always: request.always ? 1 : 0,
      decided_by: null,
      note: null,
      expires_at: request.expiresAt ?? null,
      created_at: now,
      decided_at: null,
      painted: 0,
    })
    .execute()
  return { ...request, state: 'open', createdAt: now, cardUpToDate: false }
}

/**
 * Settles an open approval; the first to do so wins, whoever else tries gets undefined. *Always* on a card that offers
 * none settles nothing. Grants of *always* are written in the same transaction.
 */
export async function settleApproval(
  tx: Tx,
  decision: { id: string; outcome: Outcome; by: string; note?: string },
  now: number,
): Promise<Approval | undefined> {
  const { id, outcome, by, note } = decision
  let update = tx.db
    .updateTable('approvals')
    .set({ state: outcome, decided_by: by, note: note ?? null, decided_at: now, painted: 0 })
    .where('id', '=', id)
    .where('state', '=', 'open')
  if (outcome === 'always') update = update.where('always', '=', 1)
  const row = await update.returningAll().executeTakeFirst()
  if (!row) return undefined
  const approval = toApproval(row)
  await audit(tx, {
    at: now,
    actor: by,
    action: 'decision',
    workstream: approval.workstream,
    detail: `${id} ${outcome}`,
  })
  if (outcome === 'always') await grant(tx, approval, by, now)
  return approval
}

async function grant(tx: Tx, approval: Approval, by: string, now: number): Promise<void> {
  for (const label of new Set(approval.calls.flatMap((c) => c.label ?? []))) {
    await tx.db
      .insertInto('grants')
      .values({ ws_id: approval.workstream, label, granted_by: by, created_at: now })
      .onConflict((c) => c.columns(['ws_id', 'label']).doNothing())
      .execute()
    await audit(tx, { at: now, actor: by, action: 'grant', workstream: approval.workstream, detail: label })
  }
}

export async function findApproval(db: Db | Tx['db'], id: string): Promise<Approval | undefined> {
  const row = await db.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toApproval(row)
}

export async function openApprovals(db: Db | Tx['db'], workstream: string): Promise<readonly Approval[]> {
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('ws_id', '=', workstream)
    .where('state', '=', 'open')
    .orderBy('created_at')
    .execute()
  return rows.map(toApproval)
}

/** All of a turn, oldest first. */
export async function approvalsOfTurn(db: Db | Tx['db'], turn: string): Promise<readonly Approval[]> {
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('turn_id', '=', turn)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toApproval)
}

/** Whose card does not show the row's state yet. */
export async function approvalsWithOldCards(db: Db): Promise<readonly Approval[]> {
  const rows = await db.selectFrom('approvals').selectAll().where('painted', '=', 0).orderBy('created_at').execute()
  return rows.map(toApproval)
}

/** The card shows this state; a later one makes it unpainted again. */
export async function markCardUpToDate(db: Db, approval: Approval): Promise<void> {
  await db
    .updateTable('approvals')
    .set({ painted: 1 })
    .where('id', '=', approval.id)
    .where('state', '=', approval.state)
    .execute()
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

function toApproval(row: Row): Approval {
  return {
    id: row.id,
    workstream: row.ws_id,
    turn: row.turn_id,
    state: row.state,
    calls: JSON.parse(row.calls) as ApprovalCall[],
    always: row.always === 1,
    createdAt: row.created_at,
    cardUpToDate: row.painted === 1,
    ...(row.changed === null ? {} : { changed: row.changed }),
    ...(row.decided_by === null ? {} : { decidedBy: row.decided_by }),
    ...(row.note === null ? {} : { note: row.note }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  }
}
