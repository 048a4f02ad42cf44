/** What the command line says: help, and the answers of `turnstone admin`. */

export const HELP = {
  program: 'A gateway between your team chat and an AI agent with tools.',
  serve: 'run the gateway (npm start)',
  doctor: 'check the configuration, database, tokens and models',
  slackManifest: 'print the manifest for a new Slack app',
  discordInvite: 'print the link that adds the bot to a Discord server',
  userAdd: 'add a user',
  userList: 'list users and their linked accounts',
  userRemove: 'remove a user with their links and tokens',
  tokenCreate: 'print a token with which a user links an account',
  tokenRevoke: "revoke one token, or all of a user's",
  link: "link a user's Discord or Slack account",
  unlink: "unlink a user's account",
  help: 'print this help',
  admin: 'manage users, their accounts and tokens',
  user: 'add, list and remove users',
  token: 'create and revoke tokens',
  after: 'add --help to see commands and options',
} as const

export const OPTIONS = {
  config: 'read this configuration file',
  json: 'print one JSON object',
  clientId: "the Discord application's id; taken from TURNSTONE_DISCORD_TOKEN if left out",
  model: 'the model of new conversations',
  skipPermissions: 'run tools without asking',
  logFormat: 'json or pretty; pretty on a terminal if left out',
  role: 'admin or member',
  version: 'print the version',
  help: 'print help for a command',
} as const

/** A list of every command, one a line. */
export function overview(commands: readonly (readonly [usage: string, about: string])[]): string {
  const width = Math.max(...commands.map(([usage]) => usage.length)) + 2
  const lines = commands.map(([usage, about]) => `  ${usage.padEnd(width)}${about}`)
  return `${HELP.program}

Usage: turnstone COMMAND [options]

Commands:
${lines.join('\n')}

Add --help to a command for its options. Every command takes --config FILE.
`
}

export const USERS = {
  badName: (name: string) =>
    `${JSON.stringify(name)} is not a user name; use 1 to 64 letters, digits, dots, dashes or underscores`,
  exists: (name: string) => `user ${name} already exists`,
  inFile: (name: string) => `user ${name} is set in config.toml; change that file`,
  unknown: (name: string) => `there is no user ${name}; add one with \`turnstone admin user add ${name}\``,
  noToken: (nameOrId: string) => `${nameOrId} is neither a user with a token nor the id of a token`,
  linkedTo: (platform: string, id: string, name: string) => `${platform} ${id} is already linked to ${name}`,
  linked: (platform: string, id: string) => `${platform} ${id} is already linked`,
  linkInFile: 'the link is set in config.toml; change that file',
  notLinked: (platform: string, id: string, name: string) => `${platform} ${id} is not linked to ${name}`,
} as const

export const ADMIN = {
  added: (name: string, role: string) => `Added ${name} (${role}).`,
  removed: (name: string) => `Removed ${name}.`,
  noUsers: 'No users yet. Add one with `turnstone admin user add NAME`.',
  fromFile: 'config.toml',
  fromDatabase: 'database',
  noLinks: 'not linked',
  tokenShownOnce: (id: string, name: string) => `Token ${id} for ${name}. It is shown only once:`,
  revoked: (count: number) => `Revoked ${count} ${count === 1 ? 'token' : 'tokens'}.`,
  linked: (platform: string, id: string, name: string) => `Linked the ${platform} account ${id} to ${name}.`,
  unlinked: (platform: string, id: string, name: string) => `Unlinked the ${platform} account ${id} from ${name}.`,
  platform: (given: string) => `${given} is not a platform; use discord or slack`,
  userId: { discord: 'a Discord user id has 17 to 20 digits', slack: 'a Slack user id starts with U or W' },
  badId: (id: string, form: string) => `${id}: ${form}`,
} as const

export const DISCORD_INVITE = {
  unknown: 'cannot tell which application to invite; set TURNSTONE_DISCORD_TOKEN, or add --client-id ID',
  badId: (id: string) => `--client-id ${id}: an application id has only digits`,
} as const

export const NODE_TOO_OLD = (version: string): string =>
  `turnstone: this is Node.js ${version}, but 22.19 or newer is needed; \`npm start\` brings its own`
