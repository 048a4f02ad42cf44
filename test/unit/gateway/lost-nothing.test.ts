import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { healthOf } from '../../../src/gateway/operations/health.ts'
import type { Message } from '../../../src/model/message.ts'
import { toRequest } from '../../../src/model/openai-chat/request.ts'
import { message, until } from '../../support/engine.ts'
import { engine, newFile } from '../../support/engines.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

describe('a command in words', () => {
  it('E8 that could not be stored is run when it is delivered again, and then once', async () => {
    const file = newFile()
    const hang = probeTool('hang', {
      run: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    })
    const model = new ScriptedModel({ calls: [{ name: 'hang', args: {} }] }, 'next')
    const e = await engine({ model, tools: [hang], file })
    await e.inbox.message(message('alice', 'go', { id: 'w-1' }))
    await until(() => hang.runs.length === 1)
    const beside = new Database(file)
    beside.exec("create trigger full before insert on audit begin select raise(abort, 'no room'); end")
    const words = { ...message('alice', 'stop', { thread: 'w-1' }), addressed: 'mention' as const }
    await expect(e.inbox.message(words)).rejects.toThrow('no room')
    beside.exec('drop trigger full')
    beside.close()
    await Promise.all([e.inbox.message(words), e.inbox.message(words)])
    await until(() => e.platform.texts('w-1').some((t) => t.includes('(Stopped.)')))
    await e.inbox.message(words)
    expect(e.platform.texts('w-1').filter((t) => t === 'Stopped by alice.')).toHaveLength(1)
    expect(e.platform.texts('w-1').join()).not.toContain('Nothing is running')
  })
})

describe('reading back', () => {
  it('E8 begins some minutes before the newest message, but not before the first', async () => {
    const clock = new ManualClock()
    const e = await engine({ model: new ScriptedModel('one', 'two'), clock })
    const first = clock.now() - 600_000
    await e.inbox.message({ ...message('alice', 'first', { id: 'r-1' }), sentAt: first })
    await until(() => e.platform.texts('r-1').length === 1)
    const readFrom = async (): Promise<number | undefined> =>
      (await e.inbox.missedConversations('discord')).find((p) => p.to.id === 'r-1')?.after
    expect(await readFrom()).toBe(first)
    const newest = clock.now()
    await e.inbox.message({ ...message('alice', 'newest', { thread: 'r-1' }), sentAt: newest })
    await until(() => e.platform.texts('r-1').length === 2)
    expect(await readFrom()).toBe(newest - 300_000)
  })

  it('E8 takes nothing in that was refused when it came', async () => {
    const model = new ScriptedModel('hello')
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'hi', { id: 'r-2' }))
    await until(() => e.platform.texts('r-2').length === 1)
    const refused = message('bob', 'rm -rf build', { thread: 'r-2' })
    const unlinked = message('stranger', 'rm -rf build', { thread: 'r-2' })
    await e.inbox.message(refused)
    await e.inbox.message(unlinked)
    Object.assign(e.config.session, { speakers: 'linked' })
    await e.inbox.message(refused)
    await e.inbox.message(unlinked)
    expect(await e.store.db.selectFrom('inbox').select('author').execute()).toEqual([{ author: 'alice' }])
  })
})

describe('/health', () => {
  it('E8 fails once the database file was deleted', async () => {
    const file = newFile()
    const e = await engine({ model: new ScriptedModel(), file })
    const health = () => healthOf({ store: e.store, adapters: [e.adapter], remarks: [] })
    expect(await health()).toMatchObject({ ready: true, status: 'ok' })
    rmSync(file)
    expect(await health()).toMatchObject({ ready: false, status: 'failed', reason: expect.stringContaining('deleted') })
  })
})

describe('ids of calls', () => {
  const ids = ['call_1', 'x'.repeat(46), 'functions.bash:0', 'é', 'ok-id_2']
  const calls = ids.map((id) => ({ id, name: 'bash', arguments: '{}' }))
  const history: Message[] = [
    { role: 'assistant', text: '', calls },
    ...ids.map(
      (callId): Message => ({ role: 'tool', callId, name: 'bash', content: [{ type: 'text', text: callId }] }),
    ),
  ]

  it('E8 are sent as every API takes them, each with its own result', () => {
    const settings = { model: 'm', baseUrl: 'http://x/v1', apiKey: undefined, contextWindow: 1, maxTokens: 0 }
    const request = toRequest(
      { messages: history, tools: [], workstream: 'w' },
      { ...settings, reasoningEffort: '', vision: false },
      'id',
    )
    const [asked, ...results] = request.messages
    const sent = asked?.role === 'assistant' ? (asked.tool_calls ?? []).map((c) => c.id) : []
    expect(sent).toHaveLength(5)
    for (const id of sent) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/)
    expect(new Set(sent).size).toBe(5)
    expect(results.map((r) => (r.role === 'tool' ? [r.tool_call_id, r.content] : []))).toEqual(
      sent.map((id, i) => [id, ids[i]]),
    )
    expect([sent[0], sent[4]]).toEqual(['call_1', 'ok-id_2'])
  })
})
