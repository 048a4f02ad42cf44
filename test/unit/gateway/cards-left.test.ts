import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PostRefusedError } from '../../../src/channel/post-once.ts'
import { textOf } from '../../../src/model/message.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { type Engine, engine, newFile } from '../../support/engines.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'
import { toolBench } from '../../support/tool-bench.ts'

const asks = (name: string, text: string) => ({ calls: [{ name, args: { text } }] })
const open = (platform: FakePlatform, id: string) =>
  until(() => platform.cards(id).findLast((c) => c.state.kind === 'open'))
const press = (e: Engine, approval: string, action: 'approve' | 'always' | 'reject') =>
  e.inbox.decision({ platform: 'discord', approval, action, by: { id: 'u-alice', name: 'alice', bot: false } })

/** As a crash leaves it between the card's post and its mark; then the turn is taken up again. */
async function takenUpAgain(e: Engine): Promise<void> {
  await e.store.db.updateTable('approvals').set({ card_up_to_date: 0 }).execute()
  const { id } = await e.store.db.selectFrom('workstreams').select('id').executeTakeFirstOrThrow()
  await e.store.transaction((tx) => e.queue.send(tx, { kind: 'turn', workstream: id }))
}

const marked = (e: Engine) => async () => {
  const row = await e.store.db.selectFrom('approvals').select('card_up_to_date').executeTakeFirst()
  return row?.card_up_to_date === 1
}

describe('an open card that was posted and not marked', () => {
  it('is posted again where it was deleted in between', async () => {
    const platform = new FakePlatform()
    const e = await engine({
      platform,
      model: new ScriptedModel(asks('act', 'x')),
      tools: [probeTool('act', { asks: true })],
    })
    await e.inbox.message(message('alice', 'go', { id: 'c-1' }))
    await open(platform, 'c-1')
    await until(marked(e))
    for (const post of platform.posts) if (post.outgoing.kind === 'card') post.deleted = true
    await takenUpAgain(e)
    await until(marked(e))
    expect(platform.cards('c-1')).toHaveLength(1)
  })

  it('outlives an outage of the platform: its turn does not end', async () => {
    const platform = new FakePlatform()
    const model = new ScriptedModel(asks('act', 'x'), 'done')
    const act = probeTool('act', { asks: true })
    const e = await engine({ platform, model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'c-2' }))
    const card = await open(platform, 'c-2')
    await until(marked(e))
    let refusals = 0
    platform.beforeEdit = () => {
      if (refusals++ < 4) throw new Error('503')
    }
    await takenUpAgain(e)
    await until(() => refusals > 4)
    await press(e, card.approval, 'approve')
    await until(() => act.runs.length === 1)
  })
})

describe('a card that nothing waits for', () => {
  it('is replaced where its calls can no longer be planned after a restart', async () => {
    const [platform, file] = [new FakePlatform(), newFile()]
    const { root, all: tools } = toolBench()
    writeFileSync(join(root, 'a.txt'), 'one\n')
    const write = { calls: [{ name: 'write_file', args: { path: 'b.txt', content: 'b' } }] }
    const edit = { path: 'a.txt', old_string: 'one', new_string: 'two' }
    const model = new ScriptedModel(
      { calls: [{ name: 'read_file', args: { path: 'a.txt' } }] },
      { calls: [{ name: 'edit_file', args: edit }] },
      write,
    )
    platform.beforeSend = ({ kind }) => {
      if (kind === 'card') throw new Error('503')
    }
    const options = { platform, model, tools, root: realpathSync(root), file }
    const first = await startEngine(options)
    await first.inbox.message(message('alice', 'go', { id: 'c-3' }))
    await until(async () => (await first.store.db.selectFrom('approvals').select('id').execute()).length === 1)
    await first.stop()
    platform.beforeSend = () => undefined
    writeFileSync(join(root, 'a.txt'), 'changed by somebody else\n')
    const e = await engine(options)
    await until(() => platform.cards('c-3').some((c) => c.calls[0]?.tool === 'write_file'))
    const states = await e.store.db.selectFrom('approvals').select('state').orderBy('created_at').execute()
    expect(states.map((r) => r.state)).toEqual(['superseded', 'open'])
  })

  it('of a channel that is off keeps its place in line until the channel is on again', async () => {
    const [platform, file] = [new FakePlatform(), newFile()]
    const model = new ScriptedModel(asks('act', 'x'))
    const tools = [probeTool('act', { asks: true })]
    const first = await startEngine({ platform, model, tools, file })
    await first.inbox.message(message('alice', 'go', { id: 'c-4' }))
    const { approval } = await open(platform, 'c-4')
    await until(marked(first))
    await first.stop()
    const other = await startEngine({ platform: new FakePlatform(), channel: 'slack', model, tools, file })
    await press(other, approval, 'reject')
    other.redraws.soon()
    await until(async () => !(await marked(other)()))
    await other.stop()
    const e = await engine({ platform, model, tools, file })
    e.redraws.soon()
    await until(() => platform.cards('c-4').every((c) => c.state.kind === 'closed'))
  })
})

describe('a decision', () => {
  it('to reject covers only the calls that its card showed', async () => {
    const [quiet, act] = [probeTool('quiet', { asks: true }), probeTool('act', { asks: true })]
    const platform = new FakePlatform()
    const both = { calls: [...asks('quiet', 'hidden').calls, ...asks('act', 'shown').calls] }
    const model = new ScriptedModel(asks('quiet', 'first'), both, 'done')
    const e = await engine({ platform, model, tools: [quiet, act] })
    await e.inbox.message(message('alice', 'go', { id: 'c-5' }))
    const one = await open(platform, 'c-5')
    await press(e, one.approval, 'always')
    const two = await until(() => platform.cards('c-5').find((c) => c.calls.some((k) => k.tool === 'act')))
    expect(two.calls.map((c) => c.tool)).toEqual(['act'])
    await e.store.db.deleteFrom('grants').execute()
    await press(e, two.approval, 'reject')
    const three = await until(() =>
      platform.cards('c-5').find((c) => c.state.kind === 'open' && c.approval !== two.approval),
    )
    expect(three.calls.map((c) => c.payload.text)).toEqual(['hidden'])
    await press(e, three.approval, 'approve')
    await until(() => model.requests.length === 3)
    const told = model.requests[2]?.messages.filter((m) => m.role === 'tool').map((m) => textOf(m.content))
    expect(told?.filter((t) => t.includes('Rejected by alice'))).toHaveLength(1)
  })
})

describe('a place that takes no card', () => {
  it('ends the turn with the reason of the platform, after one model call', async () => {
    const platform = new FakePlatform()
    platform.beforeSend = ({ kind }) => {
      if (kind === 'card') throw new PostRefusedError('The bot lacks a permission in the channel.', { ofPlace: true })
    }
    const model = new ScriptedModel(...Array.from({ length: 9 }, () => asks('act', 'x')))
    const e = await engine({ platform, model, tools: [probeTool('act', { asks: true })] })
    await e.inbox.message(message('alice', 'go', { id: 'c-6' }))
    const said = await until(() => platform.texts('c-6').find((t) => t.includes('could not be posted')))
    expect(said).toContain('The bot lacks a permission in the channel.')
    expect(model.requests).toHaveLength(1)
    expect(await e.store.db.selectFrom('approvals').select('state').execute()).toEqual([{ state: 'stopped' }])
  })
})
