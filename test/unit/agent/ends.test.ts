import Database from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { LOG } from '../../../src/copy/log.ts'
import { textOf } from '../../../src/model/message.ts'
import { ModelError, type ModelRequest } from '../../../src/model/model-provider.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { type Engine, engine, newFile } from '../../support/engines.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

const databases: Database.Database[] = []

afterEach(() => {
  for (const db of databases.splice(0)) db.close()
})

/** A second connection, as the command line has one. */
function beside(file: string): Database.Database {
  const db = new Database(file)
  databases.push(db)
  return db
}

const alice = { id: 'u-alice', name: 'alice', bot: false }
const command = (e: Engine, name: string, id: string, by = alice, args: Record<string, string> = {}) =>
  e.inbox.command({
    key: `${name}-${id}`,
    platform: 'discord',
    by,
    name,
    args,
    channel: id,
    to: { platform: 'discord', id },
  })
const said = (request: ModelRequest | undefined): string[] =>
  request?.messages.flatMap((m) => (m.role === 'user' ? [textOf(m.content)] : [])) ?? []
const hangs = () =>
  probeTool('hang', {
    run: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  })
const call = (name: string) => ({ calls: [{ name, args: { text: 'a' } }] })
/** Looks while the product's clock goes on. */
const soon = <T>(clock: ManualClock, look: () => T | Promise<T>, ms = 15_000) =>
  until(async () => {
    const found = await look()
    if (!found) await clock.advance(100)
    return found
  }, ms)

describe('a model that is no longer configured', () => {
  it('E5a gives way to the default in a turn that waits for its card, and a line says so', async () => {
    const [file, platform] = [newFile(), new FakePlatform()]
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel('hi', call('act'))
    const first = await startEngine({ model, tools: [act], platform, file })
    await first.inbox.message(message('alice', 'hello', { id: 'a-1' }))
    await until(() => platform.texts('a-1').includes('hi'))
    await command(first, 'model', 'a-1', alice, { name: 'other' })
    await first.inbox.message(message('alice', 'go', { thread: 'a-1' }))
    const card = await until(() => platform.cards('a-1')[0])
    await first.stop()
    const e = await engine({
      model: new ScriptedModel('went on', 'again'),
      tools: [act],
      platform,
      file,
      aliases: ['main'],
    })
    expect((await command(e, 'status', 'a-1')).text).toContain('Model: main')
    expect((await command(e, 'model', 'a-1')).text).toContain('The model is main')
    await e.inbox.decision({ platform: 'discord', approval: card.approval, action: 'approve', by: alice })
    const shown = await until(() => platform.texts('a-1').find((t) => t.includes('went on')))
    expect(shown).toContain('(The model other is no longer available, so main answers.)')
    expect(act.runs).toEqual(['a'])
    await e.inbox.message(message('alice', 'and now', { thread: 'a-1' }))
    await until(() => platform.texts('a-1').some((t) => t.includes('again')))
  })

  it('E5a an error before the turn can go on is counted, and ends it with the reason', async () => {
    const clock = new ManualClock()
    const model = new ScriptedModel('never', 'works again')
    const e = await engine({ model, clock })
    const { canvas } = e.adapter
    let broken = 0
    e.adapter.canvas = (...args) => {
      if (broken++ < 3) throw new Error('no canvas')
      return canvas.apply(e.adapter, args)
    }
    await e.inbox.message(message('alice', 'hello', { id: 'a-2' }))
    const shown = await soon(clock, () => e.platform.texts('a-2')[0])
    expect(shown).toMatch(/^\(I gave up after three attempts\. Something went wrong inside the gateway\. \(turn /)
    expect(model.requests).toHaveLength(0)
    expect(await e.store.db.selectFrom('inbox').select('state').execute()).toEqual([{ state: 'failed' }])
  })
})

describe('a turn that fails before it took its message', () => {
  it('E5b takes it all the same, and the same line is said once a minute', async () => {
    const [file, clock] = [newFile(), new ManualClock()]
    const model = new ScriptedModel('fine again')
    const e = await engine({ model, file, clock })
    // Small rows fit, large ones do not.
    beside(file).exec(
      "create trigger small before insert on blobs when length(new.bytes) > 100000 begin select raise(abort, 'no room'); end",
    )
    const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(300_000)])
    e.platform.files.set('big', bytes)
    const withImage = (m: ReturnType<typeof message>) => ({
      ...m,
      attachments: [{ name: 'a.png', url: 'big', size: bytes.length }],
    })
    await e.inbox.message(withImage(message('alice', 'look', { id: 'b-1' })))
    await until(() => e.platform.texts('b-1').length > 0)
    await e.inbox.message(withImage(message('alice', 'look again', { thread: 'b-1' })))
    const states = () => e.store.db.selectFrom('inbox').select('state').execute()
    await until(async () => (await states()).every((r) => r.state === 'failed'))
    await clock.advance(5000)
    expect(await e.store.db.selectFrom('turns').select('state').execute()).toEqual([
      { state: 'failed' },
      { state: 'failed' },
    ])
    expect(e.platform.texts('b-1')).toEqual([expect.stringContaining("The gateway's database is failing.")])
    await e.inbox.message(message('alice', 'without', { thread: 'b-1' }))
    await until(() => e.platform.texts('b-1').includes('fine again'))
    expect(said(model.requests[0])).toEqual([
      'look',
      expect.stringContaining('This turn failed'),
      'look again',
      expect.stringContaining('This turn failed'),
      'without',
    ])
  })
})

describe('the watch beside a turn', () => {
  it('E5c outlives a query that fails: a later /stop stops', async () => {
    const [file, clock, hang] = [newFile(), new ManualClock(), hangs()]
    const e = await engine({ model: new ScriptedModel(call('hang')), tools: [hang], file, clock })
    await e.inbox.message(message('alice', 'go', { id: 'c-1' }))
    await until(() => hang.runs.length === 1)
    const db = beside(file)
    db.exec('alter table turns rename to hidden')
    await soon(clock, () => e.logLines.some((l) => l.includes(LOG.stopNotWatched)))
    db.exec('alter table hidden rename to turns')
    expect((await command(e, 'stop', 'c-1')).text).toBe('Stopped by alice.')
    await soon(clock, () => e.platform.texts('c-1').some((t) => t.includes('(Stopped.)')), 5000)
  })

  it('E5c ends what runs when another job has taken the workstream, without a word', async () => {
    const clock = new ManualClock()
    let why: unknown
    const hang = probeTool('hang', {
      run: (_args, { signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            why = signal.reason
            reject(signal.reason)
          }),
        ),
    })
    const e = await engine({ model: new ScriptedModel(call('hang')), tools: [hang], clock })
    await e.inbox.message(message('alice', 'go', { id: 'c-2' }))
    await until(() => hang.runs.length === 1)
    await e.store.db
      .updateTable('workstreams')
      .set((r) => ({ epoch: r('epoch', '+', 1) }))
      .execute()
    await soon(clock, () => why, 5000)
    expect(why).toMatchObject({ name: 'ClaimLostError' })
    await until(async () => (await e.store.db.selectFrom('jobs').selectAll().execute()).length === 0)
    expect(e.platform.texts('c-2').join()).not.toMatch(/stopped|failed/i)
    expect(await e.store.db.selectFrom('turns').select('state').execute()).toEqual([{ state: 'running' }])
  })
})

describe('turns that only wait to be shown', () => {
  it('E5f hold up no other conversation', async () => {
    const clock = new ManualClock()
    const model = new ScriptedModel(...Array.from({ length: 8 }, () => 'sick'), 'healthy')
    const e = await engine({ model, clock })
    let down = true
    e.platform.beforeSend = (outgoing) => {
      if (down && outgoing.kind === 'text' && outgoing.text === 'sick') throw new Error('no answer')
    }
    for (let i = 0; i < 8; i++) await e.inbox.message(message('alice', 'hi', { id: `f-${i}` }))
    await until(() => model.requests.length === 8)
    await e.inbox.message(message('bob', 'hi', { id: 'f-healthy' }))
    await soon(clock, () => e.platform.texts('f-healthy').length === 1, 5000)
    down = false
    await soon(clock, () =>
      Array.from({ length: 8 }, (_, i) => e.platform.texts(`f-${i}`)).every((t) => t[0] === 'sick'),
    )
  })
})

describe('a card that cannot be posted', () => {
  it('E5g ends the turn with the true reason', async () => {
    const clock = new ManualClock()
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel(call('act'), 'next')
    const e = await engine({ model, tools: [act], clock })
    e.adapter.filesBefore = () => {
      throw new Error('a bug')
    }
    await e.inbox.message(message('alice', 'go', { id: 'g-1' }))
    const shown = await soon(clock, () => e.platform.texts('g-1').find((t) => t.includes('gave up')))
    expect(shown).toContain('I gave up after three attempts. The approval card could not be posted.')
    expect(act.runs).toEqual([])
    await e.inbox.message(message('alice', 'and now', { thread: 'g-1' }))
    await soon(clock, () => model.requests.length === 2)
    expect(said(model.requests[1])).toEqual([
      'go',
      '[This turn failed: I gave up after three attempts. The approval card could not be posted. What was asked above was not finished. Do not take it up again unless somebody asks for it.]',
      'and now',
    ])
  })
})

describe('what the model reads after a turn without an end of its own', () => {
  it('S7 says who stopped it', async () => {
    const model = new ScriptedModel(async function* (_request, signal) {
      yield { type: 'text', text: 'half an answer to it' }
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }, 'next')
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'delete everything', { id: 's-1' }))
    await until(() => model.requests.length === 1)
    await command(e, 'stop', 's-1', { id: 'u-root', name: 'root', bot: false })
    await until(() => e.platform.texts('s-1').some((t) => t.includes('(Stopped.)')))
    await e.inbox.message(message('alice', 'what time is it', { thread: 's-1' }))
    await until(() => model.requests.length === 2)
    const [, ...rest] = model.requests[1]?.messages ?? []
    expect(rest.map((m) => (m.role === 'user' ? textOf(m.content) : m.role === 'assistant' ? m.text : ''))).toEqual([
      'delete everything',
      'half an answer to it',
      '[root stopped this turn. What was asked above was not finished. Do not take it up again unless somebody asks for it.]',
      'what time is it',
    ])
  })

  it('S7 says that it failed and why, also after a part of an answer', async () => {
    const model = new ScriptedModel(async function* () {
      yield { type: 'text', text: 'half an ans' }
      throw new ModelError('auth', 'The key hunter2-secret was refused.')
    }, 'next')
    const e = await engine({ model, secrets: ['hunter2-secret'] })
    await e.inbox.message(message('alice', 'go', { id: 's-2' }))
    await until(() => e.platform.texts('s-2').some((t) => t.includes('refused')))
    await e.inbox.message(message('alice', 'next', { thread: 's-2' }))
    await until(() => model.requests.length === 2)
    expect(said(model.requests[1])).toEqual([
      'go',
      '[This turn failed: The key [redacted] was refused. What was asked above was not finished. Do not take it up again unless somebody asks for it.]',
      'next',
    ])
  })
})

describe('what merely helps', () => {
  it('S8 earlier messages that do not come in 3 s are done without, and a line says so', async () => {
    const clock = new ManualClock()
    const e = await engine({ model: new ScriptedModel('answer'), clock })
    e.adapter.fetchMessages = () => new Promise(() => undefined)
    const m = message('alice', 'what do you think', { thread: 's-8' })
    const to = m.location.to
    await e.inbox.message({ ...m, addressed: 'mention', location: { kind: 'conversation', to, startedByPeople: true } })
    const begun = clock.now()
    const shown = await soon(clock, () => e.platform.texts('s-8')[0], 5000)
    expect(clock.now() - begun).toBeLessThan(3500)
    expect(shown).toBe('(I could not read the earlier messages of this thread, so I answer without them.)\nanswer')
  })
})
