import { isRecord, type Violation } from './violation.ts'

type Message = Record<string, unknown>

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool']
const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/

function checkParts(parts: unknown[], role: string, at: string): Violation[] {
  if (parts.length === 0) return [{ message: `Invalid '${at}.content': empty array.`, param: `${at}.content` }]
  const allowed =
    role === 'user'
      ? ['text', 'image_url', 'input_audio', 'file']
      : role === 'assistant'
        ? ['text', 'refusal']
        : ['text']
  return parts.flatMap((part, i): Violation[] => {
    const param = `${at}.content[${i}]`
    if (!isRecord(part)) return [{ message: `Invalid type for '${param}': expected an object.`, param }]
    if (!allowed.includes(String(part.type)))
      return [
        {
          message: `Invalid value: '${part.type}'. Supported values are: ${allowed.join(', ')}.`,
          param,
          code: 'invalid_value',
        },
      ]
    if (part.type === 'text' && (typeof part.text !== 'string' || part.text === ''))
      return [{ message: `Invalid '${param}.text': a non-empty string is needed.`, param }]
    if (part.type !== 'image_url') return []
    const url = isRecord(part.image_url) ? part.image_url.url : undefined
    const good =
      typeof url === 'string' && /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$)/.test(url)
    return good
      ? []
      : [{ message: 'You uploaded an unsupported image or an invalid image URL.', param, code: 'invalid_image_url' }]
  })
}

function checkContent(message: Message, at: string): Violation[] {
  const role = String(message.role)
  const content = message.content
  const calls = role === 'assistant' && Array.isArray(message.tool_calls) && message.tool_calls.length > 0
  if (Array.isArray(content)) return checkParts(content, role, at)
  if (content === null || content === undefined) {
    if (role === 'assistant' && (calls || typeof message.refusal === 'string')) return []
    return [{ message: `Invalid value for 'content': expected a string, got null. (${at})`, param: `${at}.content` }]
  }
  if (typeof content !== 'string')
    return [{ message: `Invalid type for '${at}.content'.`, param: `${at}.content`, code: 'invalid_type' }]
  if (content === '' && role !== 'tool' && !calls)
    return [{ message: `Invalid '${at}.content': the message is empty.`, param: `${at}.content` }]
  return []
}

function isObjectJson(text: string): boolean {
  try {
    return isRecord(JSON.parse(text))
  } catch {
    return false
  }
}

function checkCall(call: unknown, at: string): Violation[] {
  if (!isRecord(call) || call.type !== 'function' || !isRecord(call.function))
    return [{ message: `Invalid '${at}': a tool call of type function is needed.`, param: at }]
  const out: Violation[] = []
  const { name, arguments: args } = call.function
  if (typeof call.id !== 'string' || call.id === '')
    out.push({ message: `Missing required parameter: '${at}.id'.`, param: at })
  if (typeof name !== 'string' || !FUNCTION_NAME.test(name))
    out.push({
      message: `Invalid '${at}.function.name': string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'.`,
      param: at,
      code: 'invalid_value',
    })
  if (typeof args !== 'string' || !isObjectJson(args))
    out.push({ message: `Invalid '${at}.function.arguments': not the JSON text of an object.`, param: at })
  return out
}

interface Open {
  ids: Set<string>
  at: string
}

function missing(open: Open | undefined): Violation[] {
  if (!open || open.ids.size === 0) return []
  return [
    {
      message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open.ids].join(', ')}`,
      param: open.at,
    },
  ]
}

/** Every tool call is answered by exactly one tool message right behind it, and no tool message stands alone. */
function checkPairs(messages: Message[]): Violation[] {
  const out: Violation[] = []
  let open: Open | undefined
  for (const [i, message] of messages.entries()) {
    const at = `messages.[${i}]`
    if (message.role === 'tool') {
      const id = String(message.tool_call_id ?? '')
      if (!open?.ids.delete(id))
        out.push({
          message: `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'. (${id})`,
          param: `${at}.role`,
        })
      continue
    }
    out.push(...missing(open))
    open = undefined
    if (message.role !== 'assistant' || message.tool_calls === undefined) continue
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
    if (calls.length === 0) out.push({ message: `Invalid '${at}.tool_calls': empty array.`, param: `${at}.tool_calls` })
    out.push(...calls.flatMap((call, k) => checkCall(call, `${at}.tool_calls[${k}]`)))
    const ids = calls.map((call) => (isRecord(call) ? String(call.id) : ''))
    if (new Set(ids).size !== ids.length)
      out.push({ message: `Duplicate tool call ids in ${at}.`, param: `${at}.tool_calls` })
    open = { ids: new Set(ids), at: `${at}.role` }
  }
  return [...out, ...missing(open)]
}

export function checkMessages(messages: unknown): Violation[] {
  if (!Array.isArray(messages) || messages.length === 0)
    return [{ message: "Invalid 'messages': a non-empty array is needed.", param: 'messages' }]
  const out = messages.flatMap((message: unknown, i): Violation[] => {
    const at = `messages.[${i}]`
    if (!isRecord(message)) return [{ message: `Invalid type for '${at}'.`, param: at }]
    if (!ROLES.includes(String(message.role)))
      return [
        {
          message: `Invalid value: '${message.role}'. Supported values are: ${ROLES.join(', ')}.`,
          param: `${at}.role`,
          code: 'invalid_value',
        },
      ]
    const name = message.name
    const named =
      name === undefined || (typeof name === 'string' && FUNCTION_NAME.test(name))
        ? []
        : [{ message: `Invalid '${at}.name': string does not match pattern.`, param: `${at}.name` }]
    return [...checkContent(message, at), ...named]
  })
  return [...out, ...checkPairs(messages.filter(isRecord))]
}
