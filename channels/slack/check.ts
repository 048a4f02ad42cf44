import { WebClient } from '@slack/web-api'
import type { SlackConfig } from '../../src/config/config.ts'
import { SLACK_DOCTOR } from '../../src/copy/platforms.ts'
import type { Log } from '../../src/util/log.ts'
import type { Check } from '../support/check.ts'
import { clientOptions } from './api.ts'
import { codeOf, slackErrorOf } from './errors.ts'
import { objectIn, textIn } from './json.ts'
import { SLACK_NEEDS } from './needs.ts'

const SILENT = { debug() {}, warn() {} } as unknown as Log

/** For doctor: whether the tokens are good and have the scopes that the code uses. Never rejects. */
export async function checkSlack(
  config: SlackConfig,
  tokens: { bot: string; app?: string; signingSecret?: string },
): Promise<readonly Check[]> {
  const client = (token: string): WebClient => new WebClient(token, clientOptions(config.api_url, SILENT))
  return [
    ...(await checkBot(client(tokens.bot))),
    config.mode === 'socket' ? await checkApp(tokens.app, client) : checkSecret(tokens.signingSecret),
  ]
}

async function checkBot(client: WebClient): Promise<Check[]> {
  try {
    const answer = await client.apiCall('auth.test')
    const told = objectIn(answer, 'response_metadata').scopes
    const token: Check = {
      name: 'slack token',
      status: 'ok',
      detail: SLACK_DOCTOR.accepted(textIn(answer, 'team') ?? '?', textIn(answer, 'user') ?? '?'),
    }
    if (!Array.isArray(told)) {
      return [token, { name: 'slack scopes', status: 'warn', detail: SLACK_DOCTOR.scopesUnknown }]
    }
    const scopes = told.map((s) => String(s).trim())
    const lacking = SLACK_NEEDS.botScopes.filter((s) => !scopes.includes(s))
    if (lacking.length === 0)
      return [token, { name: 'slack scopes', status: 'ok', detail: SLACK_DOCTOR.scopesComplete }]
    return [token, { name: 'slack scopes', status: 'fail', detail: SLACK_DOCTOR.scopesMissing(lacking) }]
  } catch (error) {
    return [fault('slack token', error, 'auth.test', SLACK_DOCTOR.botCure)]
  }
}

async function checkApp(token: string | undefined, client: (token: string) => WebClient): Promise<Check> {
  const name = 'slack app token'
  const cure = SLACK_DOCTOR.appCure
  if (!token) return { name, status: 'fail', detail: SLACK_DOCTOR.notSet(cure) }
  try {
    await client(token).apiCall('apps.connections.open')
    return { name, status: 'ok', detail: SLACK_DOCTOR.socketOpens }
  } catch (error) {
    return fault(name, error, 'apps.connections.open', cure)
  }
}

function checkSecret(secret: string | undefined): Check {
  const name = 'slack signing secret'
  return secret
    ? { name, status: 'ok', detail: SLACK_DOCTOR.set }
    : { name, status: 'fail', detail: SLACK_DOCTOR.notSet(SLACK_DOCTOR.secretCure) }
}

function fault(name: string, error: unknown, method: string, cure: string): Check {
  const found = slackErrorOf(error, method)
  const code = codeOf(found)
  return {
    name,
    status: 'fail',
    detail: code ? SLACK_DOCTOR.says(code, cure) : SLACK_DOCTOR.notReached(found.message),
  }
}
