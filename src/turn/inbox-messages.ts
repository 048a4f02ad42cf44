import { type Selectable, sql } from 'kysely'
import type { Address, Attachment, MessageRef } from '../channel/channel-adapter.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import { cleanText } from '../store/text.ts'

/** Literals, as the partial indexes spell them. */
const QUEUED = sql.lit('queued' as const)
const TAKEN = sql.lit('taken' as const)
const REACTED = sql.lit(1)

/** Accepted messages: a row is a promise that the thread will show what became of it. */
export interface InboxMessage {
  readonly id: number
  readonly workstream: string
  readonly author: string
  readonly authorName: string
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly ref: MessageRef | undefined
  readonly replyTo: Address
  /** The thread's earlier messages are to be read first. */
  readonly context: boolean
  readonly reacted: boolean
  readonly sentAt: number
}

export interface NewInboxMessage {
  readonly workstream: string
  readonly key: string
  readonly author: string
  readonly authorName: string
  readonly bot: boolean
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly ref?: MessageRef
  readonly replyTo: Address
  readonly context: boolean
  readonly sentAt: number
}

/** False where a message with this key was accepted before. */
export async function acceptMessage(tx: Tx, item: NewInboxMessage, now: number): Promise<boolean> {
  const row = await tx.db
    .insertInto('inbox')
    .values({
      ws_id: item.workstream,
      kind: 'message',
      dedupe_key: item.key,
      author: item.author,
      author_name: cleanText(item.authorName),
      bot: item.bot ? 1 : 0,
      text: cleanText(item.text),
      attachments: JSON.stringify(item.attachments),
      ref: item.ref ? JSON.stringify(item.ref) : null,
      reply_to: JSON.stringify(item.replyTo),
      context: item.context ? 1 : 0,
      state: 'queued',
      turn_id: null,
      reacted: 0,
      sent_at: item.sentAt,
      created_at: now,
    })
    .onConflict((c) => c.column('dedupe_key').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export async function wasAccepted(db: Db | Tx['db'], key: string): Promise<boolean> {
  return (await db.selectFrom('inbox').select('id').where('dedupe_key', '=', key).executeTakeFirst()) !== undefined
}

/** What waits, oldest first. */
export async function queuedMessages(db: Db | Tx['db'], workstream: string): Promise<readonly InboxMessage[]> {
  const rows = await db
    .selectFrom('inbox')
    .selectAll()
    .where('ws_id', '=', workstream)
    .where('state', '=', QUEUED)
    .orderBy('id')
    .execute()
  return rows.map(toMessage)
}

/** Over all workstreams. */
export async function countQueued(db: Db): Promise<number> {
  const row = await db
    .selectFrom('inbox')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('state', '=', QUEUED)
    .executeTakeFirst()
  return Number(row?.n ?? 0)
}

/** They are part of this turn from now on. */
export async function markTaken(tx: Tx, ids: readonly number[], turn: string): Promise<void> {
  if (ids.length === 0) return
  await tx.db.updateTable('inbox').set({ state: 'taken', turn_id: turn }).where('id', 'in', ids).execute()
}

/** The turn is over: what it had taken ends with it. */
export async function finishMessages(tx: Tx, turn: string, state: 'done' | 'failed' | 'stopped'): Promise<void> {
  await tx.db.updateTable('inbox').set({ state }).where('turn_id', '=', turn).where('state', '=', TAKEN).execute()
}

/** /stop and /close: what waits is not answered. The stopped messages. */
export async function stopQueued(tx: Tx, workstream: string): Promise<readonly InboxMessage[]> {
  const rows = await tx.db
    .updateTable('inbox')
    .set({ state: 'stopped' })
    .where('ws_id', '=', workstream)
    .where('state', '=', QUEUED)
    .returningAll()
    .execute()
  return rows.map(toMessage)
}

/** Workstreams with a message that has waited since before `before`, ms since the epoch. */
export async function workstreamsWaitingSince(db: Tx['db'], before: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('inbox')
    .select('ws_id')
    .distinct()
    .where('state', '=', QUEUED)
    .where('created_at', '<', before)
    .execute()
  return rows.map((r) => r.ws_id)
}

/** When the newest message of the workstream was sent, ms since the epoch; 0 where it has none. */
export async function lastSentAt(db: Db, workstream: string): Promise<number> {
  const row = await db
    .selectFrom('inbox')
    .select((e) => e.fn.max('sent_at').as('at'))
    .where('ws_id', '=', workstream)
    .executeTakeFirst()
  return Number(row?.at ?? 0)
}

/** When its first message was sent, ms since the epoch; 0 where it has none. */
export async function firstSentAt(db: Db, workstream: string): Promise<number> {
  const row = await db
    .selectFrom('inbox')
    .select((e) => e.fn.min('sent_at').as('at'))
    .where('ws_id', '=', workstream)
    .executeTakeFirst()
  return Number(row?.at ?? 0)
}

/** The newest messages of these workstreams, newest first. */
export async function newestMessages(
  db: Db,
  workstreams: readonly string[],
  limit: number,
): Promise<readonly { id: number; bot: boolean }[]> {
  const all: { id: number; bot: number }[] = []
  // One by one: over several at once the database would sort all that was ever said there.
  for (const workstream of workstreams) {
    const rows = await db
      .selectFrom('inbox')
      .select(['id', 'bot'])
      .where('ws_id', '=', workstream)
      .orderBy('sent_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
    all.push(...rows)
  }
  const newest = all.sort((a, b) => b.id - a.id).slice(0, limit)
  return newest.map((r) => ({ id: r.id, bot: r.bot === 1 }))
}

/** The waiting message with this key. */
export async function findQueued(db: Db, key: string): Promise<InboxMessage | undefined> {
  const row = await db
    .selectFrom('inbox')
    .selectAll()
    .where('dedupe_key', '=', key)
    .where('state', '=', QUEUED)
    .executeTakeFirst()
  return row && toMessage(row)
}

/** Messages that show 👀 and do not wait. */
export async function staleReactions(db: Db): Promise<readonly InboxMessage[]> {
  const rows = await db
    .selectFrom('inbox')
    .selectAll()
    .where('reacted', '=', REACTED)
    .where('state', '!=', 'queued')
    .limit(100)
    .execute()
  return rows.map(toMessage)
}

/** 👀 is about to be shown. False where the message does not wait any more. */
export async function claimReaction(db: Db, id: number): Promise<boolean> {
  const row = await db
    .updateTable('inbox')
    .set({ reacted: 1 })
    .where('id', '=', id)
    .where('state', '=', QUEUED)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** 👀 was taken off. */
export async function clearReaction(db: Db, id: number): Promise<void> {
  await db.updateTable('inbox').set({ reacted: 0 }).where('id', '=', id).execute()
}

/** Whether the message waits, and whether it shows 👀; undefined for an unknown one. */
export async function reactionState(db: Db, id: number): Promise<{ queued: boolean; reacted: boolean } | undefined> {
  const row = await db.selectFrom('inbox').select(['state', 'reacted']).where('id', '=', id).executeTakeFirst()
  return row && { queued: row.state === 'queued', reacted: row.reacted === 1 }
}

function toMessage(row: Selectable<Tables['inbox']>): InboxMessage {
  return {
    id: row.id,
    workstream: row.ws_id,
    author: row.author,
    authorName: row.author_name,
    text: row.text,
    attachments: JSON.parse(row.attachments) as Attachment[],
    ref: row.ref === null ? undefined : (JSON.parse(row.ref) as MessageRef),
    replyTo: JSON.parse(row.reply_to) as Address,
    context: row.context === 1,
    reacted: row.reacted === 1,
    sentAt: row.sent_at,
  }
}
