import { homedir } from 'node:os'
import { dirname, isAbsolute, resolve } from 'node:path'
import type { z } from 'zod'
import {
  AT_KEY,
  DATABASE,
  ENVIRONMENT,
  IDS,
  MODEL,
  SLACK_HALF_SET,
  USER_NAME,
  VALUE,
  WORKSPACE,
} from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../util/log.ts'
import { createRedactor } from '../util/redact.ts'
import { type Config, configSchema, type ModelConfig, PLATFORMS } from './config.ts'
import { issueLine } from './issues.ts'
import { isTable, removeUnbuiltKeys } from './not-in-this-version.ts'
import { isBelow, realPlace, withHome } from './places.ts'
import { resolvedRules } from './policy-rules.ts'
import { findFile, readToml } from './read-file.ts'
import { DEFAULT_KEY_ENV, nonEmpty, secretsOf, secretValues } from './secrets.ts'

export interface Flags {
  readonly config?: string
  readonly skipPermissions?: boolean
  readonly model?: string
  readonly logFormat?: LogFormat
}

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home?: string
}

type Parsed = z.output<typeof configSchema>

/**
 * Reads config.toml, the environment and the flags; precedence is flag, environment, file, default.
 * Throws TurnstoneError 'config' with one line that names the key and the file, never a secret's value.
 */
export function loadConfig(flags: Flags, environment: Environment): Config {
  try {
    return load(flags, environment)
  } catch (error) {
    // A key may stand where a name belongs: in a table's name, an alias, an address.
    if (error instanceof TurnstoneError) error.message = createRedactor().redact(error.message)
    throw error
  }
}

function load(flags: Flags, { env, cwd, home = homedir() }: Environment): Config {
  const file = findFile(nonEmpty(flags.config), nonEmpty(env.TURNSTONE_CONFIG), cwd, home)
  const where = file ?? 'the environment'
  const parsed = parseTables(file ? readToml(file) : {}, where)
  const base = file ? dirname(file) : cwd
  const models = modelsOf(parsed, flags, env, where)
  const secrets = secretsOf(parsed, models.byAlias, env, where)
  const urlFromEnv = nonEmpty(env.TURNSTONE_DB_URL)
  const url = urlFromEnv ?? parsed.database.url
  const urlPlace = urlFromEnv === undefined ? `${where}: database.url` : 'TURNSTONE_DB_URL'
  checkIdentities(parsed.users, where)
  const root = realPlace(resolve(base, withHome(parsed.workspace.root, home)))
  const databaseFile = sqliteFile(url, base, home, urlPlace)
  checkWorkspace(root, [file, databaseFile, PROGRAM], where)
  const bases = { root, home: realPlace(home), perWorkstream: parsed.workspace.per_workstream }
  return {
    ...parsed,
    policy: resolvedRules(parsed.policy, bases, where),
    http: { ...parsed.http, port: portOf(env.TURNSTONE_CHANNEL_PORT) ?? parsed.http.port },
    workspace: { ...parsed.workspace, root },
    approvals: { ...parsed.approvals, skip_permissions: flags.skipPermissions ?? parsed.approvals.skip_permissions },
    models: { default: models.default, byAlias: models.byAlias },
    secrets,
    secretValues: secretValues(secrets, env, url),
    logLevel: oneOf('TURNSTONE_LOG_LEVEL', LOG_LEVELS, env.TURNSTONE_LOG_LEVEL) ?? 'info',
    logFormat: flags.logFormat ?? oneOf('TURNSTONE_LOG_FORMAT', LOG_FORMATS, env.TURNSTONE_LOG_FORMAT),
    databaseFile,
    file,
    notes: [...models.notes, ...slackNotes(parsed, secrets)],
  }
}

function bad(message: string): never {
  throw new TurnstoneError('config', message)
}

/** The program's own files. */
const PROGRAM = resolve(import.meta.dirname, '../..')

/** Tools may write anywhere in the workspace, so nothing of ours lies there. */
function checkWorkspace(root: string, own: readonly (string | undefined)[], where: string): void {
  if (root === '/') bad(WORKSPACE.system(root))
  const inside = own.find((path) => path !== undefined && isAbsolute(path) && isBelow(realPlace(path), root))
  if (inside !== undefined) bad(`${where}: ${WORKSPACE.holdsOwn(root, inside)}`)
}

function parseTables(tables: Record<string, unknown>, where: string): Parsed {
  const unbuilt = removeUnbuiltKeys(tables)
  if (unbuilt !== undefined) bad(AT_KEY(where, unbuilt, VALUE.notInThisVersion))
  // The schema does not see it.
  if (isTable(tables.users) && Object.hasOwn(tables.users, '__proto__'))
    bad(AT_KEY(where, 'users.__proto__', USER_NAME('')))
  const result = configSchema.safeParse(tables)
  if (result.success) return result.data
  const [issue] = result.error.issues
  return bad(issue ? issueLine(issue, tables, where) : `${where}: ${VALUE.notValid}`)
}

function portOf(value: string | undefined): number | undefined {
  if (nonEmpty(value) === undefined) return undefined
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) bad(`TURNSTONE_CHANNEL_PORT: ${ENVIRONMENT.port}`)
  return port
}

function oneOf<T extends LogLevel | LogFormat>(
  name: string,
  known: readonly T[],
  value: string | undefined,
): T | undefined {
  if (nonEmpty(value) === undefined) return undefined
  return known.find((k) => k === value) ?? bad(`${name}: ${VALUE.choices(known)}`)
}

function sqliteFile(url: string, base: string, home: string, place: string): string {
  if (/^postgres(ql)?:/.test(url)) bad(`${place}: ${DATABASE.postgres}`)
  if (!url.startsWith('sqlite:')) bad(`${place}: ${DATABASE.form}`)
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  if (path.startsWith('//')) bad(`${place}: ${DATABASE.slashes}`)
  if (!path) bad(`${place}: ${DATABASE.noFile}`)
  return path === ':memory:' || isAbsolute(path) ? path : resolve(base, withHome(path, home))
}

interface Models {
  readonly default: string
  readonly byAlias: Readonly<Record<string, ModelConfig>>
  readonly notes: readonly string[]
}

function modelsOf(parsed: Parsed, flags: Flags, env: Environment['env'], where: string): Models {
  const { default: named, ...rest } = parsed.models
  // Without a prototype: an alias such as "constructor" is found only where it was defined.
  const byAlias: Record<string, ModelConfig> = Object.assign(Object.create(null), rest)
  const notes = Object.entries(byAlias).flatMap(([alias, { base_url, api_key_env }]) => [
    ...(/^https?:\/\/[^/]+\/?$/.test(base_url) ? [MODEL.noPath(alias, base_url)] : []),
    ...(base_url && !api_key_env && nonEmpty(env[DEFAULT_KEY_ENV]) ? [MODEL.keyNotSent(alias, DEFAULT_KEY_ENV)] : []),
  ])
  if (Object.keys(byAlias).length === 0) byAlias[named] = modelFromEnvironment(env, notes)
  const chosen = flags.model ?? named
  if (!byAlias[chosen]) {
    const place = flags.model === undefined ? `${where}: models.default` : '--model'
    bad(`${place}: ${MODEL.noAlias(chosen, Object.keys(byAlias))}`)
  }
  return { default: chosen, byAlias, notes }
}

function modelFromEnvironment(env: Environment['env'], notes: string[]): ModelConfig {
  const block = (fields: Record<string, unknown>): ModelConfig =>
    configSchema.parse({ models: { main: fields } }).models.main as ModelConfig
  if (nonEmpty(env.OPENAI_API_KEY)) return block({ provider: 'openai', model: 'gpt-5.4', reasoning_effort: 'none' })
  notes.push(nonEmpty(env.ANTHROPIC_API_KEY) ? MODEL.anthropicKey : MODEL.none)
  return block({ provider: 'demo', model: 'demo' })
}

function slackNotes({ channels }: Parsed, { slackToken }: Config['secrets']): string[] {
  return channels.slack.mode === 'http' && slackToken === undefined ? [SLACK_HALF_SET.off] : []
}

function checkIdentities(users: Config['users'], where: string): void {
  const owner = new Map<string, string>()
  for (const [name, user] of Object.entries(users)) {
    for (const platform of PLATFORMS) {
      for (const id of user[platform]) {
        const other = owner.get(`${platform}:${id}`)
        if (other) bad(AT_KEY(where, `users.${name}.${platform}`, IDS.taken(id, `users.${other}`)))
        owner.set(`${platform}:${id}`, name)
      }
    }
  }
}
