import { existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { findApproval, openApprovals } from '../../../src/approval/approvals.ts'
import { prune } from '../../../src/gateway/operations/prune.ts'
import { sweepFiles } from '../../../src/gateway/operations/sweep-files.ts'
import { type Clock, systemClock } from '../../../src/util/time.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

const DAY = 86_400_000
const never = new AbortController().signal
/** What the clock is ahead of the system's, ms. */
let ahead = 0
const clock: Clock = { now: () => systemClock.now() + ahead, after: systemClock.after }
let e: Awaited<ReturnType<typeof startEngine>>
afterEach(async () => {
  ahead = 0
  await e?.stop().catch(() => undefined)
})

const asking = { calls: [{ name: 'act', args: { text: 'rm -r build' } }] }
const by = (name: string) => ({ id: `u-${name}`, name, bot: false })

async function withCard(): Promise<string> {
  const model = new ScriptedModel(asking, 'done')
  const tools = [probeTool('act', { asks: true })]
  const config = (c: Parameters<NonNullable<Parameters<typeof startEngine>[0]['config']>>[0]) => ({
    ...c,
    approvals: { ...c.approvals, timeout: DAY },
  })
  e = await startEngine({ model, tools, clock, config })
  await e.inbox.message(message('alice', 'act', { id: 'c1' }))
  const ws = await until(() => e.store.db.selectFrom('workstreams').select('id').executeTakeFirst())
  const card = await until(async () => (await openApprovals(e.store.db, ws.id)).find((a) => a.cardUpToDate))
  return card.id
}

const press = (approval: string, name: string, action: 'approve' | 'reject' = 'approve') =>
  e.inbox.decision({ platform: 'discord', approval, action, by: by(name) })
const audited = async (action: 'press' | 'decision') =>
  (await e.store.db.selectFrom('audit').select('actor').where('action', '=', action).execute()).map((r) => r.actor)
const jobs = async () => (await e.store.db.selectFrom('jobs').select('key').execute()).map((j) => j.key)

describe('E4: what has served its time is forgotten', () => {
  it('E4 the expiry job of a card goes with the decision', async () => {
    const id = await withCard()
    expect(await jobs()).toContain(`expire:${id}`)
    await press(id, 'alice')
    expect(await jobs()).not.toContain(`expire:${id}`)
    await until(() => e.counts.includes('turns_done'))
  })

  it('E4 the expiry job goes with /stop too', async () => {
    const id = await withCard()
    const to = { platform: 'discord' as const, id: 'c1' }
    await e.inbox.command({
      key: 's',
      platform: 'discord',
      by: by('alice'),
      channel: 'chan',
      to,
      name: 'stop',
      args: {},
    })
    expect(await jobs()).not.toContain(`expire:${id}`)
  })

  it('E4 what a decided card showed goes after a week, its header and hash stay', async () => {
    const id = await withCard()
    await press(id, 'alice')
    await until(() => e.counts.includes('turns_done'))
    e.redraws.soon()
    await until(async () => (await findApproval(e.store.db, id))?.cardUpToDate)
    ahead = 6 * DAY
    await prune(e, never)
    expect((await findApproval(e.store.db, id))?.calls[0]?.payload.text).toBe('rm -r build')
    ahead = 8 * DAY
    await prune(e, never)
    const [call] = (await findApproval(e.store.db, id))?.calls ?? []
    expect(call).toMatchObject({ header: 'act rm -r build', payload: { text: '', bytes: 11 } })
    expect(call?.payload.sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  it('E4 an open card keeps what it shows, however old it is', async () => {
    const id = await withCard()
    ahead = 300 * DAY
    await prune(e, never)
    expect((await findApproval(e.store.db, id))?.calls[0]?.payload.text).toBe('rm -r build')
  })

  it('E4 a stranger’s presses on one card are one row a day, and go after 90 days; decisions stay', async () => {
    const id = await withCard()
    for (let i = 0; i < 50; i++) await press(id, 'nobody')
    expect(await audited('press')).toEqual(['discord:u-nobody'])
    await press(id, 'alice')
    expect(await audited('press')).toEqual(['discord:u-nobody', 'alice'])
    ahead = 89 * DAY
    await prune(e, never)
    expect(await audited('press')).toHaveLength(2)
    ahead = 91 * DAY
    await prune(e, never)
    expect(await audited('press')).toEqual([])
    expect(await audited('decision')).toEqual(['alice'])
  })

  it('E4 the text of a post goes when its message is known', async () => {
    const id = await withCard()
    await press(id, 'alice')
    await until(() => e.counts.includes('turns_done'))
    const posts = await e.store.db.selectFrom('posts').select(['ref', 'text']).execute()
    expect(posts.length).toBeGreaterThan(1)
    expect(posts.every((p) => p.ref !== null && p.text === '')).toBe(true)
  })

  it('E4 more than fits one piece goes in one look', async () => {
    e = await startEngine({ model: new ScriptedModel(), clock })
    const rows = Array.from({ length: 1500 }, (_, i) => ({ key: `k${i}`, at: 1 }))
    await e.store.db.insertInto('seen').values(rows).execute()
    await prune(e, never)
    expect(await e.store.db.selectFrom('seen').select('key').execute()).toEqual([])
  })
})

describe('E4: files that a crash left', () => {
  const outer = process.env.TMPDIR
  afterEach(() => {
    if (outer === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = outer
  })

  it('E4 are removed when they are old: scripts’ folders and half-written files, nothing else', async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'sweep-')))
    const [tmp, root] = [join(base, 'tmp'), join(base, 'workspace')]
    for (const folder of [tmp, root, join(root, 'a'), join(root, 'a/b')]) mkdirSync(folder)
    process.env.TMPDIR = tmp
    const aged = (path: string, hours = 2): string => {
      const at = new Date(systemClock.now() - hours * 3_600_000)
      utimesSync(path, at, at)
      return path
    }
    const folder = (name: string, hours?: number): string => {
      mkdirSync(join(tmp, name))
      writeFileSync(join(tmp, name, 'script.sh'), 'x')
      return aged(join(tmp, name), hours)
    }
    const file = (path: string, hours?: number): string => {
      writeFileSync(path, 'x')
      return aged(path, hours)
    }
    mkdirSync(join(base, 'elsewhere'))
    symlinkSync(join(base, 'elsewhere'), join(root, 'link'))
    const gone = [folder('turnstone-aB3dE6'), file(join(root, 'a/b/.0123456789abcdef.tmp'))]
    const kept = [
      folder('turnstone-young1', 0.5),
      folder('turnstone-of-somebody'),
      file(join(root, '.0123456789abcdee.tmp'), 0.5),
      file(join(root, 'a/notes.tmp')),
      file(join(root, 'a/.env.tmp')),
      file(join(base, 'elsewhere/.0123456789abcdef.tmp')),
    ]
    expect(await sweepFiles(root, systemClock, never)).toBe(2)
    expect(gone.filter((path) => existsSync(path))).toEqual([])
    expect(kept.filter((path) => !existsSync(path))).toEqual([])
  })
})
