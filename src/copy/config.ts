/** What a wrong configuration is answered with: the form that is wanted, and the cure. No function here gets a secret. */

/** `place` is the file or variable; `key` the key as it is written in the file. */
export const AT_KEY = (place: string, key: string, fault: string): string => `${place}: ${key}: ${fault}`

export const FILE = {
  missing: (path: string) => `no such file: ${path}`,
  isDirectory: (path: string) => `${path} is a directory; name the file, such as ${path}/config.toml`,
  unreadable: (path: string, code: string) => `${path} cannot be read (${code}); check its permissions`,
} as const

const SAMPLE = (key: string, value: string): string => `as in ${key} = ${value}`

export const TOML = {
  at: (line: number, column: number, fault: string) => `line ${line}, column ${column}: ${fault}`,
  quotes: (key: string) => `text needs straight quotes, ${SAMPLE(key, '"…"')}`,
  listQuotes: (key: string) => `text in a list needs straight quotes, ${SAMPLE(key, '["…"]')}`,
  tooLarge: (key: string) =>
    `the number is too large; write ids as text in quotes, ${SAMPLE(key, '["80351110224678912"]')}`,
  invalid: (reason: string) => `not valid TOML: ${reason}`,
} as const

/** The kinds of value that a file can hold. */
export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'table' | 'date'

const WANTED: Readonly<Record<Kind, (key: string) => string>> = {
  text: (key) => `text in quotes, ${SAMPLE(key, '"…"')}`,
  number: (key) => `a number without quotes, ${SAMPLE(key, '1')}`,
  boolean: (key) => `true or false without quotes, ${SAMPLE(key, 'true')}`,
  list: (key) => `a list, ${SAMPLE(key, '["…"]')}`,
  table: () => 'a table with keys of its own',
  date: (key) => `a date, ${SAMPLE(key, '2026-01-31')}`,
}

const FOUND: Readonly<Record<Kind, string>> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  table: 'a table',
  date: 'a date',
}

export const VALUE = {
  missing: 'missing; this key has no default',
  kind: (wanted: Kind, found: Kind, key: string) => `expected ${WANTED[wanted](key)}, not ${FOUND[found]}`,
  choices: (values: readonly string[]) => `expected ${oneOf(values)}`,
  atLeast: (min: string) => `expected ${min} or more`,
  atMost: (max: string) => `expected ${max} or less`,
  whole: 'expected a whole number',
  empty: 'expected text that is not empty',
  duration: 'expected a duration such as "1h30m", "90s" or a number of seconds',
  durationAboveZero: 'expected a duration above 0, such as "1h30m", "90s" or a number of seconds',
  address: 'expected an address that starts with http:// or https://',
  variable: 'expected the name of an environment variable, such as "DEPLOY_KEY"',
  notInThisVersion: 'not in this version; leave it at its default',
  notValid: 'not valid; see config.example.toml',
} as const

function oneOf(values: readonly string[]): string {
  const quoted = values.map((v) => (/^\d+$/.test(v) ? v : `"${v}"`))
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

export const UNKNOWN_KEY = (key: string, cure: string): string => `unknown key ${key}; ${cure}`
export const DID_YOU_MEAN = (key: string): string => `did you mean ${key}?`
export const SEE_EXAMPLE = 'config.example.toml lists every key'
/** Without a variable: no part of the product has this secret. */
export const SECRETS_BELONG = (variable: string | undefined): string =>
  variable === undefined
    ? 'secrets come from the environment, not from this file'
    : `secrets come from the environment: ${variable}`

export const USER_NAME = (suggestion: string): string =>
  `a user name has letters, digits, dots, dashes and underscores only${suggestion && `; try "${suggestion}"`}`

export const IDS = {
  discordUser: 'expected a Discord user id of 17 to 20 digits; turn on Developer Mode and use Copy User ID',
  discordServer: 'expected a Discord server id of 17 to 20 digits; turn on Developer Mode and use Copy Server ID',
  discordChannel: 'expected a Discord channel id of 17 to 20 digits; turn on Developer Mode and use Copy Channel ID',
  discordBot: 'expected the id of a Discord bot, 17 to 20 digits; turn on Developer Mode and use Copy User ID',
  slackUser: 'expected a Slack user id, such as U0G9QF9C6; it is in the profile under Copy member ID',
  slackChannel: 'expected a Slack channel id, such as C024BE91L; it is at the end of the channel details',
  slackBot: 'expected the id of a Slack bot, such as B0G9QF9C6 or U0G9QF9C6',
  taken: (id: string, key: string) => `${id} already belongs to ${key}`,
} as const

export const SLASH_COMMAND = 'expected a slash and one word, such as "/turnstone"'

export const MODEL = {
  provider:
    'expected "openai" or "demo"; for Ollama, vLLM or any server with the OpenAI API use "openai" with base_url, such as "http://127.0.0.1:11434/v1"',
  providerNotInThisVersion: 'this provider is not in this version; use "openai" or "demo"',
  chatCompletions: 'leave off /chat/completions; it is added to this address, as in "https://api.example.com/v1"',
  noPath: (alias: string, address: string) =>
    `models.${alias}.base_url: ${address} has no path; most servers expect ${address.replace(/\/$/, '')}/v1`,
  keyName: 'expected the name of an environment variable, such as "OPENAI_API_KEY"',
  keyItself:
    'expected the name of an environment variable, such as "OPENAI_API_KEY"; this looks like a key, so put it into a variable and revoke it if others can read this file',
  keyNotSet: (variable: string) => `the environment variable ${variable} is not set`,
  keyNotSetUnnamed:
    'the environment variable that it names is not set; if this is the key itself, put it into a variable',
  keyNotSent: (alias: string, variable: string) =>
    `models.${alias}.base_url: no key is sent to this server; to send the one in ${variable}, write api_key_env = "${variable}"`,
  noAlias: (alias: string, known: readonly string[]) => `there is no [models.${alias}]; defined: ${known.join(', ')}`,
  anthropicKey: 'ANTHROPIC_API_KEY is set, but this version has no anthropic provider; using the demo model',
  none: 'no model is configured; using the demo model; set OPENAI_API_KEY or add a [models.main] block',
} as const

const quoted = (names: readonly string[]): string => names.map((n) => `"${n}"`).join(', ')

/** Values that could never match anything. */
export const POLICY = {
  noTool: (labels: readonly string[]) => `matches no tool; the labels and names are ${quoted(labels)}`,
  label: (labels: readonly string[]) => `no tool has this approval label; the labels are ${quoted(labels)}`,
  slash: 'a path never ends with a slash; for all files below a directory write "directory/**"',
  dots: 'leave off the ".." after a "*"; write the path that is meant',
  home: '"~" stands for the home directory only alone or before a slash, as in "~/secrets/**"',
  host: 'expected a host name alone, without scheme, port or path, such as "*.example.com"',
} as const

export const DATABASE = {
  postgres: 'PostgreSQL is not in this version; use sqlite:FILE',
  form: 'expected sqlite:FILE, such as "sqlite:./turnstone.db"',
  slashes:
    'sqlite:// needs an absolute path, as in sqlite:///var/lib/turnstone.db; for a relative path write sqlite:FILE',
  noFile: 'sqlite: needs a file name, as in "sqlite:./turnstone.db"',
} as const

export const PUBLIC_URL_NEEDED =
  'not set; the manifest for Slack in http mode needs the address at which Slack reaches this gateway, such as "https://turnstone.example.com"'

const SLACK_APP = 'of the Slack app'
const WHERE = {
  bot: `the Bot User OAuth Token (xoxb-…) from the OAuth & Permissions page ${SLACK_APP}`,
  app: `an app-level token (xapp-…) from the Basic Information page ${SLACK_APP}`,
  signing: `the Signing Secret from the Basic Information page ${SLACK_APP}`,
  discord: 'the token from the Bot page of your application on https://discord.com/developers/applications',
} as const

/** The form of a token: what it looks like, and where the right one is. */
export const TOKEN = {
  quoted: 'remove the quotes around the value',
  characters: 'it has a space, a line break or a character that no token has; copy it again',
  discord: `not a Discord bot token; use ${WHERE.discord}`,
  bearer: 'leave off "Bot "; use the token alone',
  slackBot: `not a bot token; use ${WHERE.bot}`,
  slackUser: `this is a user token (xoxp-…); use ${WHERE.bot}`,
  slackAppAsBot: `this is an app-level token (xapp-…), which belongs in TURNSTONE_SLACK_APP_TOKEN; use ${WHERE.bot}`,
  slackApp: `not an app-level token; use ${WHERE.app}`,
  slackBotAsApp: `this is a bot token (xoxb-…), which belongs in TURNSTONE_SLACK_TOKEN; use ${WHERE.app}`,
  signing: `not a signing secret; use ${WHERE.signing}`,
} as const

export const SLACK_HALF_SET = {
  app: `not set; Slack in socket mode also needs ${WHERE.app}`,
  appOrHttp: `not set; channels.slack.mode is "socket", which needs ${WHERE.app}; for TURNSTONE_SLACK_SIGNING_SECRET set mode = "http"`,
  signing: `not set; channels.slack.mode is "http", which needs ${WHERE.signing}`,
  signingOrSocket: `not set; channels.slack.mode is "http", which needs ${WHERE.signing}; for TURNSTONE_SLACK_APP_TOKEN set mode = "socket"`,
  bot: `not set; Slack needs ${WHERE.bot}`,
  off: 'channels.slack.mode is "http", but TURNSTONE_SLACK_TOKEN and TURNSTONE_SLACK_SIGNING_SECRET are not set: Slack is off',
} as const

export const ENVIRONMENT = {
  port: 'expected a port from 0 to 65535',
  jwtSecret: 'expected at least 32 bytes; `openssl rand -hex 32` prints enough',
} as const

export const FLAG_NOT_IN_THIS_VERSION = (flag: string): string => `${flag}: not in this version`

export const WORKSPACE = {
  system: (path: string) =>
    `workspace.root: ${path} is a system directory; name a directory of its own, such as ${path === '/' ? '' : path}/workspace`,
  holdsOwn: (path: string, file: string) =>
    `workspace.root: ${path} holds ${file}, one of the gateway's own files, which tools must not change; name a directory of its own, such as ${path}/workspace`,
  notMade: (path: string, code: string) =>
    `workspace.root: ${path} could not be created (${code}); create it, or name a directory that the gateway may write to`,
  notWritable: (path: string) =>
    `workspace.root: the gateway's user cannot write to ${path}; change its owner or mode, or name another directory`,
  notReachable: (path: string, uid: number) =>
    `workspace.root: user ${uid}, whom tools run as, cannot write to ${path}; open every directory above it to that user (chmod o+x)`,
} as const

export const STORE = {
  damaged: (file: string) =>
    `${file} is damaged or not a SQLite database; restore a backup, or name another file in database.url`,
  foreign: (file: string) => `${file} belongs to another program; name another file in database.url`,
  newer: (file: string, found: number, known: number) =>
    `${file} was written by a newer version (schema ${found}, this version knows ${known}); update turnstone. Nothing was changed`,
  unusable: (file: string, why: string) => `cannot use the database ${file}: ${why}`,
  full: 'the disk is full; free some space',
  locked: 'another program has locked it; close that program',
  /** `code` is the system's, such as EROFS. */
  notWritable: (directory: string, code: string) =>
    `the gateway's user cannot write to ${directory} (${code}); change its permissions, or name another file in database.url`,
  isDirectory: 'it is a directory; name a file in database.url',
} as const

export const LISTEN = {
  portTaken: (host: string, port: number) =>
    `cannot listen on ${host}:${port}: the port is taken; stop the other program, or set http.port or TURNSTONE_CHANNEL_PORT`,
  foreignHost: (host: string) =>
    `http.host: this machine has no address ${host}; use "127.0.0.1", "0.0.0.0" or one of its own addresses`,
  privileged: (host: string, port: number) =>
    `http.port: the gateway's user may not listen on ${host}:${port}; use a port above 1023`,
  failed: (host: string, port: number, why: string) =>
    `cannot listen on ${host}:${port}: ${why}; check http.host and http.port`,
} as const
