import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CompletionError, complete } from '../../src/model/complete.ts'
import type { Message } from '../../src/model/message.ts'
import { ModelError, type ModelEvent, type ModelSettings } from '../../src/model/model-provider.ts'
import { createOpenAiChatProvider } from '../../src/model/openai-chat/provider.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { type Answer, ModelSim, text } from '../simulators/model/index.ts'
import { until } from '../support/engine.ts'
import { ManualClock } from '../support/manual-clock.ts'

let sim: ModelSim
beforeAll(async () => {
  sim = await ModelSim.start()
})
afterAll(() => sim.stop())
beforeEach(() => {
  sim.violations.length = 0
  sim.requests.length = 0
})

const TOOL = {
  name: 'bash',
  description: 'run',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

function provider(more: Partial<ModelSettings> = {}) {
  return createOpenAiChatProvider({
    model: 'sim-model',
    baseUrl: sim.baseUrl,
    apiKey: sim.key,
    contextWindow: 32_000,
    maxTokens: 0,
    reasoningEffort: '',
    vision: true,
    ...more,
  })
}

const ask = (content: string): Message => ({ role: 'user', content: [{ type: 'text', text: content }] })

async function events(
  answer: Answer | string,
  messages: Message[] = [ask('hi')],
  more: Partial<ModelSettings> = {},
): Promise<ModelEvent[]> {
  sim.script([answer])
  const seen: ModelEvent[] = []
  const request = { messages, tools: [TOOL], workstream: 'w' }
  for await (const event of provider(more).stream(request, new AbortController().signal)) seen.push(event)
  return seen
}

const textOf = (seen: ModelEvent[]): string => seen.map((e) => (e.type === 'text' ? e.text : '')).join('')
const callsOf = (seen: ModelEvent[]) =>
  seen.flatMap((e) => (e.type === 'tool-call' ? [[e.call.name, e.call.arguments]] : []))

describe('a stream', () => {
  it('gives text, then one finish with usage, also where chunks have no choices', async () => {
    const seen = await events({
      ...text('Hello there'),
      chunk: 3,
      emptyFirst: true,
      usage: { prompt: 11, completion: 3, cached: 4 },
    })
    expect(textOf(seen)).toBe('Hello there')
    const usage = { input: 11, cacheRead: 4, cacheWrite: 0, output: 3 }
    expect(seen.at(-2)).toEqual({ type: 'usage', usage })
    expect(seen.at(-1)).toEqual({ type: 'finish', reason: 'stop' })
    expect(seen.filter((e) => e.type === 'finish')).toHaveLength(1)
  })

  it('loses nothing that comes with the finish, and no byte of split characters', async () => {
    expect(textOf(await events({ ...text('the end.'), textInFinish: true }))).toBe('the end.')
    const wide = '東京 🗼 ünïcödé'
    const seen = await events({ text: wide, bytewise: true, calls: [{ name: 'bash', arguments: { command: wide } }] })
    expect(textOf(seen)).toBe(wide)
    expect(callsOf(seen)).toEqual([['bash', JSON.stringify({ command: wide })]])
  })

  it('keeps reasoning apart', async () => {
    const seen = await events({ ...text('42'), reasoning: 'let me think' })
    expect(textOf(seen)).toBe('42')
    expect(seen.some((e) => e.type === 'reasoning')).toBe(true)
  })

  const two = [
    ['bash', '{"command":"one"}'],
    ['bash', '{"command":"two"}'],
  ]
  it.each<[string, Partial<NonNullable<Answer['calls']>[number]>[]]>([
    [
      'one index for two ids',
      [
        { id: 'a', index: 0 },
        { id: 'b', index: 0 },
      ],
    ],
    [
      'no index at all',
      [
        { id: 'a', index: null },
        { id: 'b', index: null },
      ],
    ],
    ['fragments of few characters', [{ fragment: 3 }, { fragment: 2 }]],
    [
      'ids repeated',
      [
        { laterId: 'same', fragment: 4 },
        { laterId: 'same', fragment: 4 },
      ],
    ],
    [
      'later ids empty',
      [
        { laterId: 'empty', fragment: 4 },
        { laterId: 'empty', fragment: 4 },
      ],
    ],
    [
      'names repeated',
      [
        { repeatName: true, fragment: 4 },
        { repeatName: true, fragment: 4 },
      ],
    ],
    ['empty ids', [{ id: '' }, { id: '' }]],
  ])('puts calls together with %s', async (_name, odd) => {
    const calls = odd.map((o, i) => ({ name: 'bash', arguments: { command: ['one', 'two'][i] }, ...o }))
    const seen = await events({ calls })
    expect(callsOf(seen)).toEqual(two)
    const ids = seen.flatMap((e) => (e.type === 'tool-call' ? [e.call.id] : []))
    expect(new Set(ids).size).toBe(2)
    expect(seen.at(-1)).toMatchObject({ type: 'finish', reason: 'tool-calls' })
  })

  it.each<[string, Answer]>([
    ['destroyed', { ...text('half of it'), cut: { after: 3, how: 'destroy' } }],
    ['ended', { ...text('half of it'), cut: { after: 3, how: 'end' } }],
    ['done without a finish', { ...text('half of it'), cut: { after: 3, how: 'done' } }],
  ])('that is %s never counts as finished', async (_name, answer) => {
    await expect(events({ ...answer, chunk: 2 })).rejects.toMatchObject({ code: 'cut', retryable: true })
  })

  it('cut inside a call gives no call', async () => {
    const cut = events({
      calls: [{ name: 'bash', arguments: { command: 'rm -rf x' }, fragment: 2 }],
      cut: { after: 4, how: 'end' },
    })
    await expect(cut).rejects.toMatchObject({ code: 'cut' })
  })

  it('tells length and content filter', async () => {
    expect((await events({ ...text('a'), finish: 'length' })).at(-1)).toMatchObject({ reason: 'length' })
    expect((await events({ ...text('a'), finish: 'content_filter' })).at(-1)).toMatchObject({
      reason: 'content-filter',
    })
  })
})

describe('the history it sends', () => {
  it('is valid whatever a model had written, images and broken arguments included', async () => {
    const image = { type: 'image', mime: 'image/png', base64: 'AAAA' } as const
    await events('ok', [
      { role: 'system', text: 's' },
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      {
        role: 'assistant',
        text: '',
        calls: [
          { id: 'a', name: 'ba sh/é', arguments: '{"command": "cut' },
          { id: 'b', name: 'bash', arguments: '' },
        ],
      },
      { role: 'tool', callId: 'a', name: 'bash', content: [image] },
      { role: 'tool', callId: 'b', name: 'bash', content: [] },
      { role: 'user', content: [] },
      { role: 'assistant', text: '', calls: [] },
      ask('now'),
    ])
    expect(sim.violations).toEqual([])
    const [sent] = sim.completions
    expect(JSON.stringify(sent?.body)).toContain('malformed_arguments')
  })

  it('asks OpenAI’s newer models for no reasoning beside tools', async () => {
    const request = { messages: [ask('x')], tools: [TOOL], workstream: 'w' }
    const { toRequest } = await import('../../src/model/openai-chat/request.ts')
    const settings = {
      model: 'gpt-5.4',
      baseUrl: '',
      apiKey: 'k',
      contextWindow: 1,
      maxTokens: 7,
      reasoningEffort: '',
      vision: true,
    }
    expect(toRequest(request, settings, 'id')).toMatchObject({ reasoning_effort: 'none', max_completion_tokens: 7 })
    expect(toRequest({ ...request, tools: [] }, settings, 'id')).not.toHaveProperty('reasoning_effort')
    expect(toRequest(request, { ...settings, model: 'gpt-4o' }, 'id')).not.toHaveProperty('reasoning_effort')
    expect(toRequest(request, { ...settings, baseUrl: 'http://x' }, 'id')).toMatchObject({ max_tokens: 7 })
  })
})

describe('what only the provider understands', () => {
  const signature = { google: { thought_signature: 'c2lnbmVk' } }

  async function opaqueOf(answer: Answer): Promise<unknown[]> {
    return (await events(answer)).flatMap((e) => (e.type === 'opaque' ? [e.block] : []))
  }

  async function sentBack(provider: string, calls = 2): Promise<Record<string, unknown> | undefined> {
    const answer: Answer = {
      reasoning: 'because of that',
      chunk: 4,
      calls: [
        { name: 'bash', arguments: { command: 'a' } },
        { name: 'bash', arguments: { command: 'b' }, extraContent: signature },
      ],
    }
    const blocks = await opaqueOf(answer)
    const all = ['a', 'b'].map((id) => ({ id, name: 'bash', arguments: '{}' })).slice(0, calls)
    sim.requests.length = 0
    const results = all.map((c): Message => ({ role: 'tool', callId: c.id, name: 'bash', content: [] }))
    const assistant: Message = { role: 'assistant', text: 'so', calls: all, opaque: { provider, blocks } }
    await events('ok', [ask('hi'), assistant, ...results])
    expect(sim.violations).toEqual([])
    return sim.completions[0]?.messages[1]
  }

  it('is sent back to it: reasoning with the answer, signatures with their call', async () => {
    expect(await sentBack(provider().id)).toMatchObject({
      reasoning_content: 'because of that',
      tool_calls: [{ id: 'a' }, { id: 'b', extra_content: signature }],
    })
  })

  it('is sent to no other', async () => {
    const raw = JSON.stringify(await sentBack('openai-chat elsewhere sim-model'))
    expect(raw).not.toMatch(/reasoning_content|extra_content/)
  })

  it('is not sent beside an answer without calls', async () => {
    expect(JSON.stringify(await sentBack(provider().id, 0))).not.toMatch(/reasoning_content|extra_content/)
  })
})

describe('a last step', () => {
  it('keeps the tools and forbids to call them', async () => {
    sim.script(['fine'])
    const calls = [{ id: 'a', name: 'bash', arguments: '{}' }]
    const messages: Message[] = [
      ask('x'),
      { role: 'assistant', text: '', calls },
      { role: 'tool', callId: 'a', name: 'bash', content: [] },
    ]
    const request = { messages, tools: [TOOL], toolChoice: 'none', workstream: 'w' } as const
    for await (const _ of provider().stream(request, new AbortController().signal));
    expect(sim.violations).toEqual([])
    expect(sim.completions[0]?.body).toMatchObject({ tool_choice: 'none', tools: [{ type: 'function' }] })
  })
})

describe('faults', () => {
  it.each<[string, Answer, string, RegExp]>([
    [
      '401',
      { http: { status: 401, message: 'Incorrect API key provided: sk-very-secret-key' } },
      'auth',
      /The model server at 127\.0\.0\.1:\d+ rejected the API key/,
    ],
    ['quota', { http: { status: 429, code: 'insufficient_quota' } }, 'quota', /out of credit or over its quota/],
    ['429', { http: { status: 429, headers: { 'retry-after': '3' } } }, 'rate-limit', /limits how many requests/],
    [
      '404',
      { http: { status: 404, message: 'no such model' } },
      'not-found',
      /does not know the model "sim-model" \("no such model"\)\. It was asked at http:\/\/127.*\/v1\/chat\/completions\./,
    ],
    ['400', { http: { status: 400, message: 'bad thing' } }, 'bad-request', /refused the request \("bad thing"\)/],
    ['context', { http: { status: 400, code: 'context_length_exceeded' } }, 'context', /no longer fits/],
    ['image', { http: { status: 400, message: 'could not process image' } }, 'image', /could not read an image/],
    ['500', { http: { status: 500 } }, 'unavailable', /is failing \(HTTP 500\)/],
    [
      'in the stream',
      { ...text('x'), streamError: { after: 2, message: 'overloaded', code: 'server_error' } },
      'unavailable',
      /failing/,
    ],
    ['html', { html: '<html>proxy</html>' }, 'cut', /http:.*\/v1\/chat\/completions did not send a model's answer/],
  ])('%s is one plain sentence', async (_name, answer, code, said) => {
    const error = await events(answer).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ code, message: expect.stringMatching(said) })
    expect((error as Error).message).not.toContain('sk-very-secret-key')
  })

  it.each([
    ['', /found nothing at http:\/\/127[\d.:]+\/chat\/completions \(".*"\)\. .*want http:\/\/127[\d.:]+\/v1\./],
    ['/v1/chat/completions', /must not end in \/chat\/completions\./],
    ['/v2', /found nothing at .*\/v2\/chat\/completions.* check base_url\.$/],
  ])('names the URL where base_url ends in %j', async (path, said) => {
    const baseUrl = `${sim.baseUrl.replace(/\/v1$/, '')}${path}`
    const error = await events('unused', [ask('x')], { baseUrl }).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'not-found', message: expect.stringMatching(said) })
    sim.violations.length = 0
  })

  it('shows no user, password or query of base_url', async () => {
    const baseUrl = 'http://me:hunter2@127.0.0.1:9/v1?key=hunter2'
    const error = await events('unused', [ask('x')], { baseUrl }).catch((e: unknown) => e)
    expect((error as Error).message).toContain('127.0.0.1:9')
    expect((error as Error).message).not.toMatch(/hunter2|me:/)
  })

  it('takes Retry-After from the header or the body', async () => {
    await expect(events({ http: { status: 429, headers: { 'retry-after': '3' } } })).rejects.toMatchObject({
      retryAfterMs: 3000,
    })
    await expect(events({ http: { status: 429, retryAfterInBody: 2 } })).rejects.toMatchObject({ retryAfterMs: 2000 })
  })

  it('says so where nobody listens', async () => {
    const gone = await ModelSim.start()
    const goneUrl = gone.baseUrl
    await gone.stop()
    const address = new URL(goneUrl).host
    const nobody = provider({ baseUrl: goneUrl })
    const request = { messages: [ask('x')], tools: [], workstream: 'w' }
    const stream = nobody.stream(request, new AbortController().signal)[Symbol.asyncIterator]()
    await expect(stream.next()).rejects.toMatchObject({
      code: 'unavailable',
      message:
        `Could not reach the model server at ${address}. Nothing is listening there (ECONNREFUSED). ` +
        'Ask an operator to check that it is running and that base_url is right.',
    })
  })
})

describe('complete', () => {
  function run(clock: ManualClock, signal = new AbortController().signal) {
    let shown = ''
    let resets = 0
    const tools = {
      clock,
      redactor: createRedactor(['hunter2-secret']),
      onText: (t: string) => {
        shown += t
      },
      onReset: () => {
        shown = ''
        resets++
      },
      random: () => 0.5,
    }
    const done = complete(provider(), { messages: [ask('x')], tools: [TOOL], workstream: 'w' }, tools, signal)
    done.catch(() => undefined)
    return { done, shown: () => shown, resets: () => resets }
  }

  it('tries again after a broken stream and replaces what that attempt had shown', async () => {
    const clock = new ManualClock()
    sim.script([{ ...text('wrong half'), chunk: 2, cut: { after: 4, how: 'end' } }, 'right'])
    const r = run(clock)
    await until(() => clock.pending > 0 && sim.completions.length === 1 && r.resets() === 1)
    await clock.advance(1000)
    expect((await r.done).text).toBe('right')
    expect(r.shown()).toBe('right')
  })

  it('waits 1, 2 and 4 s, keeps what was shown last, and then gives up', async () => {
    const clock = new ManualClock()
    sim.script({ ...text('again half'), chunk: 2, cut: { after: 4, how: 'end' } })
    const r = run(clock)
    for (const [i, wait] of [1000, 2000, 4000].entries()) {
      await until(() => sim.completions.length === i + 1 && r.resets() === i + 1)
      await clock.advance(wait - 1)
      expect(sim.completions).toHaveLength(i + 1)
      await clock.advance(1)
    }
    const error = await r.done.catch((e: unknown) => e)
    expect(error).toBeInstanceOf(CompletionError)
    expect((error as CompletionError).shown).toBe(r.shown())
    expect(r.shown()).not.toBe('')
    expect(sim.completions).toHaveLength(4)
  })

  it('keeps a Retry-After up to a minute, and takes a longer one for a failure', async () => {
    const clock = new ManualClock()
    sim.script([{ http: { status: 429, headers: { 'retry-after': '30' } } }, 'later'])
    const r = run(clock)
    await until(() => sim.completions.length === 1 && clock.pending > 0)
    await clock.advance(29_000)
    expect(sim.completions).toHaveLength(1)
    await clock.advance(1100)
    expect((await r.done).text).toBe('later')
    sim.script([{ http: { status: 429, headers: { 'retry-after': '120' } } }])
    await expect(run(clock).done).rejects.toMatchObject({ code: 'rate-limit' })
  })

  it('does not try again what another try cannot mend', async () => {
    sim.script([{ http: { status: 401 } }])
    await expect(run(new ManualClock()).done).rejects.toMatchObject({ code: 'auth' })
    expect(sim.completions).toHaveLength(1)
  })

  it('counts two minutes of silence as a stall', async () => {
    const clock = new ManualClock()
    const gate = sim.gate()
    sim.script([{ ...text('begun and silent'), chunk: 2, holds: [{ at: 3, gate }] }, 'second'])
    const r = run(clock)
    await until(() => r.shown() !== '')
    await clock.advance(119_000)
    expect(r.resets()).toBe(0)
    await clock.advance(1001)
    await until(() => r.resets() === 1)
    await clock.advance(1000)
    expect((await r.done).text).toBe('second')
    gate.release()
  })

  it('ends an answer that takes longer than ten minutes, and does not try again', async () => {
    const clock = new ManualClock()
    const gates = Array.from({ length: 8 }, () => sim.gate())
    const chunks = gates.map((_, i) => `line ${i} of a slow answer\n`)
    sim.script([{ chunks, holds: gates.map((gate, i) => ({ at: i + 1, gate })) }])
    const r = run(clock)
    for (const gate of gates.slice(0, 7)) {
      const before = r.shown()
      gate.release()
      await until(() => r.shown() !== before)
      await clock.advance(90_000)
    }
    const error = await r.done.catch((e: unknown) => e)
    gates[7]?.release()
    expect(error).toMatchObject({ code: 'too-long', message: expect.stringContaining('longer than 10 minutes') })
    expect(sim.completions).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it.each<[string, Answer]>([
    ['text', { chunks: Array.from({ length: 11 }, () => 'x'.repeat(100_000)) }],
    ['a call', { calls: [{ name: 'bash', arguments: { command: 'y'.repeat(1_100_000) }, fragment: 100_000 }] }],
    ['reasoning', { ...text('z'), reasoning: 'z'.repeat(1_100_000) }],
  ])('ends an answer whose %s grows beyond a million characters', async (_name, answer) => {
    sim.script([answer])
    await expect(run(new ManualClock()).done).rejects.toMatchObject({ code: 'too-long' })
    expect(sim.completions).toHaveLength(1)
  })

  it('takes the pieces of a long call for signs of life', async () => {
    const clock = new ManualClock()
    const gate = sim.gate()
    const calls = [{ name: 'bash', arguments: { command: 'x'.repeat(50) }, fragment: 10 }]
    sim.script([{ calls, holds: [{ at: 4, gate }] }])
    const r = run(clock)
    await until(() => sim.completions.length === 1)
    await clock.advance(119_000)
    gate.release()
    expect((await r.done).calls).toHaveLength(1)
  })

  it('sums what every attempt has used, as far as the server said it', async () => {
    const clock = new ManualClock()
    const usage = { prompt: 10, completion: 2, cached: 4 }
    const cut = { ...text('half'), usage, usageInChunks: true, cut: { after: 2, how: 'end' } } as const
    sim.script([cut, { ...text('whole'), usage }])
    const r = run(clock)
    await until(() => r.resets() === 1)
    await clock.advance(2000)
    expect((await r.done).usage).toEqual({ input: 20, cacheRead: 8, cacheWrite: 0, output: 4 })
    sim.script([cut, { http: { status: 401 } }])
    const failed = run(clock)
    await until(() => failed.resets() === 1)
    await clock.advance(2000)
    await expect(failed.done).rejects.toMatchObject({ code: 'auth', usage: { input: 10, output: 2 } })
  })

  it('keeps opaque blocks with the id of the provider, and none that holds a secret', async () => {
    sim.script([
      { reasoning: 'plain', calls: [{ name: 'bash', arguments: {} }] },
      { reasoning: 'hunter2-secret', calls: [{ name: 'bash', arguments: {} }] },
    ])
    const blocks = [{ type: 'reasoning_content', text: 'plain' }]
    expect((await run(new ManualClock()).done).opaque).toEqual({ provider: provider().id, blocks })
    expect((await run(new ManualClock()).done).opaque).toBeUndefined()
  })

  it('ends at once with the signal', async () => {
    const clock = new ManualClock()
    const gate = sim.gate()
    sim.script([{ ...text('begun'), holds: [{ at: 'headers', gate }] }])
    const stop = new AbortController()
    const r = run(clock, stop.signal)
    await until(() => sim.completions.length === 1)
    stop.abort(new Error('stopped'))
    await expect(r.done).rejects.toThrow('stopped')
    gate.release()
  })

  it('takes secrets out of text and calls', async () => {
    sim.script([
      {
        ...text('it is hunter2-secret ok'),
        chunk: 3,
        calls: [{ name: 'bash', arguments: { command: 'echo hunter2-secret' } }],
      },
    ])
    const r = run(new ManualClock())
    const done = await r.done
    expect(r.shown()).toBe('it is [redacted] ok')
    expect(done.calls[0]?.arguments).toBe('{"command":"echo [redacted]"}')
  })
})
