import type { Json } from './json.ts'

/** Discord docs: Opcodes and Status Codes, JSON. Code to HTTP status and message. */
const CODES: Record<number, [status: number, message: string]> = {
  10003: [404, 'Unknown Channel'],
  10004: [404, 'Unknown Guild'],
  10007: [404, 'Unknown Member'],
  10008: [404, 'Unknown Message'],
  10013: [404, 'Unknown User'],
  10014: [400, 'Unknown Emoji'],
  10015: [404, 'Unknown Webhook'],
  10062: [404, 'Unknown interaction'],
  10063: [404, 'Unknown application command'],
  20028: [429, 'The write action you are performing on the channel has hit the write rate limit'],
  30010: [400, 'Maximum number of reactions reached (20)'],
  30032: [400, 'Maximum number of application commands reached (100)'],
  30034: [400, 'Max number of daily application command creates has been reached (200)'],
  30046: [429, 'Maximum number of edits to messages older than 1 hour reached. Try again later'],
  40005: [413, 'Request entity too large'],
  40060: [400, 'Interaction has already been acknowledged.'],
  50001: [403, 'Missing Access'],
  50003: [400, 'Cannot execute action on a DM channel'],
  50005: [403, 'Cannot edit a message authored by another user'],
  50006: [400, 'Cannot send an empty message'],
  50007: [403, 'Cannot send messages to this user'],
  50008: [400, 'Cannot send messages in a non-text channel'],
  50013: [403, 'Missing Permissions'],
  50021: [403, 'Cannot execute action on a system message'],
  50024: [400, 'Cannot execute action on this channel type'],
  50027: [401, 'Invalid Webhook Token'],
  50083: [400, 'Thread is archived'],
  50109: [400, 'The request body contains invalid JSON.'],
  160002: [400, 'Cannot reply without permission to read message history'],
  160004: [400, 'A thread has already been created for this message'],
  160005: [403, 'This thread is locked'],
  160006: [400, 'Maximum number of active threads reached'],
}

/** An answer other than success, as the REST API gives it. */
export class ApiError extends Error {
  readonly status: number
  readonly body: Json
  readonly headers: Record<string, string>

  constructor(status: number, body: Json, headers: Record<string, string> = {}) {
    super(`${status} ${JSON.stringify(body)}`)
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function apiError(code: number): ApiError {
  const [status, message] = CODES[code] ?? [400, `Error ${code}`]
  return new ApiError(status, { message, code })
}

export const unauthorized = (): ApiError => new ApiError(401, { message: '401: Unauthorized', code: 0 })
export const notFound = (): ApiError => new ApiError(404, { message: '404: Not Found', code: 0 })

/** Collects the faults of one body into the nested `errors` object of code 50035. */
export class Form {
  readonly #errors: Json = {}
  #failed = false

  /** `path` as in "embeds.0.fields.1.value"; an empty path marks the whole body. */
  fail(path: string, code: string, message: string): void {
    this.#failed = true
    let at = this.#errors
    for (const key of path ? path.split('.') : []) {
      at[key] ??= {}
      at = at[key] as Json
    }
    at._errors = [...((at._errors as unknown[]) ?? []), { code, message }]
  }

  maxLength(path: string, value: unknown, max: number): void {
    if (typeof value === 'string' && [...value].length > max)
      this.fail(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`)
  }

  /** A string that must be there, 1 to `max` long. */
  text(path: string, value: unknown, max: number, min = 1): void {
    if (value === undefined || value === null) this.required(path)
    else if (typeof value !== 'string')
      this.fail(path, 'STRING_TYPE_CONVERT', `Could not interpret "${value}" as string.`)
    else if ([...value].length < min || [...value].length > max)
      this.fail(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`)
  }

  count(path: string, list: unknown[], max: number, min = 0): void {
    if (list.length > max || list.length < min)
      this.fail(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`)
  }

  required(path: string): void {
    this.fail(path, 'BASE_TYPE_REQUIRED', 'This field is required')
  }

  choice(path: string, value: unknown, allowed: readonly unknown[]): void {
    if (!allowed.includes(value)) this.fail(path, 'BASE_TYPE_CHOICES', `Value must be one of {${allowed.join(', ')}}.`)
  }

  throwIfFailed(): void {
    if (this.#failed) throw new ApiError(400, { message: 'Invalid Form Body', code: 50035, errors: this.#errors })
  }
}
