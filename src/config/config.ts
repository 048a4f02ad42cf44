import { z } from 'zod'
import { DATABASE, IDS, MODEL, POLICY, SLASH_COMMAND, USER_NAME, VALUE } from '../copy/config.ts'
import type { LOG_LEVELS, LogFormat } from '../util/log.ts'
import { createRedactor } from '../util/redact.ts'
import { parseDuration } from '../util/time.ts'
import { PROVIDERS_NOT_IN_THIS_VERSION } from './not-in-this-version.ts'
import { TOOL_LABELS } from './tool-labels.ts'

/** Milliseconds from a duration; `zero` says whether 0 has a meaning there. */
function duration(zero: boolean) {
  const error = zero ? VALUE.duration : VALUE.durationAboveZero
  return z.union([z.string(), z.number()], { error }).transform((v, ctx) => {
    const ms = parseDuration(v)
    if (ms !== undefined && (ms > 0 || zero)) return ms
    ctx.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })
}

const text = z.string()
const labels = z
  .array(z.string().refine((label) => TOOL_LABELS.includes(label), { error: POLICY.label(TOOL_LABELS) }))
  .default([])
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const address = text.regex(/^https?:\/\/[^\s/]/, { error: VALUE.address })
const count = (min: number, max: number) => z.number().int().min(min).max(max)
const tables = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape).prefault({} as never)

const capabilities = tables({
  supports_vision: z
    .boolean()
    .optional()
    .describe('whether the model can see images; unset = from the model table, no for an unknown model'),
})

/** Whether this is a key and not the name of its variable; such a value is never repeated. */
function looksLikeKey(value: string): boolean {
  if (createRedactor().containsSecret(value)) return true
  return (
    /^(?:sk|pk|gsk|xai|hf|nvapi)[-_]/.test(value) ||
    (value.length >= 20 && (!value.includes('_') || /[-.]/.test(value)))
  )
}

const model = z.strictObject({
  provider: z
    .enum(['openai', 'demo'], {
      error: ({ input }) =>
        PROVIDERS_NOT_IN_THIS_VERSION.includes(String(input)) ? MODEL.providerNotInThisVersion : MODEL.provider,
    })
    .default('openai')
    .describe('openai (Chat Completions, any compatible server) | demo'),
  model: text.min(1).default('gpt-5.4').describe("the model's name at the provider"),
  base_url: text
    .regex(/^$|^https?:\/\/[^\s/]/, { error: VALUE.address, abort: true })
    .regex(/^(?!.*\/chat\/completions\/?$)/, { error: MODEL.chatCompletions })
    .default('')
    .describe('another server with the same API: vLLM, llama.cpp, Ollama, …; most end in /v1'),
  api_key_env: text
    .refine((name) => !looksLikeKey(name), { error: MODEL.keyItself, abort: true })
    .regex(VARIABLE, { error: MODEL.keyName })
    .optional()
    .describe(
      'the variable that holds the key; it must be set unless base_url is, and with base_url none is sent unless you write this',
    ),
  context_window: count(0, 10_000_000)
    .default(0)
    .describe('tokens; 0 = from the model table, 32k for an unknown model'),
  max_tokens: count(0, 1_000_000).default(0).describe('tokens in one answer; 0 = the provider decides'),
  reasoning_effort: text
    .default('')
    .describe('sent unchanged; if it is empty, OpenAI\'s gpt-5.4 and later get "none" together with tools'),
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

const DISCORD_ID = /^\d{17,20}$/

const ids = (form: RegExp, error: string) => z.array(z.string().regex(form, { error })).default([])

const user = z.strictObject({
  role: z.enum(['admin', 'member']).default('member').describe('admin | member'),
  discord: ids(USER_ID.discord, IDS.discordUser).describe('Discord user ids'),
  slack: ids(USER_ID.slack, IDS.slackUser).describe('Slack user ids'),
})

const policy = z.strictObject({
  name: text.min(1).describe('shown wherever the rule decides'),
  effect: z.enum(['deny', 'ask', 'allow']).describe('deny | ask | allow'),
  act: z.enum(['exec', 'read', 'write', 'net']).describe('exec | read | write | net'),
  match: text
    .min(1)
    .describe('an approval label or tool name; a path (relative: in the workspace, ~: the home directory); or a host'),
})

const discord = tables({
  guild: text
    .regex(/^$|^\d{17,20}$/, { error: IDS.discordServer })
    .default('')
    .describe('only this server; "" = all'),
  channels: ids(DISCORD_ID, IDS.discordChannel).describe(
    'only these channels; [] = all the bot sees; a thread counts as its parent',
  ),
  bots: ids(DISCORD_ID, IDS.discordBot).describe('ids of bots whose messages are read; link them like people'),
  archive_minutes: z
    .union([z.literal(60), z.literal(1440), z.literal(4320), z.literal(10080)], {
      error: VALUE.choices(['60', '1440', '4320', '10080']),
    })
    .default(1440)
    .describe('minutes of silence after which Discord archives a thread: 60, 1440, 4320 or 10080'),
  api_url: address.default('https://discord.com/api').describe("Discord's API"),
})

const slack = tables({
  mode: z
    .enum(['socket', 'http'])
    .default('socket')
    .describe('socket | http (events at /slack/events; needs TURNSTONE_SLACK_SIGNING_SECRET)'),
  channels: ids(/^[CGD][A-Z0-9]{5,20}$/, IDS.slackChannel).describe('only these channels; [] = all the bot is in'),
  bots: ids(/^[BUW][A-Z0-9]{5,20}$/, IDS.slackBot).describe(
    'ids of bots whose messages are read; link them like people',
  ),
  slash_command: text
    .regex(/^\/[^\s/]+$/, { error: SLASH_COMMAND })
    .default('/turnstone')
    .describe('the slash command of the Slack app'),
  api_url: address.default('https://slack.com/api/').describe("Slack's Web API"),
})

/** The whole of config.toml: types, defaults and documentation have this one source. */
export const configSchema = z.strictObject({
  database: tables({
    url: text
      .regex(/^(?!postgres(?:ql)?:)/, { error: DATABASE.postgres, abort: true })
      .default('sqlite:./turnstone.db')
      .describe('sqlite:FILE (TURNSTONE_DB_URL wins)'),
  }),
  http: tables({
    host: text.min(1).default('127.0.0.1').describe('the address to listen on for /health, /metrics and Slack events'),
    port: count(0, 65_535).default(8091).describe('0 = any free port, printed at start (TURNSTONE_CHANNEL_PORT wins)'),
    public_url: text
      .regex(/^$|^https?:\/\/[^\s/]/, { error: VALUE.address })
      .default('')
      .describe('the address at which Slack reaches this gateway; the Slack manifest needs it in http mode'),
  }),
  auth: tables({
    jwt_secret: text
      .default('')
      .describe('at least 32 bytes, better in TURNSTONE_JWT_SECRET; nothing uses it in this version'),
  }),
  workspace: tables({
    root: text
      .min(1)
      .default('./workspace')
      .describe("where tools work; a gateway that runs as root runs bash and search as this directory's owner"),
    per_workstream: z.boolean().default(false).describe('true: each conversation has its own directory'),
  }),
  models: z
    .object({ default: text.default('main').describe('the model that new conversations use') })
    .catchall(model)
    .prefault({}),
  session: tables({
    instructions: text.default('').describe('added to the system prompt'),
    speakers: z
      .enum(['owner', 'linked'])
      .default('owner')
      .describe('whose messages the bot reads in a conversation: owner (and admins) | linked'),
    max_steps: count(1, 1000).default(100).describe('model calls in one turn; then one last answer without tools'),
  }),
  users: z.record(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, { error: USER_NAME('') }), user).default({}),
  channels: tables({ discord, slack }),
  approvals: tables({
    approvers: z
      .enum(['owner', 'linked'])
      .default('owner')
      .describe('who may decide a card: owner (and admins) | linked'),
    auto_approve: labels.describe('approval labels that never ask, such as "write_file"'),
    skip_permissions: z.boolean().default(false).describe('true: tools run without asking; only ask rules still ask'),
    timeout: duration(true).prefault(0).describe('an open card expires after this; 0 = never'),
  }),
  tools: tables({
    timeout: count(1, 3600).default(120).describe('seconds a tool may run, 1 to 3600'),
  }),
  policy: z.array(policy).default([]),
  sandbox: tables({
    env: z
      .array(text.regex(VARIABLE, { error: VALUE.variable }))
      .default([])
      .describe('variables that bash gets besides PATH, HOME, LANG and the like; never a secret of this gateway'),
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
export interface Config extends Omit<Parsed, 'models'> {
  readonly models: { readonly default: string; readonly byAlias: Readonly<Record<string, ModelConfig>> }
  readonly secrets: Secrets
  /** Every value that must never be shown: secrets, and what the environment holds under a secret's name. */
  readonly secretValues: readonly string[]
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** From the flag or the environment; undefined: readable on a terminal, else JSON. */
  readonly logFormat: LogFormat | undefined
  /** The SQLite file, absolute; or ':memory:'. */
  readonly databaseFile: string
  /** The file it was read from. */
  readonly file: string | undefined
  /** Lines for the log at start: what was assumed and what is ignored. */
  readonly notes: readonly string[]
}
