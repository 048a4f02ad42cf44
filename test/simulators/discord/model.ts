import type { Json } from './json.ts'

export interface SimUser {
  id: string
  username: string
  globalName: string | null
  bot: boolean
  /** Refuses direct messages (50007). */
  closedDms: boolean
}

export interface SimRole {
  id: string
  name: string
  permissions: bigint
  mentionable: boolean
  position: number
}

export interface SimMember {
  userId: string
  roles: string[]
  nick: string | null
  joinedAt: number
}

export interface SimGuild {
  id: string
  name: string
  ownerId: string
  roles: Map<string, SimRole>
  members: Map<string, SimMember>
}

interface Overwrite {
  id: string
  type: 0 | 1
  allow: bigint
  deny: bigint
}

interface ThreadState {
  ownerId: string
  archived: boolean
  locked: boolean
  autoArchive: number
  archivedAt: number
  createdAt: number
  members: Set<string>
  tags: string[]
}

export interface SimChannel {
  id: string
  type: number
  name: string
  topic: string | null
  guildId: string | undefined
  parentId: string | undefined
  /** The people of a DM beside the bot. */
  recipients: string[]
  overwrites: Map<string, Overwrite>
  thread: ThreadState | undefined
  lastMessageId: string | undefined
}

export interface SimAttachment {
  id: string
  filename: string
  description: string | undefined
  contentType: string | undefined
  /** What the message claims; the bytes served may be another number. */
  size: number
  bytes: Uint8Array
  url: string
  expiresAt: number
}

/** Whom a message made Discord notify. */
export interface Pinged {
  everyone: boolean
  users: string[]
  roles: string[]
}

/** A message's visible state from `at` on. */
export interface MessageVersion {
  at: number
  content: string
  embeds: Json[]
  components: Json[]
  flags: number
  attachments: string[]
}

export interface SimMessage {
  id: string
  channelId: string
  guildId: string | undefined
  authorId: string
  type: number
  content: string
  embeds: Json[]
  components: Json[]
  flags: number
  nonce: string | number | undefined
  createdAt: number
  editedAt: number | undefined
  mentionEveryone: boolean
  mentions: string[]
  mentionRoles: string[]
  attachments: SimAttachment[]
  reference: Json | undefined
  /** Emoji to the users who reacted with it. */
  reactions: Map<string, Set<string>>
  /** Every state the message has had, the first being its creation. */
  versions: MessageVersion[]
  pinged: Pinged
  threadId: string | undefined
  webhookId: string | undefined
  interactionId: string | undefined
  /** The only person who sees an ephemeral message. */
  ephemeralFor: string | undefined
  deletedAt: number | undefined
  /** Laid over the JSON form as it is. */
  raw: Json
}

/** A file of a multipart request. */
export interface Upload {
  /** n of files[n]. */
  index: string
  filename: string
  contentType: string
  bytes: Uint8Array
}

export interface LoggedRequest {
  method: string
  /** Path under /api/v10, undecoded. */
  path: string
  query: URLSearchParams
  headers: Record<string, string>
  body: unknown
  uploads: Upload[]
  /** On the simulator's clock. */
  time: number
  /** 0 until answered; stays 0 where the socket was dropped before. */
  status: number
}

export interface SpecViolation {
  method: string
  path: string
  problems: string[]
}
