import { afterEach, describe, expect, it } from 'vitest'
import type { InboundCommand } from '../../../src/channel/channel-adapter.ts'
import type { Command } from '../../../src/gateway/commands/command.ts'
import { commandSpecs, createCommands } from '../../../src/gateway/commands/list.ts'
import { parseWords } from '../../../src/gateway/commands/words.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

const COMMANDS: readonly Command[] = createCommands(() => Promise.reject(new Error('not asked')), {
  acquire: () => true,
})

describe('command words', () => {
  it.each([
    ['stop', { name: 'stop', args: {} }],
    ['  Status ', { name: 'status', args: {} }],
    ['link', { name: 'link', args: {} }],
    ['link ts_abc', { name: 'link', args: { token: 'ts_abc' } }],
    ['model', { name: 'model', args: {} }],
    ['model other', { name: 'model', args: { name: 'other' } }],
    ['approvals', { name: 'approvals', args: {} }],
    ['approvals revoke bash', { name: 'approvals', args: { revoke: 'bash' } }],
  ])('%j is a command', (text, command) => expect(parseWords(text, COMMANDS)).toEqual(command))

  it.each([
    'stop the server for me',
    'link me to the docs',
    'status of the build?',
    'model a cat in blender',
    'approvals for this quarter',
    'help me with this',
    'close the window please',
    'skill up my team quickly',
    'mcp is what exactly?',
    'what is up',
    '',
  ])('%j is a question', (text) => expect(parseWords(text, COMMANDS)).toBeUndefined())

  it('are offered within Discord’s limits', () => {
    const table = commandSpecs(Array.from({ length: 40 }, (_, i) => `model-${i}`))
    for (const { name, description, options } of table) {
      expect(name).toMatch(/^[a-z]{1,32}$/)
      expect(description.length).toBeLessThanOrEqual(100)
      for (const o of options) expect(o.choices?.length ?? 0).toBeLessThanOrEqual(25)
    }
  })
})

type Engine = Awaited<ReturnType<typeof startEngine>>
let e: Engine | undefined
afterEach(async () => {
  await e?.stop()
  e = undefined
})

const run = (engine: Engine, who: string, name: string, args: Record<string, string> = {}, thread?: string) => {
  const command: InboundCommand = {
    key: `k${Math.random()}`,
    platform: 'discord',
    by: { id: `u-${who}`, name: who, bot: false },
    name,
    args,
    channel: thread ?? 'chan',
    ...(thread === undefined ? {} : { to: { platform: 'discord', id: thread } as const }),
  }
  return engine.inbox.command(command)
}

describe('commands', () => {
  it('are for the owner and admins where they change something', async () => {
    e = await startEngine({ model: new ScriptedModel('hello') })
    await e.inbox.message(message('alice', 'hi', { id: 'c-1' }))
    await until(() => e?.platform.texts('c-1').length === 1)
    for (const name of ['stop', 'close', 'model', 'approvals']) {
      expect((await run(e, 'bob', name, {}, 'c-1')).text).toBe('Only alice and admins can do that.')
      expect((await run(e, 'stranger', name, {}, 'c-1')).text).toContain('You are not linked yet')
    }
    expect((await run(e, 'bob', 'status', {}, 'c-1')).text).toContain('of alice')
    expect((await run(e, 'root', 'model', { name: 'other' }, 'c-1')).text).toContain(
      'Switched to other, starting with your next message',
    )
    expect((await run(e, 'root', 'model', { name: 'none' }, 'c-1')).text).toContain('There is no model')
  })

  it('outside a thread act on the caller’s most recent conversation there and name it', async () => {
    e = await startEngine({ model: new ScriptedModel('one', 'two', 'three') })
    const texts = { 'c-2': 'first of alice', 'c-3': 'second of alice', 'c-4': 'one of bob' }
    for (const [id, text] of Object.entries(texts)) {
      await e.inbox.message(message(id === 'c-4' ? 'bob' : 'alice', text, { id }))
      await until(() => e?.platform.texts(id).length === 1)
    }
    expect((await run(e, 'alice', 'status')).text).toContain('“second of alice”')
    const closed = await run(e, 'alice', 'close')
    expect(closed).toMatchObject({
      private: false,
      text: expect.stringContaining('“second of alice”: Closed by alice'),
    })
    expect((await run(e, 'alice', 'status')).text).toContain('“first of alice”')
    expect((await run(e, 'root', 'status')).text).toContain('You have no open conversation here')
  })

  it('revoke a grant, which then asks again', async () => {
    const act = probeTool('act', { asks: true })
    const call = { calls: [{ name: 'act', args: { text: '1' } }] }
    e = await startEngine({ model: new ScriptedModel(call, 'ok', call), tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'c-5' }))
    const card = await until(() => e?.platform.cards('c-5')[0])
    const by = { id: 'u-alice', name: 'alice', bot: false }
    await e.inbox.decision({ platform: 'discord', approval: card.approval, action: 'always', by })
    await until(() => e?.platform.texts('c-5').some((t) => t.includes('ok')))
    expect((await run(e, 'alice', 'approvals', {}, 'c-5')).text).toContain('Always allowed here: `act`')
    expect((await run(e, 'alice', 'approvals', { revoke: 'other' }, 'c-5')).text).toContain('is not always allowed')
    expect((await run(e, 'alice', 'approvals', { revoke: 'act' }, 'c-5')).text).toBe('`act` asks for approval again.')
    await e.inbox.message(message('alice', 'again', { thread: 'c-5' }))
    await until(() => e?.platform.cards('c-5').length === 2)
    const open = await run(e, 'alice', 'approvals', {}, 'c-5')
    expect(open.text).toMatch(/- pending: act 1 fake:\/\/c-5\/\d+/)
    const audit = await e.store.db.selectFrom('audit').select('action').execute()
    expect(audit.map((a) => a.action)).toEqual(['press', 'decision', 'grant', 'revoke'])
  })

  it('unlink refuses the open cards of who leaves', async () => {
    const act = probeTool('act', { asks: true })
    e = await startEngine({
      model: new ScriptedModel({ calls: [{ name: 'act', args: {} }] }, 'refused then'),
      tools: [act],
      config: (c) => c,
    })
    await e.identities.addUser('carol', 'member', 'test')
    await e.identities.link('carol', 'discord', 'u-carol', 'test')
    await e.inbox.message(message('carol', 'go', { id: 'c-6' }))
    await until(() => e?.platform.cards('c-6')[0])
    expect((await run(e, 'carol', 'unlink')).text).toContain('is unlinked')
    await until(() => e?.platform.texts('c-6').some((t) => t.includes('refused then')))
    expect(act.runs).toEqual([])
    expect((await run(e, 'alice', 'unlink')).text).toContain('config.toml')
  })
})

describe('bots', () => {
  it('are cut off after ten turns in a row, with one notice, and never decide', async () => {
    const model = new ScriptedModel(...Array.from({ length: 12 }, (_, i) => `answer ${i}`))
    e = await startEngine({
      model,
      config: (c) => ({ ...c, users: { ...c.users, robot: { role: 'admin', discord: ['u-robot'], slack: [] } } }),
    })
    const says = (text: string, at: Parameters<typeof message>[2]) => {
      const m = message('robot', text, at)
      return { ...m, author: { ...m.author, bot: true } }
    }
    await e.inbox.message(says('0', { id: 'c-7' }))
    for (let i = 1; i < 14; i++) {
      await until(() => e?.platform.texts('c-7').some((t) => t.includes(`answer ${Math.min(i, 10) - 1}`)))
      await e.inbox.message(says(String(i), { thread: 'c-7' }))
    }
    expect(model.requests).toHaveLength(10)
    const notices = e.platform.posts.filter(
      (p) => p.outgoing.kind === 'text' && p.outgoing.text.includes('came from bots'),
    )
    expect(notices).toHaveLength(1)
    await e.inbox.message(message('root', 'a person', { thread: 'c-7' }))
    await until(() => model.requests.length === 11)
  })
})
