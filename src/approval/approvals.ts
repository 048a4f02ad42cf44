import { type Selectable, sql } from 'kysely'
import { audit } from '../store/audit.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import type { Approval, ApprovalCall, Outcome } from './approval.ts'
import { addGrants } from './grants.ts'

type Row = Selectable<Tables['approvals']>

/** Literals, as the partial indexes spell them. */
const OPEN = sql.lit('open' as const)
const OLD_CARD = sql.lit(0)
const WHOLE = sql.lit(0)

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
      kind: 'calls',
      state: 'open',
      calls: JSON.stringify(request.calls),
      changed: request.changed ?? null,
      always: request.always ? 1 : 0,
      decided_by: null,
      note: null,
      expires_at: request.expiresAt ?? null,
      created_at: now,
      decided_at: null,
      card_up_to_date: 0,
      payloads_dropped: 0,
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
    .set({ state: outcome, decided_by: by, note: note ?? null, decided_at: now, card_up_to_date: 0 })
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
  if (outcome === 'always')
    await addGrants(
      tx,
      { workstream: approval.workstream, labels: approval.calls.flatMap((c) => c.label ?? []), by },
      now,
    )
  return approval
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
    .where('state', '=', OPEN)
    .orderBy('created_at')
    .execute()
  return rows.map(toApproval)
}

/** Workstreams that wait for a decision on a card; `shown`: only those whose card shows the open state. */
export async function workstreamsWithOpenApproval(db: Db | Tx['db'], shown: boolean): Promise<ReadonlySet<string>> {
  let query = db.selectFrom('approvals').select('ws_id').distinct().where('state', '=', OPEN)
  if (shown) query = query.where('card_up_to_date', '=', 1)
  return new Set((await query.execute()).map((r) => r.ws_id))
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
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('card_up_to_date', '=', OLD_CARD)
    .orderBy('created_at')
    .execute()
  return rows.map(toApproval)
}

/** The card shows this state; a later one makes it unpainted again. */
export async function markCardUpToDate(db: Db, approval: Approval): Promise<void> {
  await db
    .updateTable('approvals')
    .set({ card_up_to_date: 1 })
    .where('id', '=', approval.id)
    .where('state', '=', approval.state)
    .execute()
}

/**
 * What the calls of decided approvals would have done is forgotten, where the decision was made before `before`, ms since
 * the epoch, and its card shows it; names, headers and hashes stay. At most `limit`; how many there were.
 */
export async function dropPayloads(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.db
    .selectFrom('approvals')
    .select(['id', 'calls'])
    .where('payloads_dropped', '=', WHOLE)
    .where('decided_at', '<', before)
    .where('card_up_to_date', '=', 1)
    .limit(limit)
    .execute()
  for (const { id, calls } of rows) {
    const kept = (JSON.parse(calls) as ApprovalCall[]).map((c) => ({ ...c, payload: { ...c.payload, text: '' } }))
    await tx.db
      .updateTable('approvals')
      .set({ calls: JSON.stringify(kept), payloads_dropped: 1 })
      .where('id', '=', id)
      .execute()
  }
  return rows.length
}

/** The card of an approval is gone. False where the approval is not open any more: nobody needs its card. */
export async function markCardMissing(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .updateTable('approvals')
    .set({ card_up_to_date: 0 })
    .where('id', '=', id)
    .where('state', '=', 'open')
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
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
    cardUpToDate: row.card_up_to_date === 1,
    ...(row.changed === null ? {} : { changed: row.changed }),
    ...(row.decided_by === null ? {} : { decidedBy: row.decided_by }),
    ...(row.note === null ? {} : { note: row.note }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  }
}
