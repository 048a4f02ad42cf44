import { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebAPIRequestError } from '@slack/web-api'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import { messageOf } from '../../src/util/errors.ts'
import { textIn } from './json.ts'

/** Slack's final no, with its error code. */
export class SlackRefusedError extends PostRefusedError {
  readonly code: string
  constructor(code: string, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'SlackRefused'
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
    this.name = 'SlackUnclear'
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

const REASONS: Readonly<Record<string, string>> = {
  channel_not_found: 'Slack does not know this channel, or the app is not in it.',
  not_in_channel: 'The app is not a member of this channel.',
  is_archived: 'This channel is archived.',
  msg_too_long: 'The message is too long for Slack.',
  msg_blocks_too_long: 'The message is too long for Slack.',
  msg_blocks_too_many: 'The message has too many blocks for Slack.',
  invalid_blocks: 'Slack cannot show this message.',
  cant_update_message: 'Slack does not let the app change this message.',
  edit_window_closed: 'This message can no longer be changed.',
  restricted_action: 'The workspace does not let the app do this.',
  user_not_in_channel: 'This person is not in the channel.',
  thread_not_found: 'The thread is gone.',
}

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
    const reason =
      code === 'missing_scope'
        ? `The Slack app lacks the scope ${needed ?? 'it needs'}.`
        : (REASONS[code] ?? `Slack refused it (${code}).`)
    return new SlackRefusedError(code, reason)
  }
  if (error instanceof WebAPIHTTPError) return new SlackUnclearError(`${method}: HTTP ${error.statusCode}`)
  if (error instanceof WebAPIRequestError)
    return new SlackUnclearError(`${method}: no answer (${messageOf(error.original)})`)
  return new SlackUnclearError(`${method}: ${messageOf(error)}`, { cause: error })
}
