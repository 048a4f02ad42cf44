import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findApproval, openApprovals } from '../../../src/approval/approvals.ts'
import { healthOf } from '../../../src/gateway/operations/health.ts'
import { startReconciler } from '../../../src/gateway/operations/reconciler.ts'
import { countQueued } from '../../../src/turn/inbox-messages.ts'
import { countOpenWorkstreams, findOpenWorkstream } from '../../../src/workstream/workstreams.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { fillDatabase, fillTurns } from '../../support/fill.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'
import { watchStatements } from '../../support/statements.ts'

/** Tables that only grow, or nearly so. */
const GROWING = [
  'approvals',
  'audit',
  'blobs',
  'files_read',
  'grants',
  'inbox',
  'jobs',
  'journal',
  'posts',
  'seen',
  'turns',
  'usage',
  'workstreams',
]
/** Indexes that hold only what is under way at the moment: to read one whole is not to read the past. */
const UNDER_WAY = ['inbox_queued', 'inbox_reacted', 'turns_active', 'approvals_open', 'approvals_old_card']
/** Counted over an index of open conversations, which is what the figure says. */
const COUNTS = ['workstreams_open_address', 'workstreams_open_owner', 'workstreams_open_platform']

/** What does not grow with what is said. */
const SMALL = new Set(['CONSTANT', 'api_tokens', 'links', 'schema_version', 'sqlite_master', 'users'])

const file = join(mkdtempSync(join(tmpdir(), 'plans-')), 'plans.db')
const sources = new Set<string>()

/** What SQLite would do for it, a line for each step that reads a table from its beginning to its end, or sorts. */
function faults(handle: Database.Database, source: string): readonly string[] {
  const values = Array.from({ length: source.split('?').length - 1 }, () => null)
  const steps = handle.prepare(`explain query plan ${source}`).all(...values) as { detail: string }[]
  return steps
    .map((s) => s.detail)
    .filter((detail) => {
      const [, index] = /^SCAN \w+ USING (?:COVERING )?INDEX (\w+)/.exec(detail) ?? []
      if (index !== undefined && UNDER_WAY.includes(index)) return false
      if (index !== undefined && COUNTS.includes(index)) return !source.includes('count(*)')
      // Open cards of one conversation are few.
      if (detail.startsWith('USE TEMP B-TREE')) return !source.includes(`"state" = 'open'`)
      const [, table] = /^SCAN (\w+)/.exec(detail) ?? []
      return table !== undefined && !SMALL.has(table)
    })
}

/** Conditions that only what is under way fulfils; such a question must not go through all of a conversation. */
const NARROW = /"state" = '(?:queued|taken)'|"card_up_to_date" = 0|"reacted" = 1|"ended_at" is null|'card'/
const NARROW_PLAN =
  /INDEX (?:inbox_queued|inbox_taken|inbox_reacted|turns_active|approvals_old_card|posts_card_in_flight|sqlite_autoindex\w+)|PRIMARY KEY/

function wide(handle: Database.Database, source: string): boolean {
  if (!NARROW.test(source)) return false
  const values = Array.from({ length: source.split('?').length - 1 }, () => null)
  const steps = handle.prepare(`explain query plan ${source}`).all(...values) as { detail: string }[]
  return !steps.some((s) => NARROW_PLAN.test(s.detail))
}

const plansOf = (handle: Database.Database): string[] =>
  [...sources].flatMap((source) => faults(handle, source).map((fault) => `${fault}: ${source}`))

beforeAll(async () => {
  const first = await startEngine({ model: new ScriptedModel('hi'), file })
  await first.inbox.message(message('alice', 'hello', { id: 'c1' }))
  await until(() => first.counts.includes('turns_done'))
  const here = await findOpenWorkstream(first.store.db, 'discord', 'c1')
  // More than fits the model's window.
  await fillTurns(first.store, here?.id ?? '', 300, 400)
  await fillDatabase(first.store, 2000)
  await first.stop(5000)
  const watch = watchStatements()
  await liveThrough()
  watch.stop()
  for (const source of watch.sources)
    if (/^\s*(?:select|insert|update|delete|with)\b/i.test(source)) sources.add(source)
}, 120_000)

/** Everything that the engine does: a start, turns, decisions, commands, a look of the reconciler, pruning, health. */
async function liveThrough(): Promise<void> {
  const platform = new FakePlatform()
  platform.files.set('u1', Buffer.from('\u0089PNG\r\n\u001a\nxx', 'latin1'))
  const call = (name: string) => ({ calls: [{ name, args: { text: 'x' } }] })
  const model = new ScriptedModel(
    call('look'),
    'seen',
    call('act'),
    'acted',
    call('act'),
    'not acted',
    call('act'),
    'acted',
    call('act'),
    'expired',
  )
  const look = probeTool('look')
  const act = probeTool('act', { asks: true })
  const timeout = (c: { approvals: { timeout: number } }) => ({
    ...c,
    approvals: { ...c.approvals, timeout: 3_600_000 },
  })
  const config = timeout as never
  const e = await startEngine({ model, file, platform, tools: [look, act], config })
  const turns = (): number => e.counts.filter((c) => c.startsWith('turns_')).length
  const ended = (n: number): Promise<unknown> => until(() => turns() >= n)
  const open = () => until(async () => (await openApprovals(e.store.db, await workstream()))[0])
  const workstream = async (): Promise<string> => (await findOpenWorkstream(e.store.db, 'discord', 'c1'))?.id ?? ''
  const by = { id: 'u-alice', name: 'alice', bot: false }
  const press = async (action: 'approve' | 'always' | 'reject'): Promise<unknown> =>
    e.inbox.decision({ platform: 'discord', approval: (await open()).id, action, by, note: 'well' })
  const command = (name: string, args: Record<string, string> = {}): Promise<unknown> =>
    e.inbox.command({
      key: `${name}${Math.random()}`,
      platform: 'discord',
      by,
      channel: 'chan',
      to: { platform: 'discord', id: 'c1' },
      name,
      args,
    })

  const attachments = [{ name: 'p.png', size: 10, url: 'u1' }]
  await e.inbox.message({ ...message('alice', 'look at this', { thread: 'c1' }), attachments })
  await ended(1)
  for (const [i, action] of (['approve', 'reject', 'always'] as const).entries()) {
    await e.inbox.message(message('alice', `act ${i}`, { thread: 'c1' }))
    await open()
    await e.inbox.decision({ platform: 'discord', approval: (await open()).id, action, by: { ...by, id: 'u-nobody' } })
    const card = await until(() => platform.posts.find((p) => p.outgoing.kind === 'card' && !p.deleted))
    if (i === 0) await e.inbox.deleted({ platform: 'discord', channel: 'c1', id: card.id })
    await press(action)
    await ended(2 + i)
  }
  await e.inbox.message({ ...message('alice', 'from a bot', { thread: 'c1' }), author: { ...by, bot: true } })
  await ended(5)
  await e.inbox.message(message('stranger', 'hi', { id: 'c9' }))
  await e.inbox.message(message('alice', 'y', { thread: 'c1' }))
  await ended(6)
  await e.inbox.missedConversations('discord')
  for (const name of ['status', 'usage', 'approvals', 'help', 'model', 'stop']) await command(name)
  await command('approvals', { revoke: 'act' })
  await e.inbox.command({ key: 'k', platform: 'discord', by, channel: 'chan', name: 'status', args: {} })
  await e.inbox.message({ ...message('alice', 'a bot begins', { id: 'c2' }), author: { ...by, bot: true } })
  await command('link', { token: `ts_${'0'.repeat(64)}` })
  await command('ask', { prompt: 'and this?' })
  await command('close')
  await e.inbox.message(message('alice', 'are you there?', { thread: 'c1' }))
  await healthOf({ store: e.store, adapters: [e.adapter], remarks: [] })
  await countOpenWorkstreams(e.store.db)
  await countQueued(e.store.db)
  await e.store.db.insertInto('seen').values({ key: 'of long ago', at: 1 }).execute()
  const stopping = new AbortController()
  const stopReconciler = startReconciler(e, stopping.signal)
  const left = () => e.store.db.selectFrom('seen').select('key').where('key', '=', 'of long ago').executeTakeFirst()
  await until(async () => (await left()) === undefined)
  const lastPruned = () => findApproval(e.store.db, 'old-1999')
  await until(async () => (await lastPruned())?.calls[0]?.payload.text === '')
  stopping.abort()
  stopReconciler()
  await e.stop(5000)
}

describe('E4 G2: on a filled database', () => {
  let handle: Database.Database
  beforeAll(() => {
    handle = new Database(file)
  })
  afterAll(() => void handle.close())

  it('E4 G2 no statement of a start, a turn, a decision, the reconciler, pruning or /health reads a growing table whole', () => {
    expect(plansOf(handle)).toEqual([])
  })

  it('E4 G2 what is under way is found without going through all of a conversation', () => {
    expect([...sources].filter((source) => NARROW.test(source)).length).toBeGreaterThan(7)
    expect([...sources].filter((source) => wide(handle, source))).toEqual([])
  })

  it('E4 G2 has really looked at what the product asks', () => {
    expect(sources.size).toBeGreaterThan(70)
    const text = [...sources].join('\n')
    expect(text).toContain('order by "total" desc')
    for (const table of GROWING) expect(text, table).toContain(`"${table}"`)
    for (const table of GROWING.filter((t) => !['files_read', 'grants', 'jobs', 'blobs'].includes(t))) {
      const { n } = handle.prepare(`select count(*) as n from ${table}`).get() as { n: number }
      expect(n, table).toBeGreaterThan(500)
    }
  })

  it.each([
    ['inbox_taken', 'inbox'],
    ['journal_turn', 'journal'],
    ['approvals_turn', 'approvals'],
    ['posts_scope', 'posts'],
    ['seen_at', 'seen'],
    ['audit_press', 'audit'],
  ])('E4 G2 sees it where the index %s is missing', (index, table) => {
    handle.exec('begin')
    handle.exec(`drop index ${index}`)
    const seen = plansOf(handle)
    handle.exec('rollback')
    expect(seen.join('\n')).toContain(`SCAN ${table}`)
  })
})
