import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { TurnstoneError } from '../util/errors.ts'
import { LOG_LEVELS, type LogLevel } from '../util/log.ts'
import { type Config, configSchema, type ModelConfig, type Secrets } from './config.ts'

export interface Flags {
  readonly config?: string
  readonly skipPermissions?: boolean
  readonly model?: string
}

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home?: string
}

/**
 * Reads config.toml, the environment and the flags; precedence is flag, environment, file, default.
 * Throws TurnstoneError 'config' with one line that names the key and the file, never a secret's value.
 */
export function loadConfig(flags: Flags, { env, cwd, home = homedir() }: Environment): Config {
  const file = findFile(flags.config, env.TURNSTONE_CONFIG, cwd, home)
  const where = file ?? 'the environment'
  const parsed = parseTables(file ? readToml(file) : {}, where)
  const base = file ? dirname(file) : cwd
  const models = modelsOf(parsed, flags, env, where)
  const secrets = secretsOf(parsed, models.byAlias, env, where)
  const url = nonEmpty(env.TURNSTONE_DB_URL) ?? parsed.database.url
  const { mcp: _mcp, budget: _budget, skills: _skills, ...kept } = parsed
  checkIdentities(parsed.users, where)
  return {
    ...kept,
    http: { ...parsed.http, port: portOf(env.TURNSTONE_CHANNEL_PORT) ?? parsed.http.port },
    workspace: { ...parsed.workspace, root: resolve(base, parsed.workspace.root) },
    approvals: { ...parsed.approvals, skip_permissions: flags.skipPermissions ?? parsed.approvals.skip_permissions },
    models: { default: models.default, byAlias: models.byAlias },
    secrets,
    secretValues: secretValues(secrets, env, url),
    logLevel: levelOf(env.TURNSTONE_LOG_LEVEL),
    databaseFile: sqliteFile(url, base, where),
    file,
    notes: models.notes,
  }
}

function bad(message: string): never {
  throw new TurnstoneError('config', message)
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

function findFile(flag: string | undefined, named: string | undefined, cwd: string, home: string): string | undefined {
  for (const [what, path] of [
    ['--config', flag],
    ['$TURNSTONE_CONFIG', nonEmpty(named)],
  ] as const) {
    if (path === undefined) continue
    const absolute = resolve(cwd, path)
    if (!existsSync(absolute)) bad(`${what}: no such file: ${absolute}`)
    return absolute
  }
  return [join(cwd, 'config.toml'), join(home, '.config/turnstone/config.toml')].find((path) => existsSync(path))
}

function readToml(file: string): unknown {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    bad(`${file}: cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`)
  }
  try {
    return parse(content)
  } catch (error) {
    if (error instanceof TomlError) bad(`${file}: line ${error.line}, column ${error.column}: ${tomlFault(error)}`)
    throw error
  }
}

/** Only the first line of its message: what follows shows the file's line, and that may hold a secret. */
function tomlFault({ message }: TomlError): string {
  const [first = ''] = message.split('\n')
  if (/integer|lossless/i.test(first)) return 'the number is too large; write ids in quotes'
  return `not valid TOML: ${first.replace(/^Invalid TOML document: /, '')}`
}

function parseTables(tables: unknown, where: string): z.output<typeof configSchema> {
  const result = configSchema.safeParse(tables)
  if (result.success) return result.data
  bad(`${where}: ${issueLine(result.error.issues[0])}`)
}

function issueLine(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'not valid'
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys
    return `unknown key ${path ? `${path}.` : ''}${key}; see config.example.toml`
  }
  return `${path}: ${issue.message.replace(/^Invalid input: /, '')}`
}

function portOf(value: string | undefined): number | undefined {
  if (nonEmpty(value) === undefined) return undefined
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    bad('TURNSTONE_CHANNEL_PORT: expected a port from 0 to 65535')
  return port
}

function levelOf(value: string | undefined): LogLevel {
  const level = nonEmpty(value) ?? 'info'
  return LOG_LEVELS.find((l) => l === level) ?? bad(`TURNSTONE_LOG_LEVEL: expected one of ${LOG_LEVELS.join(', ')}`)
}

function sqliteFile(url: string, base: string, where: string): string {
  if (/^postgres(ql)?:/.test(url)) bad(`${where}: database.url: PostgreSQL is not in this version; use sqlite:FILE`)
  if (!url.startsWith('sqlite:')) bad(`${where}: database.url: expected sqlite:FILE`)
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  if (!path) bad(`${where}: database.url: sqlite: needs a file name`)
  return path === ':memory:' || isAbsolute(path) ? path : resolve(base, path)
}

function modelsOf(
  parsed: z.output<typeof configSchema>,
  flags: Flags,
  env: Environment['env'],
  where: string,
): { default: string; byAlias: Record<string, ModelConfig>; notes: string[] } {
  const { default: named, ...rest } = parsed.models
  const byAlias: Record<string, ModelConfig> = { ...(rest as Record<string, ModelConfig>) }
  const notes: string[] = []
  if (Object.keys(byAlias).length === 0) byAlias[named] = modelFromEnvironment(env, notes)
  const chosen = flags.model ?? named
  if (!byAlias[chosen]) {
    const source = flags.model === undefined ? `${where}: models.default` : '--model'
    bad(`${source}: there is no [models.${chosen}]; there are: ${Object.keys(byAlias).join(', ')}`)
  }
  return { default: chosen, byAlias, notes }
}

function modelFromEnvironment(env: Environment['env'], notes: string[]): ModelConfig {
  const block = (fields: Record<string, unknown>): ModelConfig =>
    configSchema.parse({ models: { main: fields } }).models.main as ModelConfig
  if (nonEmpty(env.OPENAI_API_KEY)) return block({ provider: 'openai', model: 'gpt-5.4', reasoning_effort: 'none' })
  if (nonEmpty(env.ANTHROPIC_API_KEY)) {
    notes.push('ANTHROPIC_API_KEY is set, but the anthropic provider is not in this version: the demo model answers')
  } else {
    notes.push('no model is configured: the demo model answers; set OPENAI_API_KEY or write a [models.main] block')
  }
  return block({ provider: 'demo', model: 'demo' })
}

function secretsOf(
  parsed: z.output<typeof configSchema>,
  models: Record<string, ModelConfig>,
  env: Environment['env'],
  where: string,
): Secrets {
  const modelKeys: Record<string, string> = {}
  for (const [alias, m] of Object.entries(models)) {
    if (m.provider === 'demo') continue
    const key = nonEmpty(env[m.api_key_env])
    if (key) modelKeys[alias] = key
    else if (!m.base_url) bad(`${where}: models.${alias}.api_key_env: the variable ${m.api_key_env} is not set`)
  }
  const jwtSecret = nonEmpty(env.TURNSTONE_JWT_SECRET) ?? nonEmpty(parsed.auth.jwt_secret)
  if (jwtSecret !== undefined && Buffer.byteLength(jwtSecret) < 32) {
    bad(
      `${env.TURNSTONE_JWT_SECRET ? 'TURNSTONE_JWT_SECRET' : `${where}: auth.jwt_secret`}: at least 32 bytes are needed`,
    )
  }
  const named = {
    discordToken: nonEmpty(env.TURNSTONE_DISCORD_TOKEN),
    slackToken: nonEmpty(env.TURNSTONE_SLACK_TOKEN),
    slackAppToken: nonEmpty(env.TURNSTONE_SLACK_APP_TOKEN),
    slackSigningSecret: nonEmpty(env.TURNSTONE_SLACK_SIGNING_SECRET),
    jwtSecret,
  }
  checkSlack(named, parsed.channels.slack.mode)
  return { ...Object.fromEntries(Object.entries(named).filter(([, v]) => v !== undefined)), modelKeys }
}

function checkSlack(
  s: { slackToken: string | undefined; slackAppToken: string | undefined; slackSigningSecret: string | undefined },
  mode: 'socket' | 'http',
): void {
  const second = mode === 'socket' ? s.slackAppToken : s.slackSigningSecret
  const name = mode === 'socket' ? 'TURNSTONE_SLACK_APP_TOKEN' : 'TURNSTONE_SLACK_SIGNING_SECRET'
  if (s.slackToken && !second) bad(`${name} is not set: Slack in ${mode} mode needs it beside TURNSTONE_SLACK_TOKEN`)
  if (second && !s.slackToken) bad(`TURNSTONE_SLACK_TOKEN is not set: Slack needs it beside ${name}`)
}

const SECRET_NAME = /_(KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS?)$/i

function secretValues(secrets: Secrets, env: Environment['env'], url: string): string[] {
  const { modelKeys, ...single } = secrets
  const values = [...Object.values(single), ...Object.values(modelKeys)].filter(
    (v): v is string => typeof v === 'string',
  )
  for (const [name, value] of Object.entries(env)) {
    if (value && value.length >= 8 && SECRET_NAME.test(name)) values.push(value)
  }
  const password = /^[a-z]+:\/\/[^:@/]*:([^@]+)@/.exec(url)?.[1]
  if (password) values.push(password, decodeURIComponent(password))
  return [...new Set(values)]
}

function checkIdentities(users: Config['users'], where: string): void {
  const owner = new Map<string, string>()
  for (const [name, user] of Object.entries(users)) {
    for (const channel of ['discord', 'slack'] as const) {
      for (const id of user[channel]) {
        const other = owner.get(`${channel}:${id}`)
        if (other) bad(`${where}: users.${name}.${channel}: ${id} belongs to users.${other} already`)
        owner.set(`${channel}:${id}`, name)
      }
    }
  }
}
