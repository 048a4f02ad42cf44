import { type Selectable, sql } from 'kysely'
import type { Address, Platform } from '../channel/channel-adapter.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import { newId } from '../util/ids.ts'
import { forgetFiles } from '../workspace/file-ledger.ts'

/** What must be done before the first answer can be posted. */
export type Opening =
  /** Make a thread from a person's message. */
  | { readonly kind: 'thread'; readonly channel: string; readonly message: string }
  /** Post "NAME asks: …" and make a thread from that. */
  | { readonly kind: 'announce'; readonly channel: string; readonly text: string }

/** A literal, as the partial indexes spell it. */
const OPEN = sql.lit('open' as const)

export interface Workstream {
  readonly id: string
  readonly owner: string
  readonly platform: Platform
  /** Address.id of the conversation; `ask:<key>` until its thread is made. */
  readonly address: string
  /** The platform's channel in which it was started. */
  readonly channel: string
  readonly state: 'open' | 'closed'
  /** Alias; undefined: the default. */
  readonly model: string | undefined
  readonly opening: Opening | undefined
  readonly postTo: Address | undefined
  readonly title: string
  readonly activeAt: number
  readonly closeTold: boolean
}

const MAX_TITLE_CHARS = 100

/** A message's first line as a title, at most 100 characters. */
export function titleOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return [...line].slice(0, MAX_TITLE_CHARS).join('') || 'Conversation'
}

/** The open workstream at this address; it is made where there is none, so that two at once get the same. */
export async function openWorkstream(
  tx: Tx,
  started: {
    owner: string
    platform: Platform
    address: string
    channel: string
    title: string
    opening?: Opening
    postTo?: Address
    model?: string
  },
  now: number,
): Promise<{ workstream: Workstream; created: boolean }> {
  const row: Selectable<Tables['workstreams']> = {
    id: newId(),
    owner: started.owner,
    platform: started.platform,
    address: started.address,
    channel: started.channel,
    state: 'open',
    epoch: 0,
    model: started.model ?? null,
    opening: started.opening ? JSON.stringify(started.opening) : null,
    post_to: started.postTo ? JSON.stringify(started.postTo) : null,
    title: titleOf(started.title),
    created_at: now,
    active_at: now,
    close_told: 0,
  }
  const made = await tx.db
    .insertInto('workstreams')
    .values(row)
    .onConflict((c) => c.columns(['platform', 'address']).where('state', '=', OPEN).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (made) return { workstream: toWorkstream(made), created: true }
  const known = await findOpenWorkstream(tx.db, started.platform, started.address)
  if (!known) throw new Error('the conversation was closed while it was looked up')
  return { workstream: known, created: false }
}

export async function findWorkstream(db: Db | Tx['db'], id: string): Promise<Workstream | undefined> {
  const row = await db.selectFrom('workstreams').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toWorkstream(row)
}

/** The open one held at this address. */
export async function findOpenWorkstream(
  db: Db | Tx['db'],
  platform: Platform,
  address: string,
): Promise<Workstream | undefined> {
  const row = await db
    .selectFrom('workstreams')
    .selectAll()
    .where('platform', '=', platform)
    .where('address', '=', address)
    .where('state', '=', OPEN)
    .executeTakeFirst()
  return row && toWorkstream(row)
}

/** The newest one that was held at this address, open or closed. */
export async function findLatestWorkstream(
  db: Db,
  platform: Platform,
  address: string,
): Promise<Workstream | undefined> {
  const row = await db
    .selectFrom('workstreams')
    .selectAll()
    .where('platform', '=', platform)
    .where('address', '=', address)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && toWorkstream(row)
}

/** Open ones, the most recently active first; of one owner and channel where given. */
export async function openWorkstreams(
  db: Db,
  of: { owner?: string; platform?: Platform; channel?: string; activeSince?: number; limit: number },
): Promise<readonly Workstream[]> {
  let query = db.selectFrom('workstreams').selectAll().where('state', '=', OPEN)
  if (of.owner !== undefined) query = query.where('owner', '=', of.owner)
  if (of.platform !== undefined) query = query.where('platform', '=', of.platform)
  if (of.channel !== undefined) query = query.where('channel', '=', of.channel)
  if (of.activeSince !== undefined) query = query.where('active_at', '>=', of.activeSince)
  const rows = await query.orderBy('active_at', 'desc').limit(of.limit).execute()
  return rows.map(toWorkstream)
}

/** Ids of a person's open ones. */
export async function openWorkstreamsOf(db: Tx['db'], owner: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('workstreams')
    .select('id')
    .where('owner', '=', owner)
    .where('state', '=', OPEN)
    .execute()
  return rows.map((r) => r.id)
}

/** Ids of the most recently active ones of a channel, open or closed. */
export async function recentWorkstreamsIn(
  db: Db,
  at: { platform: Platform; channel: string; limit: number },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('workstreams')
    .select('id')
    .where('platform', '=', at.platform)
    .where('channel', '=', at.channel)
    .orderBy('active_at', 'desc')
    .limit(at.limit)
    .execute()
  return rows.map((r) => r.id)
}

export async function countOpenWorkstreams(db: Db): Promise<number> {
  const row = await db
    .selectFrom('workstreams')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('state', '=', OPEN)
    .executeTakeFirst()
  return Number(row?.n ?? 0)
}

/** Raises the epoch: whoever held the workstream has lost it. Undefined where there is no such workstream. */
export async function raiseEpoch(tx: Tx, id: string): Promise<number | undefined> {
  const row = await tx.db
    .updateTable('workstreams')
    .set((e) => ({ epoch: e('epoch', '+', 1) }))
    .where('id', '=', id)
    .returning('epoch')
    .executeTakeFirst()
  return row?.epoch
}

export async function epochOf(db: Db, id: string): Promise<number | undefined> {
  return (await db.selectFrom('workstreams').select('epoch').where('id', '=', id).executeTakeFirst())?.epoch
}

/** Whether the epoch still holds; keeps it so until the transaction ends. */
export async function lockEpoch(tx: Tx, id: string, epoch: number): Promise<boolean> {
  const row = await tx.db
    .updateTable('workstreams')
    .set((e) => ({ epoch: e.ref('epoch') }))
    .where('id', '=', id)
    .where('epoch', '=', epoch)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export async function touchWorkstream(tx: Tx, id: string, now: number): Promise<void> {
  await tx.db.updateTable('workstreams').set({ active_at: now }).where('id', '=', id).execute()
}

/** Its place is ready: answers go to `postTo`, and messages at `address` belong to it. */
export async function markOpened(tx: Tx, id: string, address: string, postTo: Address): Promise<void> {
  await tx.db
    .updateTable('workstreams')
    .set({ address, opening: null, post_to: JSON.stringify(postTo) })
    .where('id', '=', id)
    .execute()
}

/** Undefined: the default. */
export async function setModel(tx: Tx, id: string, alias: string | undefined): Promise<void> {
  await tx.db
    .updateTable('workstreams')
    .set({ model: alias ?? null })
    .where('id', '=', id)
    .execute()
}

export async function markClosed(tx: Tx, id: string): Promise<void> {
  await forgetFiles(tx, id)
  await tx.db.updateTable('workstreams').set({ state: 'closed' }).where('id', '=', id).execute()
}

/** True for the first caller: the hint how to start again is given once. */
export async function claimCloseHint(db: Db, id: string): Promise<boolean> {
  const row = await db
    .updateTable('workstreams')
    .set({ close_told: 1 })
    .where('id', '=', id)
    .where('close_told', '=', 0)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

function toWorkstream(row: Selectable<Tables['workstreams']>): Workstream {
  return {
    id: row.id,
    owner: row.owner,
    platform: row.platform as Platform,
    address: row.address,
    channel: row.channel,
    state: row.state,
    model: row.model ?? undefined,
    opening: row.opening === null ? undefined : (JSON.parse(row.opening) as Opening),
    postTo: row.post_to === null ? undefined : (JSON.parse(row.post_to) as Address),
    title: row.title,
    activeAt: row.active_at,
    closeTold: row.close_told === 1,
  }
}
