/**
 * Every limit the simulator enforces, with where it comes from. `assumed` marks what Discord does not document.
 */
interface Rule {
  value: number
  source: string
}

const DOCS = 'Discord docs:'
const rule = (value: number, source: string): Rule => ({ value, source })

export const RULES = {
  contentLength: rule(2000, `${DOCS} Message, Create Message`),
  embeds: rule(10, `${DOCS} Create Message`),
  embedTotal: rule(6000, `${DOCS} Message, Embed Limits`),
  embedTitle: rule(256, `${DOCS} Message, Embed Limits`),
  embedDescription: rule(4096, `${DOCS} Message, Embed Limits`),
  embedFields: rule(25, `${DOCS} Message, Embed Limits`),
  embedFieldName: rule(256, `${DOCS} Message, Embed Limits`),
  embedFieldValue: rule(1024, `${DOCS} Message, Embed Limits`),
  embedFooter: rule(2048, `${DOCS} Message, Embed Limits`),
  embedAuthor: rule(256, `${DOCS} Message, Embed Limits`),
  nonceLength: rule(25, `${DOCS} Create Message`),
  nonceWindowMs: rule(300_000, 'assumed (docs: "the past few minutes")'),
  attachments: rule(10, `${DOCS} Uploading Files; discord-api-spec maxItems 10`),
  attachmentBytes: rule(10 * 1024 * 1024, `${DOCS} Uploading Files (default limit 10 MiB)`),
  attachmentDescription: rule(1024, `${DOCS} Message, Attachment`),
  attachmentLinkMs: rule(86_400_000, 'assumed (docs, CDN: links are signed and expire; about a day in practice)'),
  actionRows: rule(5, `${DOCS} Components, legacy messages`),
  buttonsPerRow: rule(5, `${DOCS} Components, Action Row`),
  buttonLabel: rule(80, `${DOCS} Components, Button`),
  buttonUrl: rule(512, `${DOCS} Components, Button`),
  customId: rule(100, `${DOCS} Components, custom id`),
  selectOptions: rule(25, `${DOCS} Components, String Select`),
  selectOptionText: rule(100, `${DOCS} Components, Select Option`),
  selectPlaceholder: rule(150, `${DOCS} Components, String Select`),
  v2Components: rule(40, `${DOCS} Components, Components V2`),
  v2Text: rule(4000, `${DOCS} Components, Text Display; the sum over a message is ${4000}`),
  modalTitle: rule(45, `${DOCS} Interactions, Modal callback`),
  modalComponents: rule(5, `${DOCS} Interactions, Modal callback`),
  labelText: rule(45, `${DOCS} Components, Label`),
  labelDescription: rule(100, `${DOCS} Components, Label`),
  inputValue: rule(4000, `${DOCS} Components, Text Input`),
  inputPlaceholder: rule(100, `${DOCS} Components, Text Input`),
  radioOptionsMin: rule(2, `${DOCS} Components, Radio Group`),
  radioOptionsMax: rule(10, `${DOCS} Components, Radio Group`),
  threadName: rule(100, `${DOCS} Channel, Start Thread`),
  reactionsPerMessage: rule(20, `${DOCS} Opcodes and Status Codes, 30010`),
  mentionList: rule(100, `${DOCS} Message, Allowed Mentions`),
  historyLimit: rule(100, `${DOCS} Get Channel Messages`),
  historyDefault: rule(50, `${DOCS} Get Channel Messages`),
  interactionResponseMs: rule(3000, `${DOCS} Receiving and Responding to Interactions`),
  interactionTokenMs: rule(900_000, `${DOCS} Receiving and Responding to Interactions`),
  autocompleteChoices: rule(25, `${DOCS} Interactions, Autocomplete`),
  commandsChatInput: rule(100, `${DOCS} Application Commands, Registering`),
  commandsContextMenu: rule(15, `${DOCS} Application Commands, Registering`),
  commandCreatesPerDay: rule(200, `${DOCS} Application Commands, Registering`),
  commandName: rule(32, `${DOCS} Application Commands, naming`),
  commandDescription: rule(100, `${DOCS} Application Commands, structure`),
  commandOptions: rule(25, `${DOCS} Application Commands, structure`),
  commandChoices: rule(25, `${DOCS} Application Commands, option choice`),
  commandTotal: rule(8000, `${DOCS} Application Commands, combined name, description and value`),
  globalPerSecond: rule(50, `${DOCS} Rate Limits, Global Rate Limit`),
  messageBudget: rule(5, 'assumed (headers rule; about 5 per 5 s in practice)'),
  messageBudgetWindowMs: rule(5000, 'assumed (headers rule; about 5 per 5 s in practice)'),
  gatewaySends: rule(120, `${DOCS} Gateway, Rate Limiting (per 60 s)`),
  heartbeatMs: rule(41_250, `${DOCS} Gateway, Hello (example value)`),
  sessionStarts: rule(1000, `${DOCS} Gateway, Session Start Limit`),
  resumeWindowMs: rule(180_000, 'assumed (docs: replay for "a short time")'),
} satisfies Record<string, Rule>

export type RuleName = keyof typeof RULES

export const limit = (name: RuleName): number => RULES[name].value

/** Discord docs: Channel, thread auto_archive_duration. */
export const ARCHIVE_DURATIONS = [60, 1440, 4320, 10080]

/** Discord docs: Message, Message Flags. */
export const FLAG = {
  suppressEmbeds: 1 << 2,
  hasThread: 1 << 5,
  ephemeral: 1 << 6,
  loading: 1 << 7,
  suppressNotifications: 1 << 12,
  componentsV2: 1 << 15,
} as const

/** Discord docs: Gateway, Intents. */
export const INTENT = {
  guilds: 1 << 0,
  guildMembers: 1 << 1,
  guildPresences: 1 << 8,
  guildMessages: 1 << 9,
  guildMessageReactions: 1 << 10,
  directMessages: 1 << 12,
  directMessageReactions: 1 << 13,
  messageContent: 1 << 15,
} as const

/** Discord docs: Channel, Channel Types. */
export const CHANNEL = {
  text: 0,
  dm: 1,
  announcement: 5,
  announcementThread: 10,
  publicThread: 11,
  privateThread: 12,
  forum: 15,
} as const

/** Discord docs: Message, Message Types. */
export const MESSAGE = { default: 0, threadCreated: 18, reply: 19, chatInput: 20, threadStarter: 21 } as const
