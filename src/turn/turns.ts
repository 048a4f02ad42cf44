import type { Selectable } from 'kysely'
import type { Address } from '../channel/channel-adapter.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import { newId } from '../util/ids.ts'
import type { TurnEnd } from './turn.ts'

/** One turn of a workstream: from the messages that began it to its answer. */
export interface Turn {
  readonly id: string
  readonly workstream: string
  /** The turn that waits for this one; undefined for a turn that people began. */
  readonly parent: string | undefined
  readonly state: Tables['turns']['state']
  /** Starts since the last new journal row. */
  readonly starts: number
  /** Alias of its model. */
  readonly model: string
  readonly postTo: Address
  readonly stopRequested: boolean
}

type Reader = Db | Tx['db']

export async function createTurn(
  tx: Tx,
  made: { workstream: string; model: string; postTo: Address; parent?: string },
  now: number,
): Promise<Turn> {
  const row: Selectable<Tables['turns']> = {
    id: newId(),
    ws_id: made.workstream,
    parent_id: made.parent ?? null,
    state: 'running',
    tries: 1,
    stop: 0,
    model: made.model,
    post_to: JSON.stringify(made.postTo),
    created_at: now,
    ended_at: null,
  }
  await tx.db.insertInto('turns').values(row).execute()
  return toTurn(row)
}

/** The turn under way, if there is one; a workstream has at most one that has not ended. */
export async function activeTurn(db: Reader, workstream: string): Promise<Turn | undefined> {
  const row = await db
    .selectFrom('turns')
    .selectAll()
    .where('ws_id', '=', workstream)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return row && toTurn(row)
}

/** Where the turn's answer goes. */
export async function addressOfTurn(db: Reader, turn: string): Promise<Address | undefined> {
  const row = await db.selectFrom('turns').select('post_to').where('id', '=', turn).executeTakeFirst()
  return row && (JSON.parse(row.post_to) as Address)
}

/** Every workstream with a turn under way, and whether that turn waits for a person. */
export async function workstreamsUnderWay(db: Reader): Promise<readonly { workstream: string; parked: boolean }[]> {
  const rows = await db.selectFrom('turns').select(['ws_id', 'state']).where('ended_at', 'is', null).execute()
  return rows.map((r) => ({ workstream: r.ws_id, parked: r.state === 'parked' }))
}

/** One more start of a turn under way. */
export async function countStart(tx: Tx, turn: string, state: 'running' | 'parked'): Promise<void> {
  await tx.db
    .updateTable('turns')
    .set((e) => ({ tries: e('tries', '+', 1), state }))
    .where('id', '=', turn)
    .execute()
}

/** A start that a graceful stop cut short does not count. */
export async function forgiveStart(db: Db, turn: string): Promise<void> {
  await db
    .updateTable('turns')
    .set((e) => ({ tries: e('tries', '-', 1) }))
    .where('id', '=', turn)
    .where('tries', '>', 0)
    .execute()
}

/** The turn made progress: starts are counted from here again. */
export async function resetStarts(tx: Tx, turn: string): Promise<void> {
  await tx.db.updateTable('turns').set({ tries: 0 }).where('id', '=', turn).execute()
}

/** The turn waits for a person; it holds no job meanwhile. */
export async function parkTurn(tx: Tx, turn: string): Promise<void> {
  await tx.db.updateTable('turns').set({ state: 'parked' }).where('id', '=', turn).execute()
}

export async function moveTurn(tx: Tx, turn: string, postTo: Address): Promise<void> {
  await tx.db
    .updateTable('turns')
    .set({ post_to: JSON.stringify(postTo) })
    .where('id', '=', turn)
    .execute()
}

/** From its next step on the turn asks another model. */
export async function setTurnModel(tx: Tx, turn: string, alias: string): Promise<void> {
  await tx.db.updateTable('turns').set({ model: alias }).where('id', '=', turn).execute()
}

export async function endTurn(tx: Tx, turn: string, state: TurnEnd, now: number): Promise<void> {
  await tx.db.updateTable('turns').set({ state, ended_at: now }).where('id', '=', turn).execute()
}

/** Asks the workstream's turn to stop. Its id; undefined where none is under way. */
export async function requestStop(tx: Tx, workstream: string): Promise<string | undefined> {
  const row = await tx.db
    .updateTable('turns')
    .set({ stop: 1 })
    .where('ws_id', '=', workstream)
    .where('ended_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

export async function isStopRequested(db: Db, turn: string): Promise<boolean> {
  const row = await db.selectFrom('turns').select('stop').where('id', '=', turn).executeTakeFirst()
  return row?.stop === 1
}

function toTurn(row: Selectable<Tables['turns']>): Turn {
  return {
    id: row.id,
    workstream: row.ws_id,
    parent: row.parent_id ?? undefined,
    state: row.state,
    starts: row.tries,
    model: row.model,
    postTo: JSON.parse(row.post_to) as Address,
    stopRequested: row.stop === 1,
  }
}
