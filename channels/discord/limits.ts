/** Discord's limits, all of which it refuses a request for. Lengths are UTF-16 units, which is never less than what Discord counts. */
export const LIMITS = {
  /** Message docs, Create Message. */
  content: 2000,
  /** Create Message, nonce. */
  nonce: 25,
  /** Uploading Files: default of a server without boosts. */
  fileBytes: 10 * 1024 * 1024,
  /** Uploading Files. */
  files: 10,
  /** Channel docs, Start Thread. */
  threadName: 100,
  /** Application Commands docs, Registering. */
  commands: 100,
  /** Application Commands docs, structure. */
  commandText: 100,
  commandOptions: 25,
  commandChoices: 25,
  /** Interactions docs, Modal. */
  modalTitle: 45,
  /** Get Channel Messages. */
  page: 100,
} as const

/** Times in ms. */
export const TIMES = {
  /** Between two edits in one conversation: the message buckets allow about 5 in 5 s, shared by all that is posted. */
  edit: 1500,
  /** Typing shows for 10 s (Trigger Typing Indicator docs). */
  typing: 8000,
  /** Typing without any news of the turn ends. */
  typingLost: 15 * 60_000,
  /** REST calls are given up after this; the library's default. */
  request: 15_000,
  /** An interaction lives 3 s before its first answer and 15 min after it (Interactions docs). */
  interaction: 15 * 60_000,
  /** Lines that say a message could not be stored, per channel. */
  notStored: 60_000,
  /** Clocks may differ by this when messages are looked for by time. */
  skew: 5000,
} as const

/** Channel types (Channel docs). */
export const CHANNEL_TYPES = { dm: 1, announcementThread: 10, publicThread: 11, privateThread: 12 } as const

/** Message flags (Message docs). */
export const FLAGS = { suppressEmbeds: 1 << 2, ephemeral: 1 << 6 } as const

/** Snowflakes count from 2015 (Reference docs, Snowflakes). */
const DISCORD_EPOCH = 1_420_070_400_000

/** When the thing with this id was made, ms since the Unix epoch. */
export function timeOf(snowflake: string): number {
  return Number(BigInt(snowflake) >> 22n) + DISCORD_EPOCH
}

/** The id that a thing made at this time (ms since the Unix epoch) would at least have. */
export function snowflakeAt(ms: number): string {
  return (BigInt(Math.max(0, Math.floor(ms) - DISCORD_EPOCH)) << 22n).toString()
}
