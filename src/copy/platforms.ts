/** What is said about the platforms: connections, tokens, refusals, `doctor`. */

const DISCORD_BOT_PAGE = 'on the Bot page of https://discord.com/developers/applications'

export const DISCORD = {
  turnOn: 'set TURNSTONE_DISCORD_TOKEN',
  wrongToken: `Discord rejected the token; set TURNSTONE_DISCORD_TOKEN to the bot token shown ${DISCORD_BOT_PAGE}`,
  notReached: 'could not reach Discord yet',
  connectionClosed: (code: number) => `the connection was closed (${code}); reconnecting`,
  noThread: (why: string) => `I can't create a thread here: ${why}. I'll reply here instead.`,
  missingPermission: (name: string) => `the bot needs the permission *${name}*`,
} as const

/** Why a connection is closed for good, by Discord's close code. */
export const DISCORD_CLOSED: Readonly<Record<number, string>> = {
  4004: DISCORD.wrongToken,
  4010: 'Discord rejected the shard',
  4011: 'the bot is in too many servers for one connection',
  4012: 'Discord no longer supports this gateway version; update turnstone',
  4013: 'Discord rejected the intents',
  4014: `message content is off; turn on "Message Content Intent" ${DISCORD_BOT_PAGE}`,
}

/** Why no thread could be made, by Discord's error code. */
export const DISCORD_NO_THREAD: Readonly<Record<number, string>> = {
  10008: 'the message no longer exists',
  50001: DISCORD.missingPermission('View Channel'),
  50013: DISCORD.missingPermission('Create Public Threads'),
  50024: 'this kind of channel has no threads',
  160006: 'the server has too many active threads',
}

/** Why Discord will never take a message, by its error code. */
export const DISCORD_REFUSED: Readonly<Record<number, string>> = {
  10003: 'The channel no longer exists.',
  10004: 'The server no longer exists.',
  10008: 'The message no longer exists.',
  40005: 'The file is too large for Discord.',
  50001: 'The bot cannot access the channel.',
  50006: 'The message is empty.',
  50007: 'This person does not accept direct messages.',
  50008: 'This kind of channel does not take messages.',
  50013: 'The bot lacks a permission in the channel.',
  50083: 'The thread is archived.',
  160002: 'The bot cannot read the message history there.',
  160005: 'The thread is locked.',
  200000: "The server's moderation rules blocked the message.",
  200001: "The server's moderation rules blocked the title.",
  240000: 'Discord blocked a link in the message.',
}

/** Why Slack will never take a message, by its error code. */
export const SLACK_REFUSED: Readonly<Record<string, string>> = {
  channel_not_found: 'The channel does not exist, or the app is not in it.',
  not_in_channel: 'The app is not a member of this channel.',
  is_archived: 'The channel is archived.',
  msg_too_long: 'The message is too long for Slack.',
  msg_blocks_too_long: 'The message is too long for Slack.',
  msg_blocks_too_many: 'The message has too many blocks for Slack.',
  invalid_blocks: 'Slack cannot display this message.',
  cant_update_message: 'Slack does not let the app change this message.',
  edit_window_closed: 'The message can no longer be changed.',
  restricted_action: 'The workspace does not let the app do this.',
  user_not_in_channel: 'This person is not in the channel.',
  thread_not_found: 'The thread no longer exists.',
}

export const REFUSED = {
  empty: 'The message is empty.',
  emptyFile: 'The file is empty.',
  fileTooLarge: 'The file is too large for Discord.',
  discord: (message: string) => `Discord refused it (${message}).`,
  slack: (code: string) => `Slack refused it (${code}).`,
  slackScope: (scope: string | undefined) => `The Slack app lacks the scope ${scope ?? 'it needs'}.`,
} as const

export const SLACK = {
  turnOn: (mode: 'socket' | 'http') =>
    `set TURNSTONE_SLACK_TOKEN and ${mode === 'socket' ? 'TURNSTONE_SLACK_APP_TOKEN' : 'TURNSTONE_SLACK_SIGNING_SECRET'}`,
  botTokenRejected: (code: string) =>
    `Slack rejected the bot token (${code}); set TURNSTONE_SLACK_TOKEN to the Bot User OAuth Token (xoxb-…) from the app's OAuth & Permissions page`,
  appTokenRejected: (code: string) =>
    `Slack rejected the app token (${code}); set TURNSTONE_SLACK_APP_TOKEN to an app-level token (xapp-…) from the app's Basic Information page`,
  notReached: 'could not reach Slack',
  noConnection: 'no connection to Slack',
  noHello: 'no hello from Slack within 15 s',
  noSocketAddress: 'Slack returned no address to connect to',
  socketModeOff: 'Socket Mode is off; turn it on in the app settings',
  tooManyConnections: 'this app has too many connections to Slack',
} as const

/** Why an attachment could not be read; said to the model. */
export const DOWNLOAD = {
  foreignHost: (host: string, platform: string) => `the file could not be read: ${host} is not a ${platform} file host`,
  status: (status: number) => `the file could not be read (HTTP ${status})`,
  loginPage: 'the file could not be read (the host answered with a web page)',
  tooLarge: (maxBytes: number) => `the file is larger than ${maxBytes} bytes`,
} as const

export const DISCORD_DOCTOR = {
  accepted: (app: string) => `accepted for ${app}`,
  contentOn: 'on',
  contentOff: `off; turn on "Message Content Intent" ${DISCORD_BOT_PAGE}`,
  wrongToken: `rejected; set TURNSTONE_DISCORD_TOKEN to the bot token shown ${DISCORD_BOT_PAGE}`,
  notReached: (why: string) => `could not reach Discord (${why}); check this machine's network, DNS and firewall`,
  inServer: (name: string) => `in ${name}`,
  inServers: (count: number) => `in ${count} servers`,
  noServer: 'the bot is in no server yet; invite it with the link from `turnstone discord invite`',
  notInServer: (id: string) =>
    `the bot is not in server ${id}; invite it with the link from \`turnstone discord invite\``,
  seesChannel: (name: string) => `can see #${name}`,
  unseenChannel: (id: string) => `the bot cannot see channel ${id}; check the id and the bot's View Channel permission`,
} as const

export const SLACK_DOCTOR = {
  accepted: (team: string, user: string) => `accepted for ${team} as ${user}`,
  scopesUnknown: 'Slack did not list the scopes of this token',
  scopesComplete: 'complete',
  scopesMissing: (names: readonly string[]) =>
    `missing ${names.join(', ')}; update the app with \`turnstone slack manifest\` and reinstall it`,
  botCure: "set TURNSTONE_SLACK_TOKEN to the Bot User OAuth Token (xoxb-…) from the app's OAuth & Permissions page",
  appCure:
    "set TURNSTONE_SLACK_APP_TOKEN to an app-level token (xapp-…) with connections:write from the app's Basic Information page, and turn on Socket Mode",
  secretCure: "set TURNSTONE_SLACK_SIGNING_SECRET to the signing secret from the app's Basic Information page",
  socketOpens: 'Socket Mode works',
  set: 'set',
  notSet: (cure: string) => `not set; ${cure}`,
  says: (code: string, cure: string) => `Slack says ${code}; ${cure}`,
  notReached: (why: string) => `could not reach Slack (${why}); check this machine's network, DNS and firewall`,
} as const

/** The slash command in Slack's own menus. */
export const SLACK_COMMAND = {
  description: 'Ask a question, or use a command such as status, stop or link',
  usage: 'QUESTION | link | status | stop | help',
  app: 'An AI agent with tools for your team. Mention it or send it a direct message.',
} as const
