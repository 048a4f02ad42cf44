import type { z } from 'zod'
import { AT_KEY, ENVIRONMENT, MODEL, SLACK_HALF_SET, TOKEN } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'
import type { configSchema, ModelConfig, Secrets } from './config.ts'

type Env = Readonly<Record<string, string | undefined>>

function bad(message: string): never {
  throw new TurnstoneError('config', message)
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

/** Reads every secret, and looks whether each has the form of its kind. Throws TurnstoneError 'config'; shows no value. */
export function secretsOf(
  parsed: z.output<typeof configSchema>,
  models: Readonly<Record<string, ModelConfig>>,
  env: Env,
  where: string,
): Secrets {
  const named = {
    discordToken: checked(env, 'TURNSTONE_DISCORD_TOKEN', discordFault),
    slackToken: checked(env, 'TURNSTONE_SLACK_TOKEN', slackTokenFault),
    slackAppToken: checked(env, 'TURNSTONE_SLACK_APP_TOKEN', slackAppFault),
    slackSigningSecret: checked(env, 'TURNSTONE_SLACK_SIGNING_SECRET', signingFault),
    jwtSecret: jwtSecretOf(parsed.auth.jwt_secret, env, where),
  }
  checkSlack(named, parsed.channels.slack.mode)
  const set = Object.fromEntries(Object.entries(named).filter(([, v]) => v !== undefined))
  return { ...set, modelKeys: modelKeysOf(models, env, where) }
}

function modelKeysOf(models: Readonly<Record<string, ModelConfig>>, env: Env, where: string): Record<string, string> {
  const keys: Record<string, string> = {}
  for (const [alias, m] of Object.entries(models)) {
    if (m.provider === 'demo') continue
    const key = nonEmpty(env[m.api_key_env])
    if (key) keys[alias] = key
    else if (!m.base_url) bad(AT_KEY(where, `models.${alias}.api_key_env`, MODEL.keyNotSet(m.api_key_env)))
  }
  return keys
}

function jwtSecretOf(inFile: string, env: Env, where: string): string | undefined {
  const fromEnv = nonEmpty(env.TURNSTONE_JWT_SECRET)
  const secret = fromEnv ?? nonEmpty(inFile)
  if (secret !== undefined && Buffer.byteLength(secret) < 32) {
    bad(`${fromEnv ? 'TURNSTONE_JWT_SECRET' : `${where}: auth.jwt_secret`}: ${ENVIRONMENT.jwtSecret}`)
  }
  return secret
}

function checked(env: Env, name: string, faultOf: (value: string) => string | undefined): string | undefined {
  const value = nonEmpty(env[name])
  if (value === undefined) return undefined
  const fault = commonFault(value) ?? faultOf(value)
  return fault === undefined ? value : bad(`${name}: ${fault}`)
}

/** `docker --env-file` keeps quotes; a page or a chat program puts in dashes of its own. */
function commonFault(value: string): string | undefined {
  if (/^(["'“‘]).*(["'”’])$/s.test(value)) return TOKEN.quoted
  if (/^Bot\s/.test(value)) return TOKEN.bearer
  return /^[!-~]+$/.test(value) ? undefined : TOKEN.characters
}

/** Three parts; the first is the bot's id in base64. */
function discordFault(value: string): string | undefined {
  const [id = '', ...rest] = value.split('.')
  const whole = rest.length === 2 && rest.every((part) => /^[\w-]+$/.test(part))
  return whole && /^\d{15,25}$/.test(Buffer.from(id, 'base64').toString('utf8')) ? undefined : TOKEN.discord
}

function slackTokenFault(value: string): string | undefined {
  if (value.startsWith('xoxb-')) return undefined
  if (value.startsWith('xoxp-')) return TOKEN.slackUser
  return value.startsWith('xapp-') ? TOKEN.slackAppAsBot : TOKEN.slackBot
}

function slackAppFault(value: string): string | undefined {
  if (value.startsWith('xapp-')) return undefined
  return value.startsWith('xoxb-') ? TOKEN.slackBotAsApp : TOKEN.slackApp
}

function signingFault(value: string): string | undefined {
  return /^x(?:ox[a-z]|app)-/.test(value) ? TOKEN.signing : undefined
}

interface SlackSecrets {
  readonly slackToken: string | undefined
  readonly slackAppToken: string | undefined
  readonly slackSigningSecret: string | undefined
}

function checkSlack({ slackToken, slackAppToken, slackSigningSecret }: SlackSecrets, mode: 'socket' | 'http'): void {
  const second = mode === 'socket' ? slackAppToken : slackSigningSecret
  if (second && !slackToken) bad(`TURNSTONE_SLACK_TOKEN: ${SLACK_HALF_SET.bot}`)
  if (second || !slackToken) return
  if (mode === 'socket') {
    bad(`TURNSTONE_SLACK_APP_TOKEN: ${slackSigningSecret ? SLACK_HALF_SET.appOrHttp : SLACK_HALF_SET.app}`)
  }
  bad(`TURNSTONE_SLACK_SIGNING_SECRET: ${slackAppToken ? SLACK_HALF_SET.signingOrSocket : SLACK_HALF_SET.signing}`)
}

const SECRET_NAME = /_(KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS?)$/i

/** Every value that must never be shown. */
export function secretValues(secrets: Secrets, env: Env, databaseUrl: string): string[] {
  const { modelKeys, ...single } = secrets
  const values = [...Object.values(single), ...Object.values(modelKeys)].filter(
    (v): v is string => typeof v === 'string',
  )
  for (const [name, value] of Object.entries(env)) {
    if (value && value.length >= 8 && SECRET_NAME.test(name)) values.push(value)
  }
  const password = /^[a-z]+:\/\/[^:@/]*:([^@]+)@/.exec(databaseUrl)?.[1]
  if (password) values.push(password, decodeURIComponent(password))
  return [...new Set(values)]
}
