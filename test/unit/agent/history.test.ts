import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Message } from '../../../src/model/message.ts'
import { type Clock, systemClock } from '../../../src/util/time.ts'
import { message, startEngine, until } from '../../support/engine.ts'
import { FakePlatform } from '../../support/fake-adapter.ts'
import { fillTurns } from '../../support/fill.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'
import { type StatementWatch, watchStatements } from '../../support/statements.ts'

type Options = Parameters<typeof startEngine>[0]

let e: Awaited<ReturnType<typeof startEngine>>
let watch: StatementWatch
/** What the clock is ahead of the system's, ms: nobody may write more than 30 messages a minute. */
let ahead = 0
const clock: Clock = { now: () => systemClock.now() + ahead, after: systemClock.after }
const begin = async (options: Options): Promise<void> => {
  e = await startEngine({ clock, ...options })
}
beforeEach(() => {
  watch = watchStatements()
})
afterEach(async () => {
  watch.stop()
  await e?.stop().catch(() => undefined)
})

/** Sends it and waits for the end of the turn that answers. */
async function ask(text: string, at: Parameters<typeof message>[2] = { thread: 'c1' }): Promise<void> {
  const done = e.counts.filter((c) => c.startsWith('turns_')).length
  ahead += 10_000
  await e.inbox.message(message('alice', text, at))
  await until(() => e.counts.filter((c) => c.startsWith('turns_')).length > done)
}

async function conversation(): Promise<string> {
  await ask('hello', { id: 'c1' })
  const row = await e.store.db.selectFrom('workstreams').select('id').executeTakeFirstOrThrow()
  return row.id
}

const withWindow = (model: ScriptedModel, contextWindow: number): ScriptedModel =>
  Object.assign(model, { contextWindow })

const textsOf = (messages: readonly Message[]): string[] =>
  messages.map((m) => ('content' in m ? m.content.map((p) => (p.type === 'text' ? p.text : p.mime)).join() : m.text))

describe('E3a, G1: of a long history', () => {
  it('E3a G1 only the rows that fit the window are read, and the turn’s own are not read again at each step', async () => {
    const probe = probeTool('probe')
    const step = { calls: [{ name: 'probe', args: { text: 'y' } }] }
    const model = withWindow(new ScriptedModel('hi', step, step, 'done'), 8000)
    await begin({ model, tools: [probe] })
    await fillTurns(e.store, await conversation(), 2000, 400)
    watch.reset()
    await ask('and now?')
    expect(probe.runs).toHaveLength(2)
    const sent = model.requests.at(-1)?.messages.length ?? 0
    expect(sent).toBeGreaterThan(20)
    // A turn is three rows; two of them are sent.
    expect(watch.rowsOf('journal')).toBeLessThan(2 * sent)
    const texts = textsOf(model.requests.at(-1)?.messages ?? []).join('\n')
    expect(texts).toContain('question 1999')
    expect(texts).not.toContain('question 100 ')
  })

  it('E3a all of it is sent where it fits, with nothing said to be left out', async () => {
    const model = withWindow(new ScriptedModel('hi', 'done'), 100_000)
    await begin({ model })
    await fillTurns(e.store, await conversation(), 300)
    await ask('and now?')
    const texts = textsOf(model.requests.at(-1)?.messages ?? [])
    expect(texts).toHaveLength(1 + 2 + 600 + 1)
    expect(texts.join()).not.toContain('left out')
    expect(texts[1]).toBe('hello')
  })

  it('E3a a turn that stands across the edge is sent whole where it fits, and never in part', async () => {
    const model = withWindow(new ScriptedModel('hi'), 4000)
    await begin({ model })
    const id = await conversation()
    for (const chars of [1500, 3000, 5000, 200, 4000, 700]) {
      await fillTurns(e.store, id, 1, chars)
      model.steps.push('ok')
      await ask('next')
      const messages = model.requests.at(-1)?.messages ?? []
      const estimate = textsOf(messages).join('').length / 4
      expect(estimate).toBeLessThan(4000 * 0.8)
      const after = messages.filter((m) => m.role !== 'system')
      const first = textsOf(after)[0] ?? ''
      expect(first).toMatch(/^(hello|next|question|\[Earlier)/)
      if (first.startsWith('[Earlier')) expect(textsOf(after)[1]).toMatch(/^(next|question)/)
    }
  })
})

describe('E3c: while a conversation slides out of the window', () => {
  it('E3c the beginning of the request stays the same for many turns', async () => {
    const model = withWindow(new ScriptedModel('hi'), 8000)
    await begin({ model })
    await fillTurns(e.store, await conversation(), 200, 400)
    const beginnings: string[] = []
    const extended: boolean[] = []
    let last: readonly Message[] = []
    for (let i = 0; i < 40; i++) {
      model.steps.push('an answer '.repeat(20))
      await ask('some question '.repeat(15))
      const messages = model.requests.at(-1)?.messages ?? []
      beginnings.push(JSON.stringify(messages.slice(0, 4)))
      extended.push(JSON.stringify(messages.slice(0, last.length)) === JSON.stringify(last))
      last = messages
    }
    const moves = beginnings.filter((b, i) => i > 0 && b !== beginnings[i - 1]).length
    expect(moves).toBeGreaterThan(0)
    expect(moves).toBeLessThanOrEqual(3)
    expect(extended.filter((same) => !same).length).toBeLessThanOrEqual(4)
  })

  it('E3c the same rows give the same request in another process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'history-'))
    const [file, copy] = [join(folder, 'a.db'), join(folder, 'b.db')]
    await begin({ model: withWindow(new ScriptedModel('hi'), 8000), file })
    await fillTurns(e.store, await conversation(), 150, 400)
    await e.stop()
    copyFileSync(file, copy)
    const sent: string[] = []
    for (const one of [file, copy]) {
      const model = withWindow(new ScriptedModel('one'), 8000)
      await begin({ model, file: one })
      await ask('first', { thread: 'c1', id: 'm-first' })
      expect(model.requests[0]?.messages.length).toBeGreaterThan(10)
      sent.push(JSON.stringify(model.requests[0]?.messages))
      await e.stop()
    }
    expect(sent[0]).toBe(sent[1])
  })
})

describe('E3b: images', () => {
  const MB = 1024 * 1024
  const png = (size: number, fill: number): Uint8Array => {
    const bytes = Buffer.alloc(size, fill)
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1').copy(bytes)
    return bytes
  }
  const send = async (platform: FakePlatform, n: number, size: number): Promise<void> => {
    ahead += 10_000
    platform.files.set(`u${n}`, png(size, n))
    const done = e.counts.filter((c) => c.startsWith('turns_')).length
    const file = { name: `p${n}.png`, size, url: `u${n}` }
    await e.inbox.message({ ...message('alice', `picture ${n}`, { thread: 'c1' }), attachments: [file] })
    await until(() => e.counts.filter((c) => c.startsWith('turns_')).length > done)
  }
  const imagesIn = (messages: readonly Message[]) =>
    messages.flatMap((m) => ('content' in m ? m.content.filter((p) => p.type === 'image') : []))

  it('E3b are kept beside the journal, once, and a request carries the newest within a budget', async () => {
    const platform = new FakePlatform()
    const model = withWindow(new ScriptedModel('hi'), 400_000)
    await begin({ model, platform })
    await conversation()
    for (let n = 1; n <= 14; n++) {
      model.steps.push(`saw ${n}`)
      await send(platform, n, 4 * MB - 10)
    }
    const messages = model.requests.at(-1)?.messages ?? []
    expect(JSON.stringify(messages).length).toBeLessThan(17 * MB)
    expect(imagesIn(messages).length).toBeGreaterThanOrEqual(1)
    const newest = imagesIn(messages).at(-1)
    expect(newest?.type === 'image' && Buffer.from(newest.base64, 'base64').equals(png(4 * MB - 10, 14))).toBe(true)
    expect(textsOf(messages).join('\n')).toMatch(/p1\.png.*\[image \(image\/png, 4096 KB\) left out.*ask for/)
    const longest = await e.store.db
      .selectFrom('journal')
      .select((x) => x.fn.max<number>(x.fn('length', ['data'])).as('n'))
      .executeTakeFirst()
    expect(longest?.n).toBeLessThan(1000)
    model.steps.push('again')
    await send(platform, 14, 4 * MB - 10)
    expect(await e.store.db.selectFrom('blobs').select('sha256').execute()).toHaveLength(14)
  })

  it('E3b many small ones leave in large steps, so that the beginning stays the same between', async () => {
    const platform = new FakePlatform()
    const model = withWindow(new ScriptedModel('hi'), 400_000)
    await begin({ model, platform })
    await conversation()
    let moves = 0
    let last: readonly Message[] = []
    for (let n = 1; n <= 45; n++) {
      model.steps.push(`saw ${n}`)
      await send(platform, n, 1000)
      const messages = model.requests.at(-1)?.messages ?? []
      expect(imagesIn(messages).length).toBeLessThanOrEqual(20)
      if (JSON.stringify(messages.slice(0, last.length)) !== JSON.stringify(last)) moves++
      last = messages
    }
    expect(moves).toBeGreaterThan(0)
    expect(moves).toBeLessThanOrEqual(3)
  })
})
