import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLocalLocks } from '../../../src/jobs/local-locks.ts'
import { textOf } from '../../../src/model/message.ts'
import { success } from '../../../src/tool/run-plan.ts'
import { isStopRequested } from '../../../src/turn/turns.ts'
import { usageOf } from '../../../src/turn/usage.ts'
import { message, until } from '../../support/engine.ts'
import { type Engine, engine } from '../../support/engines.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'
import { runContext, toolBench } from '../../support/tool-bench.ts'

const stop = (e: Engine, id: string) =>
  e.inbox.command({
    key: `stop-${id}`,
    platform: 'discord',
    name: 'stop',
    args: {},
    by: { id: 'u-alice', name: 'alice', bot: false },
    channel: id,
    to: { platform: 'discord', id },
  })

describe('after a stop', () => {
  it('no further call of the step starts', async () => {
    const { root, all } = toolBench()
    const gates: (() => void)[] = []
    const run = async () => {
      await new Promise<void>((resolve) => gates.push(resolve))
      return success('ok')
    }
    const calls = Array.from({ length: 4 }, (_, i) => ({ name: 'slow', args: { text: `${i}` } }))
    const late = { name: 'write_file', args: { path: 'late.txt', content: 'x' } }
    const e = await engine({
      model: new ScriptedModel({ calls: [...calls, late] }, 'done'),
      tools: [...all, probeTool('slow', { run })],
      root,
      config: (c) => ({ ...c, approvals: { ...c.approvals, auto_approve: ['write_file'] } }),
    })
    await e.inbox.message(message('alice', 'go', { id: 's-1' }))
    await until(() => gates.length === 4)
    expect((await stop(e, 's-1')).text).toContain('Stopped')
    await until(async () => {
      const turn = await e.store.db.selectFrom('turns').select('id').executeTakeFirstOrThrow()
      return isStopRequested(e.store.db, turn.id)
    })
    for (const open of gates) open()
    await until(() => e.counts.includes('turns_stopped'))
    expect(existsSync(join(root, 'late.txt'))).toBe(false)
  })

  it('a write that waited for its file is not made', async () => {
    const locks = createLocalLocks()
    const b = toolBench({ locks })
    const plan = await b.ready('write_file', { path: 'w.txt', content: 'late' })
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    void locks.run(`file:${join(b.root, 'w.txt')}`, () => held)
    const stopping = new AbortController()
    const result = plan.run(runContext({ signal: stopping.signal }))
    stopping.abort(new Error('stopped'))
    release()
    await expect(result).rejects.toThrow('stopped')
    expect(existsSync(join(b.root, 'w.txt'))).toBe(false)
  })

  it('what the answer cost is charged all the same', async () => {
    let streaming = false
    const model = new ScriptedModel(async function* (_request, signal) {
      yield { type: 'usage', usage: { input: 1000, cacheRead: 0, cacheWrite: 0, output: 5 } }
      yield { type: 'text', text: 'Long ' }
      streaming = true
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    })
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'go', { id: 's-2' }))
    await until(() => streaming)
    await stop(e, 's-2')
    await until(() => e.counts.includes('turns_stopped'))
    expect((await usageOf(e.store.db, 'alice', 0)).input).toBe(1000)
  })
})

describe('what hangs', () => {
  it('B6: a file host that never answers holds up nobody else, and its own turn for 30 s', async () => {
    const clock = new ManualClock()
    const model = new ScriptedModel(...Array.from({ length: 20 }, () => 'done'))
    const e = await engine({ model, clock })
    e.adapter.download = () => new Promise(() => undefined)
    const file = { name: 'a.txt', url: 'x', size: 5 }
    for (let i = 0; i < 8; i++) {
      await e.inbox.message({ ...message('alice', 'see', { id: `h-${i}` }), attachments: [file] })
    }
    await e.inbox.message(message('bob', 'hi', { id: 'healthy' }))
    await until(() => e.platform.texts('healthy').length === 1)
    await until(async () => {
      await clock.advance(1000)
      return e.platform.texts('h-0').some((t) => t.includes('done'))
    })
    const read = model.requests.flatMap((r) =>
      r.messages.flatMap((m) => (m.role === 'user' ? [textOf(m.content)] : [])),
    )
    expect(read.join()).toContain('a.txt: could not be read: the host did not send it within 30 seconds')
  })
})

describe('scripts of one step', () => {
  it('run in the order in which the card numbers them', async () => {
    const { root, all } = toolBench()
    const scripts = ['sleep 0.3; echo built > out', 'cat out']
    const calls = scripts.map((command) => ({ name: 'bash', args: { command } }))
    const model = new ScriptedModel({ calls }, 'done')
    const e = await engine({
      model,
      tools: all,
      root,
      config: (c) => ({ ...c, approvals: { ...c.approvals, skip_permissions: true } }),
    })
    await e.inbox.message(message('alice', 'go', { id: 's-3' }))
    await until(() => model.requests.length === 2)
    const told = model.requests[1]?.messages.filter((m) => m.role === 'tool').map((m) => textOf(m.content))
    expect(told?.[1]).toContain('built')
  })
})
