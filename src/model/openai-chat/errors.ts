import { APIConnectionError, APIError } from 'openai'
import {
  MODEL_CUT_OFF,
  MODEL_IMAGE_REFUSED,
  MODEL_OUT_OF_QUOTA,
  MODEL_RATE_LIMITED,
  MODEL_WINDOW_FULL,
  modelKeyRejected,
  modelRequestRefused,
  modelServerFailing,
  modelUnknown,
  modelUnreachable,
  modelUrlUnknown,
} from '../../copy/model.ts'
import { oneLine } from '../../util/visible.ts'
import { ModelError, type ModelErrorCode } from '../model-provider.ts'

/** How much of the server's own words is quoted, characters. */
const MAX_QUOTED_CHARS = 200

/** What was asked, for people: without user, password and query. */
export interface AskedServer {
  readonly model: string
  /** Host and port. */
  readonly address: string
  /** Where chat completions are asked. */
  readonly url: string
}

/**
 * Any fault of the client or the server in plain sentences. The body of an authentication error, which may echo the key,
 * is never quoted.
 */
export function toModelError(error: unknown, asked: AskedServer): ModelError {
  if (error instanceof ModelError) return error
  if (error instanceof APIConnectionError) {
    return new ModelError('unavailable', modelUnreachable(asked.address, systemCode(error)), { cause: error })
  }
  if (!(error instanceof APIError)) return new ModelError('cut', MODEL_CUT_OFF, { cause: error })
  const code = codeOf(error)
  const wait = code === 'rate-limit' || code === 'unavailable' ? retryAfterOf(error) : undefined
  const options = { cause: error, ...(wait === undefined ? {} : { retryAfterMs: wait }) }
  return new ModelError(code, sentence(code, error, asked), options)
}

/** The system's code, such as ECONNREFUSED, however deep it lies. */
function systemCode(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code
  }
  return undefined
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

function sentence(code: ModelErrorCode, error: APIError, asked: AskedServer): string {
  switch (code) {
    case 'auth':
      return modelKeyRejected(asked.address)
    case 'quota':
      return MODEL_OUT_OF_QUOTA
    case 'not-found':
      return namesModel(error, asked)
        ? modelUnknown(asked.model, asked.url, saidBy(error))
        : modelUrlUnknown(asked.url, saidBy(error))
    case 'rate-limit':
      return MODEL_RATE_LIMITED
    case 'context':
      return MODEL_WINDOW_FULL
    case 'image':
      return MODEL_IMAGE_REFUSED
    case 'bad-request':
      return modelRequestRefused(saidBy(error))
    default:
      return modelServerFailing(asked.address, error.status)
  }
}

/** A 404 is about the model where the server says so, else about the URL. */
function namesModel(error: APIError, { model }: AskedServer): boolean {
  if (error.code === 'model_not_found') return true
  const said = saidBy(error)
  return said.includes(model) || /\bmodel\b/i.test(said)
}

function saidBy({ error }: APIError): string {
  const words = (error as { message?: unknown } | undefined)?.message
  if (typeof words !== 'string' || !words.trim()) return ''
  // Half of a secret would no longer be known as one.
  return oneLine(words, MAX_QUOTED_CHARS).replace(/\S*…$/, '…')
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
