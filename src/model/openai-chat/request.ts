import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { sha256 } from '../../util/ids.ts'
import { type ContentPart, type Message, textOf } from '../message.ts'
import type { ModelRequest, ModelSettings } from '../model-provider.ts'
import { opaqueFields } from './opaque.ts'

/** OpenAI's rule for function names. */
const NAME = /[^a-zA-Z0-9_-]/g
const MAX_NAME_CHARS = 64
/** Ids of calls that every API takes; some refuse others. */
const CALL_ID = /^[a-zA-Z0-9_-]{1,40}$/
/** How much of arguments that were not JSON is sent back, characters. */
const MAX_BROKEN_CHARS = 500

/** OpenAI's own models from gpt-5.4 on take function tools here only without reasoning. */
const NEEDS_NO_REASONING = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/

/** The body of one streaming call, valid for the API whatever the history holds. `id`: the provider's, for opaque blocks. */
export function toRequest(
  request: ModelRequest,
  settings: ModelSettings,
  id: string,
): ChatCompletionCreateParamsStreaming {
  const own = settings.baseUrl === ''
  const { tools } = request
  const effort =
    settings.reasoningEffort || (own && tools.length > 0 && NEEDS_NO_REASONING.test(settings.model) ? 'none' : '')
  return {
    model: settings.model,
    messages: toMessages(request.messages, id),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 ? { tools: tools.map((t) => ({ type: 'function' as const, function: { ...t } })) } : {}),
    ...(tools.length > 0 && request.toolChoice ? { tool_choice: request.toolChoice } : {}),
    ...(effort ? { reasoning_effort: effort as 'none' } : {}),
    ...(settings.maxTokens > 0
      ? own
        ? { max_completion_tokens: settings.maxTokens }
        : { max_tokens: settings.maxTokens }
      : {}),
    ...(own ? { prompt_cache_key: request.workstream } : {}),
  }
}

function toMessages(messages: readonly Message[], id: string): ChatCompletionMessageParam[] {
  const out: ChatCompletionMessageParam[] = []
  // Tool messages are text only: a tool's images follow its step's results as a user message.
  let images: ContentPart[] = []
  const flush = (): void => {
    if (images.length > 0) out.push(userMessage([{ type: 'text', text: 'Images that the tools returned:' }, ...images]))
    images = []
  }
  for (const m of messages) {
    if (m.role !== 'tool') flush()
    if (m.role === 'tool') {
      images.push(...m.content.filter((p) => p.type === 'image'))
      out.push({ role: 'tool', tool_call_id: safeCallId(m.callId), content: textOf(m.content) || '(no output)' })
    } else if (m.role === 'system') out.push({ role: 'system', content: m.text })
    else if (m.role === 'user') out.push(userMessage(m.content))
    else out.push(assistantMessage(m, id))
  }
  flush()
  return out
}

function userMessage(content: readonly ContentPart[]): ChatCompletionMessageParam {
  if (content.every((p) => p.type === 'text')) return { role: 'user', content: textOf(content) || '(empty message)' }
  return {
    role: 'user',
    content: content.map((p) =>
      p.type === 'text'
        ? { type: 'text', text: p.text }
        : { type: 'image_url', image_url: { url: `data:${p.mime};base64,${p.base64}` } },
    ),
  }
}

function assistantMessage(m: Extract<Message, { role: 'assistant' }>, id: string): ChatCompletionMessageParam {
  if (m.calls.length === 0) return { role: 'assistant', content: m.text || '(no answer)' }
  const { reasoning, extraContentOf } = opaqueFields(m, id)
  const message = {
    role: 'assistant' as const,
    content: m.text || null,
    tool_calls: m.calls.map((call, i) => {
      const extra = extraContentOf(i)
      return {
        id: safeCallId(call.id),
        type: 'function' as const,
        function: { name: safeName(call.name), arguments: safeArguments(call.arguments) },
        ...(extra === undefined ? {} : { extra_content: extra }),
      }
    }),
    ...(reasoning ? { reasoning_content: reasoning } : {}),
  }
  return message
}

/** The same for a call and its result, and in every request, so that a provider's cache holds. */
function safeCallId(id: string): string {
  return CALL_ID.test(id) ? id : `call_${sha256(id).slice(0, 32)}`
}

function safeName(name: string): string {
  return name.trim().replace(NAME, '_').slice(0, MAX_NAME_CHARS) || 'unnamed'
}

/** A malformed text sent back would be refused in every later call. */
function safeArguments(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text
  } catch {
    // Not JSON.
  }
  return text.trim() === ''
    ? '{}'
    : JSON.stringify({ malformed_arguments: text.slice(0, MAX_BROKEN_CHARS).toWellFormed() })
}
