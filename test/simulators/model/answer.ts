import type { Gate } from './gate.ts'

/** One tool call as the model "speaks" it; the optional fields make the deltas as odd as compatible servers do. */
export interface CallSpec {
  name: string
  /** An object is written as JSON; a string goes out as it is. */
  arguments?: string | Record<string, unknown>
  id?: string
  /** `null` leaves the index out. Default: the position. */
  index?: number | null
  /** Length of each argument fragment; without it the arguments come whole, in the fragment of the name. */
  fragment?: number
  /** What later fragments carry as id: nothing (default), the same id, or an empty string. */
  laterId?: 'none' | 'same' | 'empty'
  /** The name stands in every fragment. */
  repeatName?: boolean
  /** Gemini's compatible endpoint: sent with the first fragment. */
  extraContent?: Record<string, unknown>
}

export interface UsageSpec {
  prompt?: number
  completion?: number
  cached?: number
  reasoning?: number
}

export interface HttpErrorSpec {
  status: number
  headers?: Record<string, string>
  /** OpenAI's error object; `body` replaces the whole answer. */
  message?: string
  type?: string
  code?: string | null
  param?: string | null
  /** Written beside `error`, as some servers do. */
  retryAfterInBody?: number
  body?: string
}

/** Where a streamed answer waits: before its headers, or before the SSE event with that number (0 is the first). */
export interface Hold {
  at: 'headers' | number
  gate: Gate
}

export interface Answer {
  text?: string
  /** Exact text deltas; wins over `text` and `chunk`. */
  chunks?: string[]
  /** Characters per text delta; without it the text is one delta. */
  chunk?: number
  /** Real milliseconds between two SSE events. */
  delayMs?: number
  calls?: CallSpec[]
  reasoning?: string
  refusal?: string
  /** `null`: no finish chunk at all. Default: tool_calls or stop. */
  finish?: string | null
  usage?: UsageSpec
  /** Each chunk carries the usage so far, as some servers send it. */
  usageInChunks?: boolean
  /** A first chunk with empty choices (content filter results). */
  emptyFirst?: boolean
  /** The last text delta stands in the finish chunk. */
  textInFinish?: boolean
  /** Text deltas that follow the finish chunk. */
  afterFinish?: string[]
  obfuscation?: boolean
  /** The body is written one byte at a time. */
  bytewise?: boolean
  holds?: Hold[]
  /** Ends the answer after so many SSE events: socket destroyed, ended cleanly, or ended cleanly after [DONE]. */
  cut?: { after: number; how: 'destroy' | 'end' | 'done' }
  /** An error payload in the stream after so many events. */
  streamError?: { after: number; message: string; code?: string; type?: string }
  /** Answered instead of everything else. */
  http?: HttpErrorSpec
  /** Answered with 200 text/html instead. */
  html?: string
  /** Whole `data:` payloads in place of the built ones. */
  raw?: string[]
}

export interface AnswerContext {
  id: string
  model: string
  created: number
  includeUsage: boolean
}

function argumentsOf(call: CallSpec): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {})
}

function pieces(text: string, size: number | undefined): string[] {
  if (!size || text === '') return [text]
  const marks = [...text]
  const out: string[] = []
  for (let i = 0; i < marks.length; i += size) out.push(marks.slice(i, i + size).join(''))
  return out
}

function callDeltas(call: CallSpec, position: number, id: string): Record<string, unknown>[] {
  const index = call.index === null ? {} : { index: call.index ?? position }
  const later = call.laterId === 'same' ? { id } : call.laterId === 'empty' ? { id: '' } : {}
  const text = argumentsOf(call)
  const extra = call.extraContent ? { extra_content: call.extraContent } : {}
  const head = { ...index, id, type: 'function', ...extra }
  if (!call.fragment) return [{ ...head, function: { name: call.name, arguments: text } }]
  const name = call.repeatName ? { name: call.name } : {}
  return [
    { ...head, function: { name: call.name, arguments: '' } },
    ...pieces(text, call.fragment).map((piece) => ({ ...index, ...later, function: { ...name, arguments: piece } })),
  ]
}

export function callId(call: CallSpec, position: number, context: AnswerContext): string {
  return call.id ?? `call_${context.id.slice(-6)}_${position}`
}

export function usageOf(answer: Answer): Record<string, unknown> {
  const prompt = answer.usage?.prompt ?? 100
  const completion = answer.usage?.completion ?? 20
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: answer.usage?.cached ?? 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.usage?.reasoning ?? 0 },
  }
}

export function finishOf(answer: Answer): string | null {
  if (answer.finish !== undefined) return answer.finish
  return answer.calls?.length ? 'tool_calls' : 'stop'
}

/** The `data:` payloads of a streamed answer, without [DONE]. */
export function streamEvents(answer: Answer, context: AnswerContext): string[] {
  if (answer.raw) return answer.raw
  const base = { id: context.id, object: 'chat.completion.chunk', created: context.created, model: context.model }
  const pad = answer.obfuscation ? { obfuscation: 'Xf3kQ0a' } : {}
  const usage = answer.usageInChunks ? { usage: usageOf(answer) } : context.includeUsage ? { usage: null } : {}
  const chunk = (delta: Record<string, unknown>, finish: string | null = null): string =>
    JSON.stringify({
      ...base,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...usage,
      ...pad,
    })
  const texts = answer.chunks ?? (answer.text === undefined ? [] : pieces(answer.text, answer.chunk))
  const last = answer.textInFinish ? texts.at(-1) : undefined
  const shown = last === undefined ? texts : texts.slice(0, -1)
  const finish = finishOf(answer)
  return [
    ...(answer.emptyFirst
      ? [JSON.stringify({ ...base, choices: [], prompt_filter_results: [{ prompt_index: 0 }] })]
      : []),
    chunk({ role: 'assistant', content: answer.calls?.length && texts.length === 0 ? null : '', refusal: null }),
    ...(answer.reasoning === undefined ? [] : pieces(answer.reasoning, answer.chunk)).map((piece) =>
      chunk({ reasoning_content: piece }),
    ),
    ...shown.map((content) => chunk({ content })),
    ...(answer.refusal === undefined ? [] : [chunk({ refusal: answer.refusal })]),
    ...(answer.calls ?? []).flatMap((call, i) =>
      callDeltas(call, i, callId(call, i, context)).map((delta) => chunk({ tool_calls: [delta] })),
    ),
    ...(finish === null ? [] : [chunk(last === undefined ? {} : { content: last }, finish)]),
    ...(answer.afterFinish ?? []).map((content) => chunk({ content })),
    ...(context.includeUsage && finish !== null
      ? [JSON.stringify({ ...base, choices: [], usage: usageOf(answer), ...pad })]
      : []),
  ]
}

/** The body of an answer that is not streamed. */
export function wholeBody(answer: Answer, context: AnswerContext): Record<string, unknown> {
  const calls = answer.calls?.map((call, i) => ({
    id: callId(call, i, context),
    type: 'function',
    function: { name: call.name, arguments: argumentsOf(call) },
  }))
  const text = answer.chunks?.join('') ?? answer.text
  const message = {
    role: 'assistant',
    content: text ?? null,
    refusal: answer.refusal ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(calls?.length ? { tool_calls: calls } : {}),
  }
  return {
    id: context.id,
    object: 'chat.completion',
    created: context.created,
    model: context.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer) }],
    usage: usageOf(answer),
  }
}
