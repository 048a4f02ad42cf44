import { afterEach, describe, expect, test } from 'vitest'
import type { Address, TurnCanvas } from '../../src/channel/channel-adapter.ts'
import type { TurnView, ViewItem } from '../../src/channel/turn-view.ts'
import { channelAdapterContract } from '../contracts/channel-adapter.ts'
import type { SeenMessage } from '../simulators/slack/index.ts'
import { Bench } from './slack-support.ts'

let bench: Bench
afterEach(() => bench.stop())

const forever = new AbortController().signal
const text = (value: string): ViewItem => ({ kind: 'text', text: value })
const tool = (state: 'running' | 'done' | 'denied', tail?: string): ViewItem => ({
  kind: 'tool',
  callId: 'c1',
  tool: 'bash',
  header: 'ls `x` <!channel>',
  state,
  ...(tail ? { tail } : {}),
})
const view = (phase: TurnView['phase'], ...sections: ViewItem[][]): TurnView => ({
  turn: 'abcd1234',
  phase,
  sections: sections.map((items) => ({ items })),
})

/** A mention in the channel that was heard, and the place of its answer. */
async function asked(): Promise<{ to: Address; root: string }> {
  const { sim, ada, room } = bench
  const before = bench.inbound.messages.length
  const root = sim.say(ada, room, `${sim.mention} go`).ts
  await expect.poll(() => bench.inbound.messages.length).toBe(before + 1)
  return { to: { platform: 'slack', id: `${room}:${root}` }, root }
}

const own = (root: string): SeenMessage[] => bench.sim.own(bench.room, root)
const shown = (root: string): string[] => own(root).map((m) => m.rendered)

/** Draws growing text part by part, each shown before the next. */
async function grow(canvas: TurnCanvas, root: string, whole: string, steps: number): Promise<void> {
  for (let i = 1; i <= steps; i++) {
    const part = whole.slice(0, Math.ceil((whole.length * i) / steps))
    canvas.draw(view('writing', [text(part)]))
    await expect.poll(() => shown(root).join('').length, { timeout: 8000 }).toBeGreaterThan(part.length * 0.9 - 200)
  }
}

describe('the port', () => {
  channelAdapterContract(async () => {
    bench = await Bench.start()
    const { sim, posts, clock, room } = bench
    let root = ''
    return {
      adapter: bench.adapter,
      async restart() {
        await bench.restart()
        return bench.adapter
      },
      posts,
      clock,
      async conversation() {
        const begun = await asked()
        root = begun.root
        return begun.to
      },
      texts: () => shown(root),
      deleteMessage: async (ref) => sim.people.delete(ref.channel, ref.id),
      async lock() {
        sim.world.channel(room).archived = true
      },
      loseNextAnswer: () => void sim.faults.on({ method: 'chat.postMessage', times: 1, dropAfter: true }),
      settled: (work) => work,
    }
  })
})

describe('native streaming', () => {
  test('grows one message, ends it with the key, clears the status', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('thinking', []))
    await expect.poll(() => bench.sim.status(bench.room, root)).toBe('is thinking…')
    for (const part of [
      'Hello',
      'Hello **wor',
      'Hello **world** & a<b <!chan',
      'Hello **world** & a<b <!channel> @here',
    ]) {
      canvas.draw(view('writing', [text(part)]))
      await new Promise((r) => bench.clock.after(1600, () => r(undefined)))
    }
    canvas.draw(view('done', [text('Hello **world** & a<b <!channel> @here <@U123>, x@here.org')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['Hello **world** & a<b < !channel> @ here < @U123>, x@here.org'])
    const [message] = own(root)
    expect(message?.pinged).toEqual([])
    expect(message?.stream?.state).toBe('completed')
    expect(message?.stream?.recipient).toBe(bench.ada)
    expect(message?.metadata).toMatchObject({ event_payload: { key: 'turn1/0/0' } })
    expect(bench.sim.callsOf('chat.appendStream').length).toBeGreaterThan(0)
    expect(bench.sim.callsOf('chat.update')).toEqual([])
    expect(bench.sim.status(bench.room, root)).toBe('')
    expect(bench.sim.callsOf('assistant.threads.setStatus').at(-1)?.args.status).toBe('')
  })

  test('tools stand in order, change state, and what changes is an edit', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('I look.')]))
    await expect.poll(() => shown(root)).toEqual(['I look.'])
    canvas.draw(view('tools', [text('I look.'), tool('running', 'line 1\nline 2')]))
    await expect.poll(() => shown(root)[0] ?? '').toContain('line 2')
    expect(bench.sim.status(bench.room, root)).toContain('bash')
    canvas.draw(view('writing', [text('I look.'), tool('done'), text('There is | a bar')]))
    await expect.poll(() => shown(root)[0] ?? '').toContain('✅')
    canvas.draw(
      view('done', [
        text('I look.'),
        tool('done'),
        text('There it is.'),
        { kind: 'notice', tone: 'error', text: 'cut' },
      ]),
    )
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['I look.\n\n- ✅ **bash** ``ls `x` < !channel>``\n\nThere it is.\n\n❗ cut'])
    expect(own(root)[0]?.pinged).toEqual([])
  })

  test('a broken attempt is replaced, nothing twice', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('First try that')]))
    await expect.poll(() => shown(root)).toEqual(['First try that'])
    canvas.draw(view('thinking', [text('')]))
    canvas.draw(view('writing', [text('Second')]))
    await expect.poll(() => shown(root)).toEqual(['Second'])
    canvas.draw(view('done', [text('Second try.')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['Second try.'])
  })

  test('a turn that waits ends its stream; the next section is a new message', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('May I?')]))
    canvas.draw(view('waiting', [text('May I?')]))
    await canvas.settle(forever)
    expect(own(root)[0]?.stream?.state ?? 'completed').toBe('completed')
    const next = bench.adapter.canvas(to, 'turn1', bench.posts)
    next.draw(view('writing', [text('May I?')], [text('Yes')]))
    next.draw(view('done', [text('May I?')], [text('Yes.')]))
    await next.settle(forever)
    expect(shown(root)).toEqual(['May I?', 'Yes.'])
    expect(bench.sim.callsOf('chat.update')).toEqual([])
  })

  test.each(['message_not_in_streaming_state', 'stopped_by_user'])(
    '%s: the rest stands in a new message',
    async (error) => {
      bench = await Bench.start()
      const { to, root } = await asked()
      const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
      canvas.draw(view('writing', [text('One two')]))
      await expect.poll(() => shown(root)).toEqual(['One two'])
      bench.sim.faults.on({ method: 'chat.appendStream', times: 1, error })
      canvas.draw(view('writing', [text('One two three')]))
      await expect.poll(() => own(root).length).toBe(2)
      canvas.draw(view('done', [text('One two three four')]))
      await canvas.settle(forever)
      expect(shown(root).join('')).toBe('One two three four')
    },
  )

  test('a stream is rolled over before Slack seals it, by age and by length', async () => {
    bench = await Bench.start({ factor: 400, sim: { rateLimits: false } })
    const { to, root } = await asked()
    const whole = Array.from({ length: 3000 }, (_, i) => `word${i}`).join(' ')
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    const began = bench.clock.now()
    await grow(canvas, root, whole, 12)
    while (bench.clock.now() - began < 300_000) await grow(canvas, root, whole, 1)
    canvas.draw(view('writing', [text(`${whole} and`)]))
    await new Promise((r) => bench.clock.after(20_000, () => r(undefined)))
    canvas.draw(view('done', [text(`${whole} and more`)]))
    await canvas.settle(forever)
    const words = shown(root).join(' ').split(/\s+/).join(' ')
    expect(words).toBe(`${whole} and more`)
    expect(own(root).length).toBeGreaterThan(2)
    expect(own(root).every((m) => m.stream?.state !== 'errored' && m.rendered.length <= 12_000)).toBe(true)
    expect(bench.sim.calls.filter((c) => c.error === 'message_not_in_streaming_state')).toEqual([])
  }, 60_000)

  test.each(['unknown_method', 'feature_disabled'] as const)('%s: answers grow by edits', async (streaming) => {
    bench = await Bench.start({ sim: { features: { streaming } } })
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('One')]))
    await expect.poll(() => shown(root)).toEqual(['One'])
    canvas.draw(view('writing', [text('One two')]))
    await expect.poll(() => shown(root)).toEqual(['One two'])
    canvas.draw(view('done', [text('One two three')]))
    await canvas.settle(forever)
    const other = bench.adapter.canvas(to, 'turn2', bench.posts)
    other.draw(view('writing', [text('Again')]))
    await expect.poll(() => shown(root)).toEqual(['One two three', 'Again'])
    expect(bench.sim.callsOf('chat.startStream').length).toBe(1)
    other.draw(view('stopped', [text('Again')]))
    await other.settle(forever)
  })
})

describe('faults', () => {
  test('late answers, lost answers and server errors never double', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const { faults } = bench.sim
    faults.on({ method: 'chat.startStream', times: 1, dropAfter: true })
    faults.on({ method: 'chat.appendStream', times: 1, dropAfter: true })
    faults.on({ method: 'chat.update', times: 1, status: 500 })
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('One')]))
    await expect.poll(() => own(root).length).toBe(1)
    canvas.draw(view('writing', [text('One two')]))
    await expect.poll(() => shown(root), { timeout: 8000 }).toEqual(['One two'])
    canvas.draw(view('done', [text('One two three')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['One two three'])

    faults.on({ method: 'chat.postMessage', times: 1, dropAfter: true })
    faults.on({ method: 'conversations.replies', times: 1, status: 502 })
    const second = bench.adapter.canvas(to, 'turn2', bench.posts)
    second.draw(view('done', [text('Second answer')]))
    await second.settle(forever)
    expect(shown(root)).toEqual(['One two three', 'Second answer'])
  })

  test('a lost append of a stream is written over', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('One')]))
    await expect.poll(() => shown(root)).toEqual(['One'])
    bench.sim.faults.on({ method: 'chat.appendStream', times: 1, dropAfter: true })
    canvas.draw(view('writing', [text('One two')]))
    await expect.poll(() => bench.sim.callsOf('chat.update').length, { timeout: 5000 }).toBe(1)
    canvas.draw(view('done', [text('One two three')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['One two three'])
  })

  test('limits: a 429 waits, growing text gives way, the end comes', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    bench.sim.limits.perMinute.set('chat.appendStream', 2)
    bench.sim.faults.on({ method: 'chat.stopStream', times: 1, retryAfter: 3 })
    bench.sim.faults.on({ method: 'chat.startStream', times: 1, retryAfter: 2 })
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    let whole = ''
    for (let i = 0; i < 6; i++) {
      whole += `part ${i}. `
      canvas.draw(view('writing', [text(whole)]))
      await new Promise((r) => bench.clock.after(1700, () => r(undefined)))
    }
    canvas.draw(view('done', [text(`${whole}end`)]))
    await canvas.settle(forever)
    expect(shown(root).join('')).toBe(`${whole}end`)
    expect(own(root).length).toBe(1)
  })

  test('a restart in the middle of a stream ends it and writes the whole', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('Half an ans')]))
    await expect.poll(() => shown(root)).toEqual(['Half an ans'])
    await bench.restart()
    expect(own(root)[0]?.stream?.state).toBe('in_progress')
    const again = bench.adapter.canvas(to, 'turn1', bench.posts)
    again.draw(view('done', [text('A wholly other answer')]))
    await again.settle(forever)
    expect(shown(root)).toEqual(['A wholly other answer'])
    expect(own(root)[0]?.metadata).toMatchObject({ event_payload: { key: 'turn1/0/0' } })
    expect(bench.sim.status(bench.room, root)).toBe('')
  })

  test('a restart with a row that was begun finds the stream and the post', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    bench.sim.faults.on({ method: 'chat.startStream', times: 1, hangAfter: true })
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('Lost')]))
    await expect.poll(() => own(root).length).toBe(1)
    await bench.restart()
    const again = bench.adapter.canvas(to, 'turn1', bench.posts)
    again.draw(view('done', [text('Lost and found')]))
    await again.settle(forever)
    expect(shown(root)).toEqual(['Lost and found'])
  })

  test('an ended stream that Slack will not change is posted anew', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('writing', [text('One')]))
    await expect.poll(() => shown(root)).toEqual(['One'])
    bench.sim.faults.on({ method: 'chat.update', error: 'block_mismatch' })
    canvas.draw(view('done', [text('Two')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['Two'])
  })

  test('a place that is gone ends the painting, and settle does not hang', async () => {
    bench = await Bench.start()
    const { to } = await asked()
    bench.sim.world.channel(bench.room).archived = true
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('done', [text('nobody reads it')]))
    await canvas.settle(forever)
    const stop = new AbortController()
    stop.abort(new Error('enough'))
    await expect(canvas.settle(stop.signal)).rejects.toThrow('enough')
  })
})

test('many answers at once keep to the workspace’s budget and all come whole', async () => {
  bench = await Bench.start({ factor: 60 })
  const places = []
  for (let i = 0; i < 16; i++) places.push(await asked())
  const word = (i: number, n: number): string => Array.from({ length: n }, (_, k) => `a${i}w${k}`).join(' ')
  const canvases = places.map(({ to }, i) => bench.adapter.canvas(to, `turn${i}`, bench.posts))
  for (let n = 1; n <= 12; n++) {
    for (const [i, canvas] of canvases.entries()) canvas.draw(view('writing', [text(word(i, n))]))
    await new Promise((r) => bench.clock.after(1600, () => r(undefined)))
  }
  for (const [i, canvas] of canvases.entries()) canvas.draw(view('done', [text(word(i, 14))]))
  await Promise.all(canvases.map((c) => c.settle(forever)))
  for (const [i, { root }] of places.entries()) expect(shown(root)).toEqual([word(i, 14)])
  const limited = bench.sim.calls.filter((c) => c.status === 429)
  expect(limited.map((c) => c.method)).toEqual([])
}, 60_000)

test('the status goes with the phases and is there again after a post', async () => {
  bench = await Bench.start()
  const { to, root } = await asked()
  const status = (): string => bench.sim.status(bench.room, root)
  const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
  canvas.draw(view('writing', [text('I look.')]))
  await expect.poll(() => shown(root)).toEqual(['I look.'])
  canvas.draw(view('tools', [text('I look.'), tool('running')]))
  await expect.poll(status).toBe('is running bash…')
  canvas.draw(view('thinking', [text('I look.'), tool('done')]))
  await expect.poll(status).toBe('is thinking…')
  canvas.draw(view('waiting', [text('I look.'), tool('done')]))
  await canvas.settle(forever)
  expect(status()).toBe('')
  bench.sim.features.status = false
  const next = bench.adapter.canvas(to, 'turn2', bench.posts)
  next.draw(view('thinking', []))
  next.draw(view('done', [text('fine')]))
  await next.settle(forever)
  expect(shown(root).at(-1)).toBe('fine')
})

describe('long answers', () => {
  test('are split at Slack’s limits, tables and fences whole, nothing blank', async () => {
    bench = await Bench.start({ factor: 40 })
    const { to, root } = await asked()
    const table = ['| a | b |', '|---|---|', '| 1 |  |', '| x | y |'].join('\n')
    const long = Array.from({ length: 900 }, (_, i) => `print(${i}) # some code`).join('\n')
    const headings = Array.from({ length: 80 }, (_, i) => `## Heading ${i}`).join('\n\n')
    const answer = `${table}\n\nand\n\n${table}\n\n\`\`\`python\n${long}\n\`\`\`\n\n${headings}`
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('done', [text(answer)], [text(' \n ')], []))
    await canvas.settle(forever)
    const messages = own(root)
    expect(messages.length).toBeGreaterThan(2)
    const all = shown(root).join('\n')
    for (let i = 0; i < 900; i++) expect(all).toContain(`print(${i}) #`)
    for (const m of messages) {
      expect((m.rendered.match(/```/g) ?? []).length % 2).toBe(0)
      expect((m.rendered.match(/\|---\|/g) ?? []).length).toBeLessThan(2)
      expect((m.rendered.match(/^## /gm) ?? []).length).toBeLessThanOrEqual(45)
    }
  })

  test('blocks that Slack refuses become plain text', async () => {
    bench = await Bench.start()
    const { to, root } = await asked()
    bench.sim.faults.on({ method: 'chat.postMessage', when: (a) => a.blocks !== undefined, error: 'invalid_blocks' })
    const canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
    canvas.draw(view('done', [text('a & b')]))
    await canvas.settle(forever)
    expect(shown(root)).toEqual(['a & b'])
  })
})

describe('whatever fails, the thread shows the answer once', () => {
  const METHODS = ['startStream', 'appendStream', 'stopStream', 'update', 'postMessage'].map((m) => `chat.${m}`)
  const FAULTS = [
    { dropAfter: true },
    { dropBefore: true },
    { status: 500 },
    { retryAfter: 1 },
    { error: 'internal_error' },
    { error: 'message_not_in_streaming_state' },
  ]

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'faults and restarts, seed %i',
    async (seed) => {
      bench = await Bench.start({ factor: 60, sim: { rateLimits: false } })
      let state = seed * 7919
      const random = (n: number): number => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
        return Math.floor((state / 2_147_483_648) * n)
      }
      const { to, root } = await asked()
      let canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
      const items: ViewItem[] = []
      for (let i = 0; i < 14; i++) {
        const method = METHODS[random(METHODS.length)] ?? ''
        const fault = FAULTS[random(FAULTS.length)] ?? {}
        const ends = JSON.stringify(fault).includes('message_not')
        if (random(2) === 0 && (!ends || method === 'chat.appendStream'))
          bench.sim.faults.on({ method, times: 1, ...fault })
        const last = items.at(-1)
        if (random(5) === 0) items.push({ kind: 'tool', callId: `c${i}`, tool: 'bash', header: `h${i}`, state: 'done' })
        else if (last?.kind === 'text') items[items.length - 1] = text(`${last.text} w${i}`)
        else items.push(text(`w${i}`))
        canvas.draw(view('writing', [...items]))
        await new Promise((r) => bench.clock.after(random(3000), () => r(undefined)))
        if (random(6) === 0) {
          await bench.restart()
          canvas = bench.adapter.canvas(to, 'turn1', bench.posts)
        }
      }
      bench.sim.faults.clear()
      canvas.draw(view('done', [...items]))
      await canvas.settle(forever)
      const wanted = items.map((i) => (i.kind === 'tool' ? `- ✅ **bash** \`${i.header}\`` : i.text)).join(' ')
      expect(shown(root).join(' ').replace(/\s+/g, ' ').trim()).toBe(wanted)
      expect(own(root).filter((m) => m.stream?.state === 'in_progress')).toEqual([])
    },
    60_000,
  )
})
