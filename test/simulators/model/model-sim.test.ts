import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, ModelSim } from './index.ts'

let sim: ModelSim
let client: OpenAI
const user = [{ role: 'user' as const, content: 'hi' }]

beforeEach(async () => {
  sim = await ModelSim.start()
  client = new OpenAI({ apiKey: 'sk-sim', baseURL: sim.baseUrl, maxRetries: 0 })
})
afterEach(() => sim.stop())

async function streamed(answer: Answer, includeUsage = true) {
  sim.script([answer])
  const stream = await client.chat.completions.create({
    model: 'sim-model',
    messages: user,
    stream: true,
    ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
  })
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  const finish = chunks.map((chunk) => chunk.choices[0]?.finish_reason).find(Boolean)
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
  return { chunks, text, finish, calls }
}

/** Sends a body as it is; `[status, code, message]` of the answer. */
async function raw(body: unknown, key = 'sk-sim'): Promise<[number, unknown, string]> {
  const answer = await fetch(`${sim.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const json = (await answer.json()) as { error?: { code: unknown; message: string; type: string } }
  return [answer.status, json.error?.code, json.error?.message ?? '']
}

describe('answers', () => {
  test('a text, whole and streamed', async () => {
    sim.script([{ text: 'Hello', usage: { prompt: 7, completion: 2 } }])
    const whole = await client.chat.completions.create({ model: 'sim-model', messages: user })
    expect(whole.choices[0]?.message.content).toBe('Hello')
    expect(whole.usage?.total_tokens).toBe(9)
    const got = await streamed({ text: 'abcdef', chunk: 2 })
    expect(got.text).toBe('abcdef')
    expect(got.finish).toBe('stop')
    expect(got.chunks.at(-1)?.choices).toEqual([])
    expect(got.chunks.at(-1)?.usage?.prompt_tokens).toBe(100)
  })

  test('no usage chunk unless it is asked for', async () => {
    const got = await streamed({ text: 'a' }, false)
    expect(got.chunks.every((chunk) => chunk.usage === undefined)).toBe(true)
  })

  test('bytes one at a time keep the text', async () => {
    const text = '漢字 🙂 é'
    expect((await streamed({ text, chunk: 1, bytewise: true })).text).toBe(text)
  })

  test('odd tool call deltas', async () => {
    const args = { path: 'a b' }
    const got = await streamed({
      calls: [
        { name: 'read', arguments: args, id: 'c1', index: 0, fragment: 3, laterId: 'empty', repeatName: true },
        { name: 'read', arguments: args, id: 'c2', index: 0, fragment: 5 },
        { name: 'list', arguments: '', id: 'c3', index: null },
      ],
    })
    expect(got.finish).toBe('tool_calls')
    expect(got.calls.filter((call) => call.id).map((call) => [call.id, call.index])).toEqual([
      ['c1', 0],
      ['c2', 0],
      ['c3', undefined],
    ])
    expect(got.calls.some((call) => call.id === '' && call.function?.name === 'read')).toBe(true)
    const first = got.calls.slice(
      0,
      got.calls.findIndex((call) => call.id === 'c2'),
    )
    expect(JSON.parse(first.map((call) => call.function?.arguments ?? '').join(''))).toEqual(args)
  })

  test('empty first chunk, text in the finish chunk, reasoning, obfuscation, text after the finish', async () => {
    const got = await streamed({
      reasoning: 'hm',
      chunks: ['the ', 'end.'],
      emptyFirst: true,
      textInFinish: true,
      obfuscation: true,
      afterFinish: ['late'],
    })
    expect(got.chunks[0]?.choices).toEqual([])
    const last = got.chunks.find((chunk) => chunk.choices[0]?.finish_reason)
    expect(last?.choices[0]?.delta.content).toBe('end.')
    expect(got.text).toBe('the end.late')
    expect(got.chunks.some((chunk) => Reflect.get(chunk.choices[0]?.delta ?? {}, 'reasoning_content') === 'hm')).toBe(
      true,
    )
    expect(Reflect.get(got.chunks[1] ?? {}, 'obfuscation')).toBeTruthy()
  })

  test('a script that is used up is told', async () => {
    sim.script(['one'])
    await client.chat.completions.create({ model: 'sim-model', messages: user })
    await expect(client.chat.completions.create({ model: 'sim-model', messages: user })).rejects.toMatchObject({
      code: 'script_exhausted',
    })
    expect(sim.violations).toHaveLength(1)
  })

  test('a function sees the request', async () => {
    sim.script((request) => `${request.model}/${request.messages.length}/${request.tools.join()}`)
    const answer = await client.chat.completions.create({
      model: 'sim-model',
      messages: user,
      tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object', properties: {} } } }],
    })
    expect(answer.choices[0]?.message.content).toBe('sim-model/1/bash')
  })
})

describe('failures', () => {
  test('cuts: destroyed, ended, ended with [DONE]', async () => {
    await expect(streamed({ text: 'abc', chunk: 1, cut: { after: 2, how: 'destroy' } })).rejects.toThrow()
    for (const how of ['end', 'done'] as const) {
      const got = await streamed({ text: 'abc', chunk: 1, cut: { after: 3, how } })
      expect(got.text).toBe('ab')
      expect(got.finish).toBeUndefined()
    }
  })

  test('an error in the stream', async () => {
    await expect(
      streamed({ text: 'abc', streamError: { after: 1, message: 'overloaded', code: 'server_error' } }),
    ).rejects.toMatchObject({ code: 'server_error' })
  })

  test('holds before the headers, before the first token and mid-stream', async () => {
    const gates = [sim.gate(), sim.gate(), sim.gate()] as const
    const running = streamed({
      text: 'abcd',
      chunk: 2,
      holds: [
        { at: 'headers', gate: gates[0] },
        { at: 0, gate: gates[1] },
        { at: 2, gate: gates[2] },
      ],
    })
    for (const gate of gates) {
      await gate.reached
      gate.release()
    }
    expect((await running).text).toBe('abcd')
  })

  test('a client that leaves is seen', async () => {
    const gate = sim.gate()
    sim.script([{ text: 'abc', holds: [{ at: 1, gate }] }])
    const stop = new AbortController()
    const stream = await client.chat.completions.create(
      { model: 'sim-model', messages: user, stream: true },
      { signal: stop.signal },
    )
    await gate.reached
    stop.abort()
    for await (const _ of stream);
    await expect.poll(() => sim.completions[0]?.aborted).toBe(true)
  })

  test('HTTP errors as scripted', async () => {
    sim.script([
      { http: { status: 429, code: 'insufficient_quota', message: 'no money', headers: { 'retry-after': '3' } } },
      { http: { status: 429, retryAfterInBody: 2 } },
      { http: { status: 500, body: '' } },
    ])
    const ask = () => client.chat.completions.create({ model: 'sim-model', messages: user })
    await expect(ask()).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' })
    const answer = await fetch(`${sim.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-sim', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-model', messages: user }),
    })
    expect(await answer.json()).toMatchObject({ retry_after: 2 })
    await expect(ask()).rejects.toMatchObject({ status: 500 })
  })

  test('an HTML answer', async () => {
    sim.script([{ html: '<html>gateway</html>' }])
    const answer = await client.chat.completions.create({ model: 'sim-model', messages: user }).asResponse()
    expect(answer.headers.get('content-type')).toContain('text/html')
  })
})

describe('strictness', () => {
  const call = (id: string, args = '{}', name = 'bash') => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  })
  const tool = (parameters: unknown, name = 'bash') => ({ type: 'function', function: { name, parameters } })
  const history = (...messages: unknown[]) => ({ model: 'sim-model', messages: [...user, ...messages] })
  const empty = { type: 'object', properties: {} }

  test('a right history passes', async () => {
    sim.script(['ok'])
    const body = history(
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    )
    expect((await raw(body))[0]).toBe(200)
    expect(sim.violations).toEqual([])
  })

  const asks = { role: 'assistant', content: null, tool_calls: [call('a')] }
  const bad: [string, unknown, RegExp][] = [
    ['unanswered call', history(asks, { role: 'user', content: 'x' }), /did not have response messages: a/],
    ['unanswered call at the end', history(asks), /did not have response/],
    ['orphan result', history({ role: 'tool', tool_call_id: 'a', content: 'x' }), /must be a response/],
    [
      'two results',
      history(
        asks,
        { role: 'tool', tool_call_id: 'a', content: 'x' },
        { role: 'tool', tool_call_id: 'a', content: 'y' },
      ),
      /must be a response/,
    ],
    [
      'broken arguments',
      history({ ...asks, tool_calls: [call('a', '{"x":')] }, { role: 'tool', tool_call_id: 'a', content: 'x' }),
      /arguments/,
    ],
    [
      'bad call name',
      history({ ...asks, tool_calls: [call('a', '{}', 'a.b')] }, { role: 'tool', tool_call_id: 'a', content: 'x' }),
      /pattern/,
    ],
    ['empty user message', history({ role: 'user', content: '' }), /empty/],
    ['assistant without anything', history({ role: 'assistant', content: null }), /content/],
    ['no tools', { ...history(), tools: [] }, /empty array/],
    ['tool name', { ...history(), tools: [tool(empty, 'a.b/c d')] }, /pattern/],
    ['schema not an object', { ...history(), tools: [tool({ type: 'string' })] }, /type: "object"/],
    [
      'unknown type',
      { ...history(), tools: [tool({ type: 'object', properties: { a: { type: 'strng' } } })] },
      /strng/,
    ],
    [
      'reference to nowhere',
      { ...history(), tools: [tool({ type: 'object', properties: { a: { $ref: '#/$defs/x' } } })] },
      /resolves to nothing/,
    ],
    ['two tools of one name', { ...history(), tools: [tool(empty), tool(empty)] }, /unique/],
    ['lone surrogate', '{"model":"sim-model","messages":[{"role":"user","content":"a\\ud800"}]}', /parse the JSON/],
    ['NUL', '{"model":"sim-model","messages":[{"role":"user","content":"a\\u0000"}]}', /parse the JSON/],
    ['no JSON', '{"model"', /parse the JSON/],
    ['reasoning with tools', { model: 'gpt-5.6-terra', messages: user, tools: [tool(empty)] }, /reasoning_effort/],
    ['max_tokens', { model: 'gpt-5.4', messages: user, max_tokens: 5 }, /max_completion_tokens/],
  ]
  test.each(bad)('%s', async (_, body, message) => {
    const [status, , text] = await raw(body)
    expect(status).toBe(400)
    expect(text).toMatch(message)
    expect(sim.violations.length).toBeGreaterThan(0)
  })

  test('model, key, context', async () => {
    expect((await raw({ model: 'nope', messages: user })).slice(0, 2)).toEqual([404, 'model_not_found'])
    expect(await raw(history(), 'sk-wrong')).toEqual([401, 'invalid_api_key', 'Incorrect API key provided: sk-wrong.'])
    sim.contextTokens = 10
    const before = sim.violations.length
    expect((await raw(history({ role: 'user', content: 'x'.repeat(100) }))).slice(0, 2)).toEqual([
      400,
      'context_length_exceeded',
    ])
    expect(sim.violations.length).toBe(before)
  })

  test('tools with effort none pass', async () => {
    sim.script(['ok'])
    expect((await raw({ model: 'gpt-5.4', messages: user, tools: [tool(empty)], reasoning_effort: 'none' }))[0]).toBe(
      200,
    )
  })

  test('the list of models', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('sim-model')
  })
})
