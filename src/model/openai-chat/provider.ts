import OpenAI from 'openai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { Usage } from '../message.ts'
import {
  type FinishReason,
  ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelSettings,
} from '../model-provider.ts'
import { CallAssembler, type CallDelta } from './call-assembler.ts'
import { toModelError } from './errors.ts'
import { toRequest } from './request.ts'

/** OpenAI's Chat Completions, and every server that speaks them. */
export function createOpenAiChatProvider(settings: ModelSettings): ModelProvider {
  const client = new OpenAI({
    // A server of one's own may want no key, the client insists on some text.
    apiKey: settings.apiKey ?? 'none',
    baseURL: settings.baseUrl || 'https://api.openai.com/v1',
    // Retries are ours: the client's repeat what must not be and ignore long waits.
    maxRetries: 0,
    organization: null,
    project: null,
    logLevel: 'off',
    fetch: fetchWithRetryAfter,
  })
  return {
    capabilities: { vision: settings.vision },
    contextWindow: settings.contextWindow,
    async *stream(request, signal) {
      try {
        const chunks = await client.chat.completions.create(toRequest(request, settings), { signal })
        yield* decode(chunks)
      } catch (error) {
        signal.throwIfAborted()
        throw toModelError(error)
      }
    },
  }
}

/** Some servers say in the body alone how long to wait, where the client does not look. */
async function fetchWithRetryAfter(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.status !== 429 || response.headers.has('retry-after')) return response
  const body = await response.text()
  const headers = new Headers(response.headers)
  const seconds = /"retry_after"\s*:\s*"?(\d+(?:\.\d+)?)/.exec(body)?.[1]
  if (seconds !== undefined) headers.set('retry-after', seconds)
  headers.delete('content-encoding')
  headers.delete('content-length')
  return new Response(body, { status: response.status, headers })
}

/** The end is certain only when a finish reason was seen: a stream that is cut ends quietly. */
async function* decode(chunks: AsyncIterable<ChatCompletionChunk>): AsyncGenerator<ModelEvent> {
  const assembler = new CallAssembler()
  let finish: string | undefined
  let usage: Usage | undefined
  for await (const chunk of chunks) {
    usage = usageOf(chunk) ?? usage
    const choice = chunk.choices?.[0]
    if (!choice) continue
    const delta = choice.delta as Delta | undefined
    const reasoning = delta?.reasoning_content ?? delta?.reasoning
    if (reasoning) yield { type: 'reasoning', text: reasoning }
    const text = (delta?.content ?? '') + (delta?.refusal ?? '')
    if (text) yield { type: 'text', text }
    for (const call of delta?.tool_calls ?? []) assembler.add(call)
    if (choice.finish_reason) finish = choice.finish_reason
  }
  if (finish === undefined) throw new ModelError('cut', 'The model’s answer broke off.')
  const calls = assembler.calls()
  for (const call of calls) yield { type: 'tool-call', call }
  yield { type: 'finish', reason: reasonOf(finish, calls.length > 0), ...(usage ? { usage } : {}) }
}

/** Beyond OpenAI's own fields: what other servers call their reasoning. */
interface Delta {
  readonly content?: string | null
  readonly refusal?: string | null
  readonly reasoning_content?: string | null
  readonly reasoning?: string | null
  readonly tool_calls?: readonly CallDelta[] | null
}

function reasonOf(finish: string, calls: boolean): FinishReason {
  if (finish === 'length') return 'length'
  if (finish === 'content_filter') return 'content-filter'
  return calls ? 'tool-calls' : 'stop'
}

function usageOf({ usage }: ChatCompletionChunk): Usage | undefined {
  if (!usage) return undefined
  return {
    input: usage.prompt_tokens ?? 0,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens ?? 0,
  }
}
