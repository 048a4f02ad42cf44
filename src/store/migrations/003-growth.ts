import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { isSqlite } from './dialect.ts'

type Db = Kysely<unknown>

/** Images once, by their hash; the weight of histories; an index for each question about a table that grows. */
export async function up(db: Db): Promise<void> {
  await db.schema
    .createTable('blobs')
    .addColumn('sha256', 'text', (c) => c.primaryKey())
    .addColumn('bytes', isSqlite(db) ? 'blob' : sql`bytea`, (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema
    .alterTable('journal')
    .addColumn('total', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('approvals')
    .addColumn('payloads_dropped', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // Only SQLite databases were ever written by the versions before this one.
  if (isSqlite(db)) await rewriteRows(db)
  await dropIndexes(db)
  await createIndexes(db)
}

async function rewriteRows(db: Db): Promise<void> {
  await moveImages(db)
  // About what the program reckons: four characters a token, 1,500 tokens an image.
  const images = `(length(data) - length(replace(data, '"image-ref"', ''))) / 11`
  await sql
    .raw(
      `update journal set total = w.total from (
         select id, sum(case when kind in ('user', 'context', 'note', 'assistant', 'result')
           then length(data) / 4 + 1 + 1500 * ${images} else 0 end) over (partition by ws_id order by id) as total
         from journal) as w where w.id = journal.id`,
    )
    .execute(db)
  // A text is for finding a post whose answer never came.
  await sql.raw(`update posts set text = '' where ref is not null`).execute(db)
}

interface Part {
  readonly type: string
  readonly mime?: string
  readonly base64?: string
}

/** One row at a time: each may hold many megabytes. */
async function moveImages(db: Db): Promise<void> {
  for (let after = 0; ; ) {
    const { rows } = await sql<{
      id: number
      data: string
      created_at: number
    }>`select id, data, created_at from journal
      where id > ${after} and kind in ('user', 'result') and data like '%"base64":%' order by id limit 1`.execute(db)
    const [row] = rows
    if (!row) return
    after = row.id
    const found: Buffer[] = []
    const data = JSON.stringify(JSON.parse(row.data), (_, value: unknown) => withoutBytes(value as Part, found))
    for (const bytes of found) {
      await sql`insert into blobs (sha256, bytes, created_at) values (${hashOf(bytes)}, ${bytes}, ${row.created_at})
        on conflict (sha256) do nothing`.execute(db)
    }
    await sql`update journal set data = ${data} where id = ${row.id}`.execute(db)
  }
}

function withoutBytes(value: Part | null, found: Buffer[]): unknown {
  if (value?.type !== 'image' || typeof value.base64 !== 'string') return value
  const bytes = Buffer.from(value.base64, 'base64')
  found.push(bytes)
  return { type: 'image-ref', mime: value.mime, sha256: hashOf(bytes), bytes: bytes.length }
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Those whose questions a narrower one answers. */
async function dropIndexes(db: Db): Promise<void> {
  for (const name of [
    'workstreams_owner',
    'inbox_ws_state',
    'turns_ws_state',
    'journal_ws',
    'approvals_ws_state',
    'posts_address',
  ]) {
    await db.schema.dropIndex(name).execute()
  }
}

/** Conditions are literals, and queries must spell them the same: a parameter does not match a partial index. */
async function createIndexes(db: Db): Promise<void> {
  const index = (name: string, table: string, columns: readonly string[], where?: string): Promise<unknown> =>
    sql
      .raw(`create index ${name} on ${table} (${columns.join(', ')})${where === undefined ? '' : ` where ${where}`}`)
      .execute(db)
  await index('workstreams_open_owner', 'workstreams', ['owner', 'platform', 'channel', 'active_at'], `state = 'open'`)
  await index('workstreams_open_platform', 'workstreams', ['platform', 'active_at'], `state = 'open'`)
  await index('workstreams_address', 'workstreams', ['platform', 'address', 'created_at'])
  await index('workstreams_channel', 'workstreams', ['platform', 'channel', 'active_at'])
  await index('inbox_queued', 'inbox', ['ws_id', 'id'], `state = 'queued'`)
  await index('inbox_taken', 'inbox', ['turn_id'], `state = 'taken'`)
  await index('inbox_reacted', 'inbox', ['id'], 'reacted = 1')
  await index('inbox_sent', 'inbox', ['ws_id', 'sent_at', 'id', 'bot'])
  await index('turns_active', 'turns', ['ws_id'], 'ended_at is null')
  await index('journal_turn', 'journal', ['turn_id', 'id', 'total'])
  await index('journal_row', 'journal', ['ws_id', 'id', 'total'])
  await index('journal_total', 'journal', ['ws_id', 'total', 'id', 'turn_id'])
  await index('approvals_open', 'approvals', ['ws_id', 'card_up_to_date'], `state = 'open'`)
  await index('approvals_old_card', 'approvals', ['created_at'], 'card_up_to_date = 0')
  await index('approvals_turn', 'approvals', ['turn_id', 'created_at', 'id'])
  await index('approvals_payloads', 'approvals', ['decided_at'], 'payloads_dropped = 0')
  await index('posts_address', 'posts', ['platform', 'address', 'at'])
  await index('posts_card_in_flight', 'posts', ['platform'], `kind = 'card' and ref is null`)
  await index('jobs_due', 'jobs', ['state', 'run_at', 'id'])
  await index('audit_press', 'audit', ['at'], `action = 'press'`)
  await index('seen_at', 'seen', ['at'])
}
