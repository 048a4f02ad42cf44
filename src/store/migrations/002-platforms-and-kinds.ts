import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import { isSqlite } from './dialect.ts'

type Db = Kysely<unknown>

/** Platform and channel by their names, kinds of messages and of requests to a person, turns with a parent. */
export async function up(db: Db): Promise<void> {
  const rename = (table: string, from: string, to: string) =>
    db.schema.alterTable(table).renameColumn(from, to).execute()
  const add = (
    table: string,
    column: string,
    type: 'text' | 'integer',
    build: (c: ColumnDefinitionBuilder) => ColumnDefinitionBuilder = (c) => c,
  ) => db.schema.alterTable(table).addColumn(column, type, build).execute()

  for (const table of ['links', 'workstreams', 'posts']) await rename(table, 'channel', 'platform')
  await rename('workstreams', 'room', 'channel')
  await rename('inbox', 'marked', 'reacted')
  await rename('approvals', 'painted', 'card_up_to_date')
  await rename('posts', 'mark', 'file_id')
  await rename('usage', 'cached', 'cache_read')
  await add('usage', 'cache_write', 'integer', (c) => c.notNull().defaultTo(0))
  await add('turns', 'parent_id', 'text')
  await add('inbox', 'kind', 'text', (c) => c.notNull().defaultTo('message'))
  await add('approvals', 'kind', 'text', (c) => c.notNull().defaultTo('calls'))
  await add('posts', 'scope', 'text', (c) => c.notNull().defaultTo(''))
  await db.schema.createIndex('posts_scope').on('posts').column('scope').execute()
  // Only SQLite databases were ever written by the version before this one.
  if (isSqlite(db)) await rewriteRows(db)
}

async function rewriteRows(db: Db): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const address = (column: string): string =>
    `json_remove(json_set(${column}, '$.platform', json_extract(${column}, '$.channel')), '$.channel')`
  const ref = (column: string): string =>
    `json_object('platform', json_extract(${column}, '$.channel'), 'channel', json_extract(${column}, '$.room'), 'id', json_extract(${column}, '$.id'))`
  await run(`update workstreams set post_to = ${address('post_to')} where post_to is not null`)
  await run(
    `update workstreams set opening = json_remove(json_set(opening, '$.channel', json_extract(opening, '$.room')), '$.room') where opening is not null`,
  )
  await run(`update turns set post_to = ${address('post_to')}`)
  await run(`update inbox set reply_to = ${address('reply_to')}`)
  await run(`update inbox set ref = ${ref('ref')} where ref is not null`)
  await run(`update posts set ref = ${ref('ref')} where ref is not null`)
  await run(`update approvals set state = 'rejected' where state = 'denied'`)
  // Keys of posts: <turn>/<section>/<part>, approval:<id>…, ask:<workstream>.
  await run(
    `update posts set scope = case when key like 'approval:%' or key like 'ask:%'
       then substr(key, instr(key, ':') + 1, 16) else substr(key, 1, max(0, instr(key, '/') - 1)) end`,
  )
  await run(`update jobs set key = 'turn:' || key where key not like '%:%'`)
}
