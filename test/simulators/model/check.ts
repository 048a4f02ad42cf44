import { checkMessages } from './check-messages.ts'
import { checkTools } from './check-tools.ts'
import { isRecord, type Violation } from './violation.ts'

export interface CheckSettings {
  models: readonly string[]
  /** Requests above it are refused with context_length_exceeded; four characters count as a token. */
  contextTokens: number
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Strings that cannot stand in UTF-8 JSON text: lone surrogates, and NUL. */
function badStrings(value: unknown, path: string): string[] {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\u0000') ? [] : [path]
  if (Array.isArray(value)) return value.flatMap((item, i) => badStrings(item, `${path}[${i}]`))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, item]) => badStrings(item, path ? `${path}.${key}` : key))
}

/** From gpt-5.4 on, function tools need reasoning_effort "none" on this endpoint. */
export function needsNoReasoning(model: string): boolean {
  const found = model.match(/^gpt-(\d+)(?:\.(\d+))?/)
  if (!found) return false
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)]
  return major > 5 || (major === 5 && minor >= 4)
}

function checkOptions(body: Record<string, unknown>, model: string): Violation[] {
  const out: Violation[] = []
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0
  if (body.stream_options !== undefined && body.stream !== true)
    out.push({
      message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      param: 'stream_options',
    })
  if (!hasTools && body.tool_choice !== undefined && body.tool_choice !== 'none')
    out.push({
      message: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      param: 'tool_choice',
    })
  if (!hasTools && body.parallel_tool_calls !== undefined)
    out.push({
      message: "Invalid value for 'parallel_tool_calls': it is only allowed when 'tools' are specified.",
      param: 'parallel_tool_calls',
    })
  if (body.max_tokens !== undefined && /^(gpt-[5-9]|o\d)/.test(model))
    out.push({
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      param: 'max_tokens',
      code: 'unsupported_parameter',
    })
  if (body.reasoning_effort !== undefined && !EFFORTS.includes(String(body.reasoning_effort)))
    out.push({
      message: `Invalid value: '${body.reasoning_effort}'.`,
      param: 'reasoning_effort',
      code: 'invalid_value',
    })
  if (hasTools && needsNoReasoning(model) && body.reasoning_effort !== 'none')
    out.push({
      message: `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
      param: 'reasoning_effort',
    })
  return out
}

/** Everything OpenAI would refuse in a parsed request, the first first. */
export function checkRequest(body: Record<string, unknown>, size: number, settings: CheckSettings): Violation[] {
  const model = typeof body.model === 'string' ? body.model : ''
  if (!model) return [{ message: 'you must provide a model parameter' }]
  if (!settings.models.includes(model))
    return [
      {
        status: 404,
        message: `The model \`${model}\` does not exist or you do not have access to it.`,
        code: 'model_not_found',
      },
    ]
  const bad = badStrings(body, '')
  if (bad.length > 0)
    return [{ message: `We could not parse the JSON body of your request (invalid text in ${bad.join(', ')}).` }]
  const out = [...checkMessages(body.messages), ...checkTools(body.tools), ...checkOptions(body, model)]
  const tokens = Math.ceil(size / 4)
  if (tokens > settings.contextTokens)
    out.push({
      message: `This model's maximum context length is ${settings.contextTokens} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      param: 'messages',
      code: 'context_length_exceeded',
      expected: true,
    })
  return out
}
