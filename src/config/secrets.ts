import type { z } from 'zod'
import { AT_KEY, ENVIRONMENT, MODEL, SLACK_HALF_SET, TOKEN } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'
import { isPath, isPlainWord, looksSecret } from '../util/secrets.ts'
import type { configSchema, ModelConfig, Secrets } from './config.ts'

type Env = Readonly<Record<string, string | undefined>>

function bad(message: string): never {
  throw new TurnstoneError('config', message)
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

/** Where the key of a model at OpenAI is. */
export const DEFAULT_KEY_ENV = 'OPENAI_API_KEY'

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
  const keys: Record<string, string> = Object.create(null)
  for (const [alias, { provider, base_url, api_key_env }] of Object.entries(models)) {
    if (provider === 'demo') continue
    // The default is for OpenAI: another server gets a key only if the block names it.
    const name = api_key_env ?? (base_url ? undefined : DEFAULT_KEY_ENV)
    const key = name === undefined || !Object.hasOwn(env, name) ? undefined : nonEmpty(env[name])
    if (key) keys[alias] = key
    else if (!base_url) bad(AT_KEY(where, `models.${alias}.api_key_env`, keyNotSet(name ?? '')))
  }
  return keys
}

/** A key that stands in the name's place by mistake is not repeated, whatever it looks like. */
function keyNotSet(name: string): string {
  return name.split('_').every(isPlainWord) ? MODEL.keyNotSet(name) : MODEL.keyNotSetUnnamed
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

/** A name that says so beyond doubt, and one that may stand for something else: a cache's key. */
const SURE_NAME =
  /(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)PASS|PWD|CREDENTIALS?|(?:API|ACCESS|PRIVATE)_?KEY)$/i
const LIKELY_NAME = /(?:^|_)(?:KEY|APIKEY|AUTH|JWT|PAT|DSN)$/i
/** What is made of words counts as a passphrase from here on, characters and words. */
const PASSPHRASE = { chars: 16, words: 3 } as const

/** Whether a variable holds a secret: by its name and its look, since a plain word or path would be taken out of everything. */
function isSecret(name: string, value: string): boolean {
  if (SURE_NAME.test(name)) return looksSecret(value) || isPassphrase(value)
  return LIKELY_NAME.test(name) && looksSecret(value)
}

function isPassphrase(value: string): boolean {
  if (value.length < PASSPHRASE.chars || isPath(value)) return false
  return value.split(/[^A-Za-z0-9]+/).filter(Boolean).length >= PASSPHRASE.words
}

/** What we hold ourselves: it never reaches a child, by whatever name. Placeholders such as "ollama" are none. */
export function ownSecrets({ modelKeys, ...single }: Secrets): string[] {
  const values = [...Object.values(single), ...Object.values(modelKeys)]
  return values.filter((v): v is string => typeof v === 'string' && !isPlainWord(v))
}

/** Every value that must never be shown. */
export function secretValues(secrets: Secrets, env: Env, databaseUrl: string): string[] {
  const values = ownSecrets(secrets)
  for (const [name, value] of Object.entries(env)) {
    if (value && isSecret(name, value)) values.push(value)
    values.push(...passwordOf(value))
  }
  return [...new Set([...values, ...passwordOf(databaseUrl)])]
}

/** Of an address, as it is written there and as it is. */
function passwordOf(address = ''): string[] {
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:([^@/]+)@/.exec(address)?.[1]
  return password === undefined || isPlainWord(password) ? [] : [password, decoded(password)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
