import OpenAI from 'openai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import { MODEL_CUT_OFF, modelAnswerUnreadable } from '../../copy/model.ts'
import type { Usage } from '../message.ts'
import {
  type FinishReason,
  ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelSettings,
} from '../model-provider.ts'
import { CallAssembler, type CallDelta } from './call-assembler.ts'
import { type AskedServer, toModelError } from './errors.ts'
import { extraContentBlock, reasoningBlock } from './opaque.ts'
import { toRequest } from './request.ts'

/** OpenAI's Chat Completions, and every server that speaks them. */
export function createOpenAiChatProvider(settings: ModelSettings): ModelProvider {
  const baseURL = settings.baseUrl || 'https://api.openai.com/v1'
  const asked = askedServer(baseURL, settings.model)
  const id = `openai-chat ${asked.address} ${settings.model}`
  const client = new OpenAI({
    // A self-hosted server may need no key, but the client insists on some text.
    apiKey: settings.apiKey ?? 'none',
    baseURL,
    // We retry ourselves: the client repeats what must not be repeated and ignores long waits.
    maxRetries: 0,
    organization: null,
    project: null,
    logLevel: 'off',
    fetch: fetchWithRetryAfter,
  })
  return {
    id,
    capabilities: { vision: settings.vision },
    contextWindow: settings.contextWindow,
    async *stream(request, signal) {
      try {
        const chunks = await client.chat.completions.create(toRequest(request, settings, id), { signal })
        yield* decode(chunks, asked)
      } catch (error) {
        signal.throwIfAborted()
        throw toModelError(error, asked)
      }
    },
  }
}

function askedServer(baseUrl: string, model: string): AskedServer {
  const { host, origin, pathname } = new URL(baseUrl)
  return { model, address: host, url: `${origin}${pathname.replace(/\/$/, '')}/chat/completions` }
}

/** Some servers say only in the body how long to wait, where the client does not look. */
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
async function* decode(chunks: AsyncIterable<ChatCompletionChunk>, asked: AskedServer): AsyncGenerator<ModelEvent> {
  const assembler = new CallAssembler()
  let finish: string | undefined
  let reasoningContent = ''
  let readable = false
  for await (const chunk of chunks) {
    readable = true
    const usage = usageOf(chunk)
    if (usage) yield { type: 'usage', usage }
    const choice = chunk.choices?.[0]
    if (!choice) continue
    const delta = choice.delta as Delta | undefined
    const reasoning = delta?.reasoning_content ?? delta?.reasoning
    if (reasoning) yield { type: 'reasoning', text: reasoning }
    reasoningContent += delta?.reasoning_content ?? ''
    const text = (delta?.content ?? '') + (delta?.refusal ?? '')
    if (text) yield { type: 'text', text }
    for (const call of delta?.tool_calls ?? []) {
      assembler.add(call)
      yield { type: 'call-progress', chars: JSON.stringify(call.function?.arguments ?? '').length }
    }
    if (choice.finish_reason) finish = choice.finish_reason
  }
  if (finish === undefined) throw new ModelError('cut', readable ? MODEL_CUT_OFF : modelAnswerUnreadable(asked.url))
  const calls = assembler.calls()
  if (reasoningContent) yield { type: 'opaque', block: reasoningBlock(reasoningContent) }
  for (const [i, { call, extraContent }] of calls.entries()) {
    yield { type: 'tool-call', call }
    if (extraContent !== undefined) yield { type: 'opaque', block: extraContentBlock(i, extraContent) }
  }
  yield { type: 'finish', reason: reasonOf(finish, calls.length > 0) }
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
    cacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0,
    // Not reported by this API.
    cacheWrite: 0,
    output: usage.completion_tokens ?? 0,
  }
}
