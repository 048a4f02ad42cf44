import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { afterEach, expect, it } from 'vitest'
import { openApprovals } from '../../../src/approval/approvals.ts'
import { createPostLog } from '../../../src/channel/post-log.ts'
import { readBlob } from '../../../src/store/blobs.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { queuedMessages } from '../../../src/turn/inbox-messages.ts'
import { readTurn, totalWeight } from '../../../src/turn/journal.ts'
import { activeTurn } from '../../../src/turn/turns.ts'
import { systemClock } from '../../../src/util/time.ts'
import { findOpenWorkstream, findWorkstream } from '../../../src/workstream/workstreams.ts'

let store: Store | undefined
afterEach(async () => {
  await store?.close()
  store = undefined
})

/** A file as the first schema wrote it: a parked turn with its card, and a message that waits. */
async function firstSchema(): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'turnstone-old-')), 'old.db')
  const handle = new Database(file)
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: handle }) })
  await migrations[0]?.up(db)
  const insert = (table: string, row: Record<string, string | number | null>): void => {
    const columns = Object.keys(row)
    const sql = `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
    handle.prepare(sql).run(...Object.values(row))
  }
  handle.exec('create table schema_version (version integer not null); insert into schema_version values (1)')
  const address = JSON.stringify({ channel: 'slack', id: 'C1:1.5' })
  const ws = { owner: 'alice', channel: 'slack', state: 'open', title: 'hi', created_at: 1, active_at: 1 }
  insert('workstreams', { id: 'w1', ...ws, address: 'C1:1.5', room: 'C1', post_to: address })
  const opening = JSON.stringify({ kind: 'thread', room: 'C2', message: '2.5' })
  insert('workstreams', { id: 'w2', ...ws, address: 'C2:2.5', room: 'C2', opening })
  insert('turns', { id: 't1', ws_id: 'w1', state: 'parked', model: 'main', post_to: address, created_at: 1 })
  const approval = { ws_id: 'w1', turn_id: 't1', calls: '[]', created_at: 1 }
  insert('approvals', { id: 'aaaaaaaaaaaaaaaa', state: 'open', painted: 1, ...approval })
  insert('approvals', { id: 'bbbbbbbbbbbbbbbb', state: 'denied', painted: 1, decided_by: 'alice', ...approval })
  const ref = JSON.stringify({ channel: 'slack', room: 'C1', id: '3.5' })
  const post = { channel: 'slack', address: 'C1:1.5', text: '', ref, ref_id: '3.5', at: 1 }
  insert('posts', { key: 'approval:aaaaaaaaaaaaaaaa', kind: 'card', ...post })
  insert('posts', { key: 't1/0/0', kind: 'text', ...post, ref: null, ref_id: null, mark: 'F1' })
  const message = { dedupe_key: 'k', author: 'alice', author_name: 'Alice', text: 'and then?', attachments: '[]' }
  const rest = { ref, reply_to: address, state: 'queued', marked: 1, sent_at: 5, created_at: 5 }
  insert('inbox', { ws_id: 'w1', ...message, ...rest })
  insert('jobs', { key: 'w1', state: 'queued', run_at: 0 })
  insert('jobs', { key: 'archive:w2', state: 'queued', run_at: 0 })
  insert('usage', { at: 1, user_name: 'alice', ws_id: 'w1', model: 'main', input: 7, cached: 3, output: 2 })
  const image = { type: 'image', mime: 'image/png', base64: Buffer.from('an image').toString('base64') }
  const row = { ws_id: 'w1', turn_id: 't1', created_at: 1 }
  const items = [{ inbox: 1, author: 'alice', content: [{ type: 'text', text: 'x'.repeat(400) }, image] }]
  insert('journal', { ...row, kind: 'user', data: JSON.stringify({ items }) })
  insert('journal', { ...row, kind: 'started', data: JSON.stringify({ callId: 'c', tool: 'read_file', header: 'p' }) })
  const result = { callId: 'c', tool: 'read_file', header: 'p', state: 'done', content: [image], isError: false }
  insert('journal', { ...row, kind: 'result', data: JSON.stringify(result) })
  insert('journal', { ...row, ws_id: 'w2', turn_id: 't2', kind: 'assistant', data: '{"text":"hi","calls":[]}' })
  insert('links', { channel: 'slack', external_id: 'U1', user_name: 'alice', created_at: 1 })
  await db.destroy()
  return file
}

it('brings a database of the first schema over, an open card and a waiting message included', async () => {
  store = await openStore(await firstSchema())
  const { db } = store
  const to = { platform: 'slack', id: 'C1:1.5' }
  const ref = { platform: 'slack', channel: 'C1', id: '3.5' }
  expect(await findOpenWorkstream(db, 'slack', 'C1:1.5')).toMatchObject({ id: 'w1', channel: 'C1', postTo: to })
  const opening = { kind: 'thread', channel: 'C2', message: '2.5' }
  expect((await findWorkstream(db, 'w2'))?.opening).toEqual(opening)
  expect(await activeTurn(db, 'w1')).toMatchObject({ id: 't1', state: 'parked', postTo: to, parent: undefined })
  expect(await openApprovals(db, 'w1')).toMatchObject([{ id: 'aaaaaaaaaaaaaaaa', cardUpToDate: true }])
  const states = await db.selectFrom('approvals').select(['state', 'kind']).orderBy('id').execute()
  expect(states).toEqual([
    { state: 'open', kind: 'calls' },
    { state: 'rejected', kind: 'calls' },
  ])
  expect(await queuedMessages(db, 'w1')).toMatchObject([{ text: 'and then?', ref, replyTo: to, reacted: true }])
  const posts = createPostLog(store, systemClock)
  expect([...(await posts.known('aaaaaaaaaaaaaaaa'))]).toEqual([['approval:aaaaaaaaaaaaaaaa', ref]])
  expect(await posts.pending('t1')).toMatchObject([{ key: 't1/0/0', fileId: 'F1' }])
  const jobs = await db.selectFrom('jobs').select('key').orderBy('id').execute()
  expect(jobs.map((j) => j.key)).toEqual(['turn:w1', 'archive:w2'])
  const used = await db.selectFrom('usage').select(['cache_read', 'cache_write']).executeTakeFirst()
  expect(used).toEqual({ cache_read: 3, cache_write: 0 })
})

it('E3b moves the images of old rows out of them, each once, and weighs the rows', async () => {
  store = await openStore(await firstSchema())
  const rows = await readTurn(store.db, 't1')
  const sha256 = createHash('sha256').update('an image').digest('hex')
  const ref = { type: 'image-ref', mime: 'image/png', sha256, bytes: 8 }
  expect(rows).toMatchObject([{ items: [{ content: [{ type: 'text' }, ref] }] }, {}, { content: [ref] }])
  expect(Buffer.from((await readBlob(store.db, sha256)) ?? []).toString()).toBe('an image')
  expect(await store.db.selectFrom('blobs').select('sha256').execute()).toHaveLength(1)
  const [user, started, result] = rows.map((r) => r.total)
  expect(user).toBeGreaterThan(1600)
  expect(user).toBeLessThan(1700)
  expect(started).toBe(user)
  expect(result).toBeGreaterThan(3100)
  expect((await readTurn(store.db, 't2'))[0]?.total).toBeLessThan(20)
  expect(await store.db.selectFrom('schema_version').select('version').execute()).toEqual([{ version: 3 }])
})

it('brings over a file that 0.1.0 wrote', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'turnstone-old-')), 'old.db')
  const handle = new Database(file)
  handle.exec(readFileSync(join(import.meta.dirname, '../../fixtures/turnstone-0.1.0.sql'), 'utf8'))
  handle.close()
  store = await openStore(file)
  const { db } = store
  const [discord] = await openApprovals(db, 'e6788dee5fd907e4')
  expect(discord).toMatchObject({ id: '1803e4704bb33a94', turn: '7dcc89c6576a95b2', cardUpToDate: true })
  expect((await openApprovals(db, '19f2fdbed20d31b7')).map((a) => a.id)).toEqual(['41e4861ad11f6804'])
  const waiting = await queuedMessages(db, 'e6788dee5fd907e4')
  expect(waiting.map((m) => [m.text, m.ref?.platform])).toEqual([['and tell me how long it took', 'discord']])
  expect(await activeTurn(db, '19f2fdbed20d31b7')).toMatchObject({ state: 'parked', postTo: { platform: 'slack' } })
  const posts = createPostLog(store, systemClock)
  const [card] = [...(await posts.known('1803e4704bb33a94')).values()]
  expect(card).toMatchObject({ platform: 'discord', id: '1577652170067542016' })
  const rejected = await db.selectFrom('approvals').select('id').where('state', '=', 'rejected').execute()
  expect(rejected).toHaveLength(2)
  const texts = await db.selectFrom('posts').select('text').where('ref', 'is not', null).execute()
  expect(new Set(texts.map((t) => t.text))).toEqual(new Set(['']))
  const last = await db.selectFrom('journal').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirstOrThrow()
  expect(await totalWeight(db, last.ws_id)).toBe(last.total)
  expect(last.total).toBeGreaterThan(0)
})
