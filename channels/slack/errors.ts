import { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebAPIRequestError } from '@slack/web-api'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import { REFUSED, SLACK_REFUSED } from '../../src/copy/platforms.ts'
import { messageOf } from '../../src/util/errors.ts'
import { textIn } from './json.ts'

/** Refusals of the place, not of the message. */
const OF_PLACE: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'missing_scope',
  'restricted_action',
  'thread_not_found',
])

/** Slack's final no, with its error code. */
export class SlackRefusedError extends PostRefusedError {
  readonly code: string
  constructor(code: string, reason: string, options?: ErrorOptions) {
    super(reason, { ...options, ofPlace: OF_PLACE.has(code) })
    this.name = 'SlackRefusedError'
    this.code = code
  }
}

/** No answer, or one that says nothing about the message: it may have been done or not. */
export class SlackUnclearError extends Error {
  readonly code: string | undefined
  /** How long Slack wants us to wait; then the call was certainly not done. */
  readonly retryAfterMs: number | undefined
  constructor(message: string, more: { code?: string; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'SlackUnclearError'
    this.code = more.code
    this.retryAfterMs = more.retryAfterMs
  }
}

/** Codes that say that a token is not, or no longer, worth anything. */
const TOKEN = new Set([
  'invalid_auth',
  'not_authed',
  'token_revoked',
  'token_expired',
  'account_inactive',
  'org_login_required',
  'not_allowed_token_type',
])

/** Codes after which the same call may well succeed. */
const PASSING = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
  'accesslimited',
  'ekm_access_denied',
])

export function isTokenCode(code: string | undefined): boolean {
  return code !== undefined && TOKEN.has(code)
}

/** The error code Slack gave, if it gave one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof SlackRefusedError || error instanceof SlackUnclearError ? error.code : undefined
}

/** What the Web API threw, as ours: refused for good, or unclear. */
export function slackErrorOf(error: unknown, method: string): SlackRefusedError | SlackUnclearError {
  if (error instanceof WebAPIRateLimitedError)
    return new SlackUnclearError(`Slack limits ${method}`, {
      code: 'ratelimited',
      retryAfterMs: error.retryAfter * 1000,
    })
  if (error instanceof WebAPIPlatformError) {
    const { error: code } = error.data
    const said = `${method}: ${code}`
    if (code === 'ratelimited' || code === 'rate_limited')
      return new SlackUnclearError(said, { code, retryAfterMs: 5000 })
    if (TOKEN.has(code) || PASSING.has(code)) return new SlackUnclearError(said, { code })
    const needed = textIn(error.data, 'needed')
    const reason = code === 'missing_scope' ? REFUSED.slackScope(needed) : (SLACK_REFUSED[code] ?? REFUSED.slack(code))
    return new SlackRefusedError(code, reason)
  }
  if (error instanceof WebAPIHTTPError) return new SlackUnclearError(`${method}: HTTP ${error.statusCode}`)
  if (error instanceof WebAPIRequestError)
    return new SlackUnclearError(`${method}: no answer (${messageOf(error.original)})`)
  return new SlackUnclearError(`${method}: ${messageOf(error)}`, { cause: error })
}
