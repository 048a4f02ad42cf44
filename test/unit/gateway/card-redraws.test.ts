import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PostRefusedError } from '../../../src/channel/post-once.ts'
import { LOG } from '../../../src/copy/log.ts'
import { startReconciler } from '../../../src/gateway/operations/reconciler.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { type Engine, engine } from '../../support/engines.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

const by = { id: 'u-alice', name: 'alice', bot: false }
const asks = { calls: [{ name: 'act', args: { text: 'a' } }] }
const approve = (e: Engine, approval: string) =>
  e.inbox.decision({ platform: 'discord', approval, action: 'approve', by })
const cardIn = (e: Engine, id: string) => until(() => e.platform.cards(id).find((c) => c.state.kind === 'open'))

describe('a card that the platform does not let us change', () => {
  it('E5d is given up after one edit and one line, and the log says so once', async () => {
    const model = new ScriptedModel(asks, ...Array.from({ length: 6 }, (_, i) => `answer ${i}`))
    const e = await engine({ model, tools: [probeTool('act', { asks: true })] })
    let [edits, lines] = [0, 0]
    e.platform.beforeEdit = (outgoing) => {
      if (outgoing.kind !== 'card') return
      edits++
      throw new PostRefusedError('the thread is gone')
    }
    e.platform.beforeSend = (outgoing) => {
      if (outgoing.kind !== 'text' || !outgoing.text.startsWith('The request above')) return
      lines++
      throw new PostRefusedError('the thread is gone')
    }
    await e.inbox.message(message('alice', 'go', { id: 'd-1' }))
    await approve(e, (await cardIn(e, 'd-1')).approval)
    await until(() => e.platform.texts('d-1').some((t) => t.includes('answer 0')))
    for (let i = 1; i <= 5; i++) {
      await e.inbox.message(message('alice', 'more', { thread: 'd-1' }))
      await until(() => e.platform.texts('d-1').some((t) => t.includes(`answer ${i}`)))
    }
    await until(async () => (await e.store.db.selectFrom('jobs').select('id').execute()).length === 0)
    expect([edits, lines]).toEqual([1, 1])
    expect(e.logLines.filter((l) => l.includes(LOG.cardNeverRedrawn))).toHaveLength(1)
  })

  it('E5d is tried again with growing waits where the answer was unclear, however often it is asked for', async () => {
    const clock = new ManualClock()
    const e = await engine({ model: new ScriptedModel(asks, 'done'), tools: [probeTool('act', { asks: true })], clock })
    const tries: number[] = []
    let down = true
    e.platform.beforeEdit = (outgoing) => {
      if (outgoing.kind !== 'card' || !down) return
      tries.push(clock.now())
      throw new Error('no answer')
    }
    await e.inbox.message(message('alice', 'go', { id: 'd-2' }))
    await approve(e, (await cardIn(e, 'd-2')).approval)
    await until(() => tries.length === 1)
    const begun = tries[0] ?? 0
    const until30s = async (): Promise<void> => {
      for (let i = 0; i < 60; i++) {
        e.redraws.soon()
        await clock.advance(500)
      }
    }
    await until30s()
    expect(tries.map((t) => t - begun)).toEqual([0, 1000, 6000, 21_000])
    down = false
    await until30s()
    await clock.advance(60_000)
    await until(() => e.platform.cards('d-2')[0]?.state.kind === 'closed')
  })

  it('E5d holds up no other card where its edit never returns, and is edited once', async () => {
    const clock = new ManualClock()
    const model = new ScriptedModel(asks, asks, asks, 'one', 'two', 'three')
    const e = await engine({ model, tools: [probeTool('act', { asks: true })], clock })
    const edit = e.adapter.edit.bind(e.adapter)
    const hung: string[] = []
    e.adapter.edit = (ref, outgoing) => {
      if (outgoing.kind !== 'card' || ref.channel !== 'd-3') return edit(ref, outgoing)
      hung.push(ref.id)
      return new Promise(() => undefined)
    }
    const ids = ['d-3', 'd-4', 'd-5']
    for (const id of ids) {
      await e.inbox.message(message('alice', 'go', { id }))
      await cardIn(e, id)
    }
    for (const id of ids) await approve(e, (await cardIn(e, id)).approval)
    await until(() => ['d-4', 'd-5'].every((id) => e.platform.cards(id)[0]?.state.kind === 'closed'), 3000)
    for (let i = 0; i < 10; i++) {
      e.redraws.soon()
      await clock.advance(10_000)
    }
    expect(hung).toHaveLength(1)
  })
})

describe('a deleted card of an open approval', () => {
  it('E5e is posted again after a crash that came between', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'cards-')), 't.db')
    const platform = new FakePlatform()
    const act = probeTool('act', { asks: true })
    const first = await startEngine({ model: new ScriptedModel(asks), tools: [act], platform, file })
    await first.inbox.message(message('alice', 'go', { id: 'e-1' }))
    await cardIn(first, 'e-1')
    await until(async () => (await first.store.db.selectFrom('jobs').select('id').execute()).length === 0)
    const post = platform.posts.find((p) => p.outgoing.kind === 'card')
    if (!post) throw new Error('no card')
    post.deleted = true
    let tried = false
    platform.beforeSend = (outgoing) => {
      if (outgoing.kind !== 'card') return
      tried = true
      throw new Error('no answer')
    }
    first.inbox.deleted({ platform: 'discord', channel: 'e-1', id: post.id }).catch(() => undefined)
    await until(() => tried)
    await first.store.close()
    platform.beforeSend = () => undefined
    const e = await engine({ model: new ScriptedModel('done'), tools: [act], platform, file })
    const end = new AbortController()
    const stop = startReconciler(e, end.signal)
    const card = await cardIn(e, 'e-1')
    expect(platform.cards('e-1')).toHaveLength(1)
    await approve(e, card.approval)
    await until(() => platform.texts('e-1').some((t) => t.includes('done')))
    end.abort()
    stop()
  })
})
