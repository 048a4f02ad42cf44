import { APIConnectionError, APIError } from 'openai'
import { oneLine } from '../../util/visible.ts'
import { ModelError, type ModelErrorCode } from '../model-provider.ts'

/** How much of the server's own words is told, characters. */
const MAX_QUOTED_CHARS = 200

/** Any fault of the client or the server as one plain sentence. The body of an authentication error, which may echo the key, is not told. */
export function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error
  if (error instanceof APIConnectionError) {
    return new ModelError('unavailable', `The model’s server could not be reached${codeBehind(error)}.`, {
      cause: error,
    })
  }
  if (!(error instanceof APIError)) return new ModelError('cut', 'The model’s answer broke off.', { cause: error })
  const code = codeOf(error)
  const wait = code === 'rate-limit' || code === 'unavailable' ? retryAfterOf(error) : undefined
  const options = { cause: error, ...(wait === undefined ? {} : { retryAfterMs: wait }) }
  return new ModelError(code, sentence(code, error), options)
}

/** The system's code, such as ECONNREFUSED, from however deep it stands. */
function codeBehind(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return ` (${code})`
  }
  return ''
}

function codeOf({ status, code, message }: APIError): ModelErrorCode {
  if (code === 'insufficient_quota') return 'quota'
  if (code === 'context_length_exceeded') return 'context'
  if (status === 401 || status === 403) return 'auth'
  if (status === 402) return 'quota'
  if (status === 404) return 'not-found'
  if (status === 429 || code === 'rate_limit_exceeded') return 'rate-limit'
  if (status === 413) return 'context'
  if (status === 400 || status === 422) {
    if (/context (length|window)|maximum context/i.test(message)) return 'context'
    return /image/i.test(message) ? 'image' : 'bad-request'
  }
  return 'unavailable'
}

function sentence(code: ModelErrorCode, error: APIError): string {
  const said = saidBy(error)
  switch (code) {
    case 'auth':
      return 'The model’s server refused the API key; an operator must check it.'
    case 'quota':
      return 'The account at the model’s provider has no credit or quota left; an operator must look at its billing.'
    case 'not-found':
      return `The model’s server does not know this model${said}; an operator must check its name and base_url.`
    case 'rate-limit':
      return 'The model’s provider limits how often it may be asked; try again in a few minutes.'
    case 'context':
      return 'The conversation no longer fits the model’s window; begin a new thread, or ask for less at once.'
    case 'image':
      return 'The model could not read an image.'
    case 'bad-request':
      return `The model’s server refused the request${said}.`
    default:
      return `The model’s server is failing${error.status ? ` (HTTP ${error.status})` : ''}; try again later.`
  }
}

function saidBy({ error }: APIError): string {
  const words = (error as { message?: unknown } | undefined)?.message
  if (typeof words !== 'string' || !words.trim()) return ''
  // Half of a secret would no longer be known as one.
  return ` ("${oneLine(words, MAX_QUOTED_CHARS).replace(/\S*…$/, '…')}")`
}

/** ms. */
function retryAfterOf({ headers }: APIError): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms
  const header = headers?.get('retry-after')
  const seconds = Number(header ?? Number.NaN)
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000
  const date = header ? Date.parse(header) - Date.now() : Number.NaN
  return Number.isFinite(date) ? Math.max(0, date) : undefined
}
