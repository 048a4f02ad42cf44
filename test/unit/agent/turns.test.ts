import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApprovals } from '../../../src/approval/approvals.ts'
import { createPostLog } from '../../../src/channel/post-log.ts'
import { PostRefusedError } from '../../../src/channel/post-once.ts'
import { textOf } from '../../../src/model/message.ts'
import { ModelError } from '../../../src/model/model-provider.ts'
import { success } from '../../../src/tool/run-plan.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { type Engine, engine } from '../../support/engines.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

const press = (e: Engine, approval: string, action: 'approve' | 'always' | 'reject', by = 'alice', note?: string) =>
  e.inbox.decision({
    platform: 'discord',
    approval,
    action,
    by: { id: `u-${by}`, name: by, bot: false },
    ...(note === undefined ? {} : { note }),
  })

/** The card of a conversation, once the gateway knows that it was posted. */
async function cardShown(e: Engine, id: string) {
  const card = await cardIn(e, id)
  const posts = createPostLog(e.store, e.clock)
  await until(async () => (await posts.known(card.approval)).size > 0)
  return card
}

async function onlyWorkstream(e: Engine) {
  return e.store.db.selectFrom('workstreams').select('id').executeTakeFirstOrThrow()
}

const cardIn = (e: Engine, id: string) => until(() => e.platform.cards(id).find((c) => c.state.kind === 'open'))

describe('a turn', () => {
  it('answers a mention in the thread made from it, once, however often it is delivered', async () => {
    const model = new ScriptedModel('hello')
    const e = await engine({ model })
    const m = message('alice', 'hi', { id: 'm-one' })
    await Promise.all([e.inbox.message(m), e.inbox.message(m), e.inbox.message(m)])
    await until(() => e.platform.texts('m-one').length === 1)
    await e.inbox.message(m)
    expect(e.platform.texts('m-one')).toEqual(['hello'])
    expect(model.requests).toHaveLength(1)
    expect(e.platform.opened).toEqual([{ channel: 'chan', message: 'm-one' }])
  })

  it('keeps one conversation: the second message sees the first', async () => {
    const model = new ScriptedModel('one', 'two')
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'first', { id: 'm-two' }))
    await until(() => e.platform.texts('m-two').length === 1)
    await e.inbox.message(message('alice', 'second', { thread: 'm-two' }))
    await until(() => e.platform.texts('m-two').length === 2)
    const said = model.requests[1]?.messages.map((m) => (m.role === 'user' ? textOf(m.content) : m.role))
    expect(said).toEqual(['system', 'first', 'assistant', 'second'])
  })

  it('drops people who are not linked or not heard, and tells a mention by a stranger once', async () => {
    const model = new ScriptedModel()
    const e = await engine({ model })
    await e.inbox.message(message('stranger', 'hi'))
    await e.inbox.message(message('stranger', 'hi again'))
    await e.inbox.message(message('alice', 'mine', { id: 'm-three' }))
    await until(() => e.platform.texts('m-three').length === 1)
    await e.inbox.message(message('bob', 'let me in', { thread: 'm-three' }))
    const hints = e.platform.posts.filter((p) => p.outgoing.kind === 'text' && p.outgoing.text.includes('link'))
    expect(hints).toHaveLength(1)
    expect(model.requests).toHaveLength(1)
  })

  it('runs what does not ask and shows each call as a line', async () => {
    const look = probeTool('look')
    const model = new ScriptedModel({ text: 'looking', calls: [{ name: 'look', args: { text: 'a' } }] }, 'seen')
    const e = await engine({ model, tools: [look] })
    await e.inbox.message(message('alice', 'go', { id: 'm-four' }))
    const shown = await until(() => e.platform.texts('m-four').find((t) => t.includes('seen')))
    expect(shown).toBe('looking\n[done] look a\nseen')
    const last = model.requests[1]?.messages.at(-1)
    expect(last?.role === 'tool' && textOf(last.content)).toBe('look ran a')
  })
})

describe('a step', () => {
  it('runs its calls with the tools that its request offered', async () => {
    const tools = [probeTool('look')]
    const gone = tools[0]
    const model = new ScriptedModel(async function* () {
      // The catalogue changes while the model answers.
      tools[0] = probeTool('other')
      yield { type: 'tool-call', call: { id: 'c', name: 'look', arguments: '{"text":"a"}' } }
      yield { type: 'finish', reason: 'tool-calls' }
    }, 'seen')
    const e = await engine({ model, tools })
    await e.inbox.message(message('alice', 'go', { id: 'm-30' }))
    await until(() => e.platform.texts('m-30').some((t) => t.includes('seen')))
    expect(gone?.runs).toEqual(['a'])
    expect(model.requests.map((r) => r.tools.map((t) => t.name))).toEqual([['look'], ['other']])
  })

  it('tells its tools whose message it answers, and that nobody can be asked', async () => {
    const authors: string[] = []
    const answers: unknown[] = []
    const asks = probeTool('asks', {
      run: async (_args, { ask }) => {
        answers.push(await ask({ text: 'sure?' }))
        return success('ok')
      },
    })
    const tool = {
      ...asks,
      plan: (...[args, scope]: Parameters<typeof asks.plan>) => {
        authors.push(scope.author)
        return asks.plan(args, scope)
      },
    }
    const call = { calls: [{ name: 'asks', args: {} }] }
    const model = new ScriptedModel(call, 'one', call, 'two')
    const e = await engine({
      model,
      tools: [tool],
      config: (c) => ({ ...c, session: { ...c.session, speakers: 'linked' } }),
    })
    await e.inbox.message(message('alice', 'go', { id: 'm-31' }))
    await until(() => e.platform.texts('m-31').some((t) => t.includes('one')))
    await e.inbox.message(message('bob', 'again', { thread: 'm-31' }))
    await until(() => e.platform.texts('m-31').some((t) => t.includes('two')))
    expect(authors).toEqual(['alice', 'bob'])
    expect(answers[0]).toEqual({ declined: expect.stringContaining('cannot ask questions') })
  })

  it('that hangs ends at the time limit, and the turn goes on', async () => {
    const hang = probeTool('hang', { run: () => new Promise(() => undefined) })
    const model = new ScriptedModel({ calls: [{ name: 'hang', args: {} }] }, 'went on')
    const e = await engine({ model, tools: [hang], config: (c) => ({ ...c, tools: { ...c.tools, timeout: 0.05 } }) })
    await e.inbox.message(message('alice', 'go', { id: 'm-32' }))
    await until(() => e.platform.texts('m-32').some((t) => t.includes('went on')))
    const last = model.requests[1]?.messages.at(-1)
    expect(last?.role === 'tool' && textOf(last.content)).toContain('the time limit of 0.05 s was reached')
  })

  it('beyond the limit keeps the tools and forbids them; a call that comes all the same is not run', async () => {
    const look = probeTool('look')
    const call = { text: 'so far', calls: [{ name: 'look', args: { text: 'a' } }] }
    const model = new ScriptedModel(call, call)
    const e = await engine({
      model,
      tools: [look],
      config: (c) => ({ ...c, session: { ...c.session, max_steps: 1 } }),
    })
    await e.inbox.message(message('alice', 'go', { id: 'm-33' }))
    await until(async () => (await e.store.db.selectFrom('turns').select('state').executeTakeFirst())?.state === 'done')
    expect(look.runs).toEqual(['a'])
    expect(model.requests.map((r) => [r.toolChoice, r.tools.length])).toEqual([
      [undefined, 1],
      ['none', 1],
    ])
  })
})

describe('what only the provider understands', () => {
  it('comes back with its answer in the same turn and no later', async () => {
    const look = probeTool('look')
    const model = new ScriptedModel(
      async function* () {
        yield { type: 'opaque', block: { signed: 'abc' } }
        yield { type: 'tool-call', call: { id: 'c', name: 'look', arguments: '{}' } }
        yield { type: 'finish', reason: 'tool-calls' }
      },
      'one',
      'two',
    )
    const e = await engine({ model, tools: [look] })
    await e.inbox.message(message('alice', 'go', { id: 'm-34' }))
    await until(() => e.platform.texts('m-34').some((t) => t.includes('one')))
    await e.inbox.message(message('alice', 'more', { thread: 'm-34' }))
    await until(() => model.requests.length === 3)
    const sent = model.requests.map((r) => r.messages.flatMap((m) => (m.role === 'assistant' ? [m.opaque] : [])))
    expect(sent[1]).toEqual([{ provider: 'scripted', blocks: [{ signed: 'abc' }] }])
    expect(sent[2]).toEqual([undefined, undefined])
  })
})

describe('usage', () => {
  it('is charged to the person whose message is answered', async () => {
    const e = await engine({
      model: new ScriptedModel('one', 'two'),
      config: (c) => ({ ...c, session: { ...c.session, speakers: 'linked' } }),
    })
    await e.inbox.message(message('alice', 'go', { id: 'm-36' }))
    await until(() => e.platform.texts('m-36').length === 1)
    await e.inbox.message(message('bob', 'and mine', { thread: 'm-36' }))
    await until(() => e.platform.texts('m-36').length === 2)
    const rows = await e.store.db.selectFrom('usage').select('user_name').orderBy('id').execute()
    expect(rows.map((r) => r.user_name)).toEqual(['alice', 'bob'])
  })

  it('of a failed answer is counted too', async () => {
    const model = new ScriptedModel(async function* () {
      yield { type: 'usage', usage: { input: 7, cacheRead: 3, cacheWrite: 0, output: 1 } }
      throw new ModelError('auth', 'no')
    })
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'go', { id: 'm-35' }))
    await until(() => e.platform.texts('m-35').length === 1)
    const rows = await e.store.db.selectFrom('usage').select(['input', 'cache_read', 'output']).execute()
    expect(rows).toEqual([{ input: 7, cache_read: 3, output: 1 }])
  })
})

describe('approvals', () => {
  it('parks on a card, asks no model meanwhile, and runs what was approved', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'x' } }] }, 'done')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-five' }))
    const card = await cardIn(e, 'm-five')
    expect(act.runs).toEqual([])
    expect(model.requests).toHaveLength(1)
    expect(card.calls[0]).toMatchObject({ tool: 'act', label: 'act', payload: { text: 'x', bytes: 1 } })
    expect(await press(e, card.approval, 'approve', 'bob')).toMatchObject({ effective: false })
    expect(await press(e, card.approval, 'approve')).toEqual({ effective: true, text: '' })
    await until(() => e.platform.texts('m-five').some((t) => t.includes('done')))
    expect(act.runs).toEqual(['x'])
    const again = await press(e, card.approval, 'reject')
    expect(again.effective).toBe(false)
    expect(again.text).toContain('approved by alice')
    await until(() => e.platform.cards('m-five')[0]?.state.kind === 'closed')
  })

  it('remembers always for that label in that workstream only', async () => {
    const act = probeTool('act', { asks: true })
    const call = { calls: [{ name: 'act', args: { text: '1' } }] }
    const model = new ScriptedModel(call, 'ok', call, 'ok2', call)
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-six' }))
    await press(e, (await cardIn(e, 'm-six')).approval, 'always')
    await until(() => act.runs.length === 1)
    await e.inbox.message(message('alice', 'again', { thread: 'm-six' }))
    await until(() => act.runs.length === 2)
    await until(() => e.platform.texts('m-six').some((t) => t.includes('ok2')))
    await e.inbox.message(message('alice', 'elsewhere', { id: 'm-seven' }))
    await cardIn(e, 'm-seven')
    expect(act.runs).toHaveLength(2)
  })

  it('on a refusal runs what needed no approval and tells the model with the note', async () => {
    const [look, act] = [probeTool('look'), probeTool('act', { asks: true })]
    const calls = [
      { name: 'act', args: { text: 'a' } },
      { name: 'look', args: { text: 'b' } },
    ]
    const model = new ScriptedModel({ calls }, 'fine')
    const e = await engine({ model, tools: [look, act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-eight' }))
    const card = await cardIn(e, 'm-eight')
    expect(look.runs).toEqual([])
    await press(e, card.approval, 'reject', 'alice', 'not today')
    await until(() => e.platform.texts('m-eight').some((t) => t.includes('fine')))
    expect(act.runs).toEqual([])
    expect(look.runs).toEqual(['b'])
    const tools = model.requests[1]?.messages.filter((m) => m.role === 'tool') ?? []
    expect(tools.map((m) => textOf(m.content))).toEqual(['Rejected by alice: not today. It was not run.', 'look ran b'])
  })

  it('passes a note beside an approval on after the results', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-nine' }))
    await press(e, (await cardIn(e, 'm-nine')).approval, 'approve', 'alice', 'use the full path')
    await until(() => model.requests.length === 2)
    expect(model.requests[1]?.messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
  })

  it('takes y, n and a as the whole message only', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-ten' }))
    await cardShown(e, 'm-ten')
    await e.inbox.message(message('alice', 'yes', { thread: 'm-ten' }))
    await e.inbox.message(message('bob', 'y', { thread: 'm-ten' }))
    expect(act.runs).toEqual([])
    await e.inbox.message(message('alice', 'Y, carefully', { thread: 'm-ten' }))
    await until(() => act.runs.length === 1)
    await until(() => model.requests.length === 2)
    const said = model.requests[1]?.messages.flatMap((m) => (m.role === 'user' ? [textOf(m.content)] : []))
    expect(said).toEqual(['go', 'carefully', 'yes'])
  })

  it('A4: takes no answer that was written before its card was there', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-early' }))
    const early = message('alice', 'y', { thread: 'm-early' })
    await cardShown(e, 'm-early')
    await e.inbox.message({ ...early, sentAt: Date.now() - 60_000 })
    expect((await openApprovals(e.store.db, (await onlyWorkstream(e)).id)).length).toBe(1)
    await e.inbox.message(message('alice', 'y', { thread: 'm-early' }))
    await until(() => act.runs.length === 1)
  })

  it('E6a: takes no typed answer while the card could not be posted: it is an ordinary message', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ text: 'Shall I go on?', calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const platform = new FakePlatform()
    let down = true
    platform.beforeSend = ({ kind }) => {
      if (down && kind === 'card') throw new Error('503')
    }
    const e = await engine({ model, tools: [act], platform })
    await e.inbox.message(message('alice', 'go', { id: 'm-unseen' }))
    await until(() => platform.texts('m-unseen').some((t) => t.includes('Shall I go on?')))
    await e.inbox.message(message('alice', 'y', { thread: 'm-unseen' }))
    expect(act.runs).toEqual([])
    expect((await openApprovals(e.store.db, (await onlyWorkstream(e)).id)).length).toBe(1)
    down = false
    await press(e, (await cardIn(e, 'm-unseen')).approval, 'approve')
    await until(() => model.requests.length === 2)
    const said = model.requests[1]?.messages.flatMap((m) => (m.role === 'user' ? [textOf(m.content)] : []))
    expect(said).toEqual(['go', 'y'])
  })

  it('asks anew when what would run is not what was shown', async () => {
    let world = 'before'
    const act = probeTool('act', { asks: true, fingerprint: () => world })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-eleven' }))
    const first = await cardIn(e, 'm-eleven')
    world = 'after'
    await press(e, first.approval, 'approve')
    const second = await until(() => e.platform.cards('m-eleven').find((c) => c.approval !== first.approval))
    expect(second.changed).toContain('has changed since it was approved')
    expect(act.runs).toEqual([])
    await press(e, second.approval, 'approve')
    await until(() => act.runs.length === 1)
  })

  it('posts a deleted card of an open approval anew', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-twelve' }))
    await cardIn(e, 'm-twelve')
    const post = e.platform.posts.find((p) => p.outgoing.kind === 'card')
    if (!post) throw new Error('no card')
    post.deleted = true
    await e.inbox.deleted({ platform: 'discord', channel: 'm-twelve', id: post.id })
    expect(e.platform.cards('m-twelve')).toHaveLength(1)
  })
})

describe('a card that is deleted before its post was answered', () => {
  it('is posted anew all the same', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'fine')
    const e = await engine({ model, tools: [act] })
    const send = e.adapter.send.bind(e.adapter)
    let answer = (): void => undefined
    const waits = new Promise<void>((resolve) => {
      answer = resolve
    })
    let first = true
    e.adapter.send = async (...args) => {
      const ref = await send(...args)
      if (args[1].kind === 'card' && first) {
        first = false
        await waits
      }
      return ref
    }
    await e.inbox.message(message('alice', 'go', { id: 'm-21' }))
    await cardIn(e, 'm-21')
    const post = e.platform.posts.find((p) => p.outgoing.kind === 'card')
    if (!post) throw new Error('no card')
    post.deleted = true
    const deleted = e.inbox.deleted({ platform: 'discord', channel: 'm-21', id: post.id })
    await new Promise((resolve) => setTimeout(resolve, 20))
    answer()
    await deleted
    await until(() => e.platform.cards('m-21').length === 1)
  })
})

describe('stopping and faults', () => {
  it('/stop cancels the running tool, the rest of the step and what waits', async () => {
    const hang = probeTool('hang', {
      run: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    })
    const model = new ScriptedModel({ text: 'working', calls: [{ name: 'hang', args: { text: 'a' } }] })
    const e = await engine({ model, tools: [hang] })
    await e.inbox.message(message('alice', 'go', { id: 'm-13' }))
    await until(() => hang.runs.length === 1)
    await e.inbox.message(message('alice', 'later', { thread: 'm-13' }))
    const to = { platform: 'discord', id: 'm-13' } as const
    const by = { id: 'u-alice', name: 'alice', bot: false }
    const reply = await e.inbox.command({
      key: 'k',
      platform: 'discord',
      by,
      name: 'stop',
      args: {},
      channel: 'm-13',
      to,
    })
    expect(reply.text).toContain('Stopped by alice.')
    const shown = await until(() => e.platform.texts('m-13').find((t) => t.includes('(Stopped.)')))
    expect(shown).toContain('working')
    expect(shown).toContain('[stopped]')
    expect(model.requests).toHaveLength(1)
  })

  it('/stop while a card is open closes it', async () => {
    const act = probeTool('act', { asks: true })
    const model = new ScriptedModel({ calls: [{ name: 'act', args: { text: 'a' } }] }, 'next')
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-14' }))
    const card = await cardIn(e, 'm-14')
    const by = { id: 'u-alice', name: 'alice', bot: false }
    const to = { platform: 'discord', id: 'm-14' } as const
    await e.inbox.command({ key: 'k2', platform: 'discord', by, name: 'stop', args: {}, channel: 'm-14', to })
    await until(() => e.platform.texts('m-14').some((t) => t.includes('(Stopped.)')))
    expect((await press(e, card.approval, 'approve')).text).toContain('stopped')
    await e.inbox.message(message('alice', 'and now', { thread: 'm-14' }))
    await until(() => model.requests.length === 2)
    const roles = model.requests[1]?.messages.map((m) => m.role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'user', 'user'])
    expect(act.runs).toEqual([])
  })

  it('says an error in one sentence with the turn’s id', async () => {
    const model = new ScriptedModel(async function* () {
      yield { type: 'text', text: 'half an ans' }
      throw new ModelError('auth', 'The key was refused: hunter2-secret.')
    })
    const e = await engine({ model, secrets: ['hunter2-secret'] })
    await e.inbox.message(message('alice', 'go', { id: 'm-15' }))
    const shown = await until(() => e.platform.texts('m-15').find((t) => t.includes('refused')))
    expect(shown).toMatch(
      /^half an ans\n\(The key was refused: \[redacted\]\. The text above was cut off\. \(turn [0-9a-f]{8}\)\)$/,
    )
  })

  it('gives each call exactly one result, whatever its arguments or its tool', async () => {
    const bad = probeTool('bad', {
      run: async () => {
        throw new Error('boom')
      },
    })
    const calls = [
      { name: 'bad', args: {} },
      { name: 'nowhere', args: {} },
      { name: 'bad', args: '{"text": "cut' },
      { name: 'bad', args: { text: 5 } },
      { name: 'bad', args: { text: 'holds hunter2-secret' } },
    ]
    const model = new ScriptedModel({ calls }, 'ok')
    const e = await engine({ model, tools: [bad], secrets: ['hunter2-secret'] })
    await e.inbox.message(message('alice', 'go', { id: 'm-16' }))
    await until(() => model.requests.length === 2)
    const results = model.requests[1]?.messages.flatMap((m) => (m.role === 'tool' ? [textOf(m.content)] : [])) ?? []
    expect(results).toHaveLength(5)
    expect(results[0]).toBe('The tool failed: boom')
    expect(results[1]).toContain('There is no tool named "nowhere"')
    expect(results[2]).toContain('not valid JSON')
    expect(results[3]).toContain('text must be string')
    expect(results[4]).toContain('contain a secret')
    expect(JSON.stringify(model.requests)).not.toContain('hunter2')
    expect(bad.runs).toEqual([''])
  })

  it('lets messages that come while it is busy reach the model at its next step', async () => {
    let go = (): void => undefined
    const wait = probeTool('wait', {
      run: () =>
        new Promise((resolve) => {
          go = () => resolve(success('waited'))
        }),
    })
    const model = new ScriptedModel({ calls: [{ name: 'wait', args: {} }] }, 'both')
    const e = await engine({ model, tools: [wait] })
    await e.inbox.message(message('alice', 'go', { id: 'm-17' }))
    await until(() => wait.runs.length === 1)
    await e.inbox.message(message('alice', 'and this', { thread: 'm-17', id: 'm-17b' }))
    await until(() => e.platform.reactions.some((r) => r.ref.id === 'm-17b' && r.on))
    go()
    await until(() => e.platform.texts('m-17').some((t) => t.includes('both')))
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user' })
    expect(e.platform.reactions.at(-1)).toMatchObject({ ref: { id: 'm-17b' }, on: false })
    expect(model.requests).toHaveLength(2)
  })
})

describe('a restart', () => {
  it('reports a running tool as interrupted, keeps the answer single and an old card pressable', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'restart-')), 't.db')
    const platform = new FakePlatform()
    const never = probeTool('never', { asks: true, run: () => new Promise(() => undefined) })
    const first = await startEngine({
      model: new ScriptedModel({ text: 'asking', calls: [{ name: 'never', args: { text: 'x' } }] }),
      tools: [never],
      platform,
      file,
    })
    await first.inbox.message(message('alice', 'go', { id: 'm-18' }))
    const card = await until(() => platform.cards('m-18')[0])
    await first.store.close()
    const second = await startEngine({ model: new ScriptedModel('unused'), tools: [never], platform, file })
    expect(
      await openApprovals(
        second.store.db,
        (await second.store.db.selectFrom('workstreams').select('id').executeTakeFirstOrThrow()).id,
      ),
    ).toHaveLength(1)
    await press(second, card.approval, 'approve')
    await until(() => never.runs.length === 1)
    await second.store.close()
    const model = new ScriptedModel('went on')
    const third = await engine({ model, tools: [never], platform, file })
    const shown = await until(() => third.platform.texts('m-18').find((t) => t.includes('went on')))
    expect(shown).toContain('[interrupted] never x')
    expect(shown).toContain('Interrupted by a restart: never.')
    expect(never.runs).toHaveLength(1)
    expect(third.platform.texts('m-18').filter((t) => t.includes('asking'))).toHaveLength(1)
    expect(third.platform.cards('m-18')).toHaveLength(1)
  })
})

describe('a place that the platform refuses', () => {
  it('ends the turn for good instead of trying for ever', async () => {
    const model = new ScriptedModel('never shown')
    const e = await engine({ model })
    let tries = 0
    e.adapter.openThread = async () => {
      tries++
      throw new PostRefusedError('the channel is gone')
    }
    await e.inbox.message(message('alice', 'hi', { id: 'm-20' }))
    await until(
      async () => (await e.store.db.selectFrom('turns').select('state').executeTakeFirst())?.state === 'failed',
    )
    expect(await e.store.db.selectFrom('inbox').select('state').execute()).toEqual([{ state: 'stopped' }])
    expect(tries).toBe(1)
    expect(model.requests).toHaveLength(0)
    expect(e.logLines.join()).toContain('the channel is gone')
  })
})
