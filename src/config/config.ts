import { z } from 'zod'
import type { LOG_LEVELS } from '../util/log.ts'
import { parseDuration } from '../util/time.ts'

/** A key of a part that is not built: it may stand at its default and nowhere else. */
export const NOT_IN_THIS_VERSION = 'not in this version; leave it at its default'

function later<T extends z.ZodType>(type: T, standard: z.output<T>) {
  return type
    .refine((value) => JSON.stringify(value) === JSON.stringify(standard), { error: NOT_IN_THIS_VERSION })
    .prefault(standard as z.input<T>)
}

/** Milliseconds from a duration; `zero` says whether 0 has a meaning there. */
function duration(zero: boolean) {
  return z
    .union([z.string(), z.number()], { error: 'expected a duration such as "1h30m" or seconds' })
    .transform((v, ctx) => {
      const ms = parseDuration(v)
      if (ms !== undefined && (ms > 0 || zero)) return ms
      ctx.addIssue({
        code: 'custom',
        message: `expected a duration such as "1h30m" or seconds${zero ? '' : ', above 0'}`,
      })
      return z.NEVER
    })
}

const text = z.string()
const texts = z.array(z.string()).default([])
const count = (min: number, max: number) => z.number().int().min(min).max(max)
const tables = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never)

const capabilities = tables({
  supports_vision: z.boolean().optional().describe('images may be sent to the model'),
  supports_tool_search: later(z.boolean(), false).describe('the provider searches deferred tools itself'),
  supports_web_search: later(z.boolean(), false).describe('the provider searches the web itself'),
})

const model = z.strictObject({
  provider: z
    .enum(['openai', 'openai-responses', 'anthropic', 'demo'])
    .refine((p) => p === 'openai' || p === 'demo', {
      error: 'this provider is not in this version; use "openai" or "demo"',
    })
    .prefault('openai')
    .describe('openai (Chat Completions, any compatible server) or demo'),
  model: text.default('gpt-5.4').describe("the model's name at the provider"),
  base_url: text
    .regex(/^$|^https?:\/\//, { error: 'expected an address that begins with http:// or https://' })
    .default('')
    .describe('another server with the same API; "" = the provider itself'),
  api_key_env: text.default('OPENAI_API_KEY').describe('the environment variable that holds the key'),
  context_window: count(0, 10_000_000)
    .default(0)
    .describe('tokens; 0 = from the model table, 32k for an unknown model'),
  max_tokens: count(0, 1_000_000).default(0).describe('tokens of one answer; 0 = as the provider does'),
  reasoning_effort: text.default('').describe('passed on as it is; "" = not sent'),
  price: later(
    z.strictObject({ input: z.number().default(0), cached: z.number().default(0), output: z.number().default(0) }),
    { input: 0, cached: 0, output: 0 },
  ).describe('USD per million tokens'),
  capabilities,
})

/** The platforms that the configuration knows. */
export const PLATFORMS = ['discord', 'slack'] as const

/** A user's ids on a platform, as configured; [] where there are none. */
export function userIdsOn(user: UserConfig | undefined, platform: string): readonly string[] {
  const known = PLATFORMS.find((p) => p === platform)
  return (known && user?.[known]) ?? []
}

/** How the platforms' user ids look. */
export const USER_ID = { discord: /^\d{17,20}$/, slack: /^[UW][A-Z0-9]{5,20}$/ } as const

const ids = (form: RegExp, error: string) => z.array(z.string().regex(form, { error })).default([])

const user = z.strictObject({
  role: z.enum(['admin', 'member']).default('member').describe('admin or member'),
  discord: ids(USER_ID.discord, 'a Discord user id has 17 to 20 digits').describe('Discord user ids'),
  slack: ids(USER_ID.slack, 'a Slack user id begins with U or W').describe('Slack user ids'),
})

const policy = z.strictObject({
  name: text.min(1).describe('shown wherever the rule decides'),
  effect: z.enum(['deny', 'ask', 'allow']).describe('deny, ask or allow'),
  act: z.enum(['exec', 'read', 'write', 'net']).describe('exec, read, write or net'),
  match: text.min(1).describe('approval label or tool name; path; host'),
})

const discord = tables({
  guild: text.default('').describe('only this server; "" = all'),
  channels: texts.describe('only these channels; [] = all the bot sees; a thread counts as its parent'),
  bots: texts.describe('ids of bots that may speak'),
  archive_minutes: z
    .union([z.literal(60), z.literal(1440), z.literal(4320), z.literal(10080)], {
      error: 'expected 60, 1440, 4320 or 10080',
    })
    .default(1440)
    .describe('silence after which Discord archives a thread: 60, 1440, 4320 or 10080'),
  api_url: z.url().default('https://discord.com/api').describe("Discord's API"),
})

const slack = tables({
  mode: z.enum(['socket', 'http']).default('socket').describe('socket, or http (Events API at /slack/events)'),
  channels: texts.describe('only these channels; [] = all the bot is in'),
  bots: texts.describe('ids of bots that may speak'),
  slash_command: text
    .regex(/^\/\S+$/, 'expected a slash and a word')
    .default('/turnstone')
    .describe('the slash command'),
  api_url: z.url().default('https://slack.com/api/').describe("Slack's Web API"),
})

/** The whole of config.toml: types, defaults and documentation have this one source. */
export const configSchema = z.strictObject({
  database: tables({ url: text.default('sqlite:./turnstone.db').describe('sqlite:FILE') }),
  http: tables({
    host: text.min(1).default('127.0.0.1').describe('where /health, /metrics and Slack events are served'),
    port: count(0, 65_535).default(8091).describe('0 = any free port, printed at start'),
    public_url: text.default('').describe('how others reach this gateway'),
  }),
  auth: tables({
    jwt_secret: text.default('').describe('better TURNSTONE_JWT_SECRET; at least 32 bytes'),
  }),
  workspace: tables({
    root: text.min(1).default('./workspace').describe('where tools work'),
    per_workstream: z.boolean().default(false).describe('true: a folder of its own for each workstream'),
  }),
  models: z
    .object({ default: text.default('main').describe('the alias a new workstream uses') })
    .catchall(model)
    .prefault({}),
  session: tables({
    instructions: text.default('').describe('added to the system prompt'),
    speakers: z
      .enum(['owner', 'linked'])
      .default('owner')
      .describe('who is heard in a workstream: owner (and admins) or linked'),
    max_steps: count(1, 1000).default(100).describe('model calls in one turn; then one last answer without tools'),
    auto_compact_pct: later(z.number(), 0.8).describe('share of the window at which history is compacted'),
    agent_model: later(text, '').describe('alias for sub-agents'),
  }),
  users: z
    .record(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'a user name has letters, digits, dot, dash, underscore'), user)
    .default({}),
  channels: tables({
    discord,
    slack,
    web: tables({ enabled: later(z.boolean(), true).describe('the web channel') }),
  }),
  approvals: tables({
    approvers: z
      .enum(['owner', 'linked'])
      .default('owner')
      .describe('who decides a card: owner (and admins) or linked'),
    auto_approve: texts.describe('approval labels that never ask'),
    skip_permissions: z.boolean().default(false).describe('true: nothing asks, but for ask rules'),
    timeout: duration(true).prefault(0).describe('an open card is denied after this; 0 = waits for ever'),
  }),
  tools: tables({
    timeout: count(1, 3600).default(120).describe('seconds a tool may run, 1 to 3600'),
    search: later(z.enum(['auto', 'on', 'off']), 'auto').describe('tool search'),
    search_threshold: later(z.number(), 20).describe('number of tools at which it is active'),
    search_max_results: later(z.number(), 5).describe('tools a search returns'),
    modules: later(z.array(z.string()), []).describe('in-process tools'),
    tavily_key_env: later(text, 'TAVILY_API_KEY').describe('the variable that holds the key of web search'),
    tavily_url: later(text, 'https://api.tavily.com').describe('the web search service'),
  }),
  policy: z.array(policy).default([]),
  sandbox: tables({
    mode: later(z.enum(['auto', 'bwrap', 'off']), 'auto').describe('there is no sandbox in this version'),
    network: later(z.boolean(), true).describe('network for bash'),
    env: texts.describe('names of variables passed through to bash'),
  }),
  budget: tables({
    user_daily_tokens: later(z.number(), 0).describe('0 = none'),
    user_daily_usd: later(z.number(), 0).describe('0 = none'),
  }),
  skills: tables({ path: later(text, './skills').describe('folder of skills') }),
  mcp: tables({
    refresh_interval: later(z.union([z.string(), z.number()]), '4h').describe('0 = no polling'),
    servers: later(z.record(z.string(), z.unknown()), {}).describe('MCP servers'),
  }),
})

type Parsed = z.output<typeof configSchema>
export type ModelConfig = z.output<typeof model>
export type PolicyRule = z.output<typeof policy>
export type UserConfig = z.output<typeof user>
export type DiscordConfig = Parsed['channels']['discord']
export type SlackConfig = Parsed['channels']['slack']

/** Where each secret comes from; never logged, never passed to a child. */
export interface Secrets {
  readonly discordToken?: string
  readonly slackToken?: string
  readonly slackAppToken?: string
  readonly slackSigningSecret?: string
  readonly jwtSecret?: string
  /** By model alias. */
  readonly modelKeys: Readonly<Record<string, string>>
}

/** What the program runs with: parsed, paths absolute, secrets apart. */
export interface Config extends Omit<Parsed, 'models' | 'mcp' | 'budget' | 'skills'> {
  readonly models: { readonly default: string; readonly byAlias: Readonly<Record<string, ModelConfig>> }
  readonly secrets: Secrets
  /** Every value that must never be shown: secrets, and what the environment holds under a secret's name. */
  readonly secretValues: readonly string[]
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** The SQLite file, absolute; or ':memory:'. */
  readonly databaseFile: string
  /** The file it was read from. */
  readonly file: string | undefined
  /** Lines for the log at start: what was assumed and what is ignored. */
  readonly notes: readonly string[]
}
