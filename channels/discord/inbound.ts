import type { Attachment, HistoryMessage, InboundMessage, Person } from '../../src/channel/channel-adapter.ts'
import type { DiscordConfig } from '../../src/config/config.ts'
import { withoutMention } from '../support/mentions.ts'
import type { ChannelInfo } from './channel-directory.ts'
import { CHANNEL_TYPES } from './limits.ts'

/** What is used of a message as Discord sends it (Message docs); the library's types claim more than arrives. */
export interface RawMessage {
  readonly id: string
  readonly channel_id: string
  readonly guild_id?: string
  readonly author: RawUser
  readonly member?: { readonly nick?: string | null }
  readonly content: string
  readonly timestamp: string
  readonly type: number
  readonly webhook_id?: string
  readonly mentions?: readonly (RawUser & { readonly member?: { readonly nick?: string | null } })[]
  readonly attachments?: readonly RawAttachment[]
  readonly message_reference?: { readonly type?: number; readonly message_id?: string }
  readonly message_snapshots?: readonly { readonly message: Partial<RawMessage> }[]
  readonly referenced_message?: RawMessage | null
  readonly nonce?: string | number
  readonly components?: unknown
}

export interface RawUser {
  readonly id: string
  readonly username: string
  readonly global_name?: string | null
  readonly bot?: boolean
}

interface RawAttachment {
  readonly filename: string
  readonly url: string
  readonly size: number
  readonly content_type?: string
}

/** Names of channels and roles, as far as they are known. */
export interface Names {
  channelName(id: string): string | undefined
  roleName(guild: string | undefined, id: string): string | undefined
}

export interface InboundContext {
  readonly self: string
  readonly config: DiscordConfig
  readonly names: Names
}

/** Longest text of a message that is read; Discord takes 4,000 characters at most. */
const MAX_TEXT_CHARS = 8000

/** Message types (Message docs). */
const TYPE = { default: 0, reply: 19, starter: 21 } as const

export function isThread(type: number): boolean {
  return (
    type === CHANNEL_TYPES.publicThread ||
    type === CHANNEL_TYPES.privateThread ||
    type === CHANNEL_TYPES.announcementThread
  )
}

/** Whether we listen there: the configured server and channels, a thread as its parent; direct messages always. */
export function isAllowed(place: ChannelInfo, config: DiscordConfig): boolean {
  if (place.type === CHANNEL_TYPES.dm) return true
  if (place.guild === undefined || (config.guild !== '' && place.guild !== config.guild)) return false
  if (config.channels.length === 0) return true
  return config.channels.includes(place.id) || (place.parent !== undefined && config.channels.includes(place.parent))
}

export function personOf(user: RawUser, nick?: string | null): Person {
  return { id: user.id, name: nick || user.global_name || user.username, bot: user.bot === true }
}

/** A message that may concern us, or undefined: our own, other bots', webhooks', system lines, other channels. */
export function toInbound(m: RawMessage, place: ChannelInfo, context: InboundContext): InboundMessage | undefined {
  const { self, config } = context
  if (m.author.id === self || m.webhook_id !== undefined) return undefined
  if (m.author.bot && !config.bots.includes(m.author.id)) return undefined
  if (m.type !== TYPE.default && m.type !== TYPE.reply) return undefined
  if (!isAllowed(place, config)) return undefined
  const direct = place.type === CHANNEL_TYPES.dm
  const thread = isThread(place.type)
  const mentioned = mentions(m, self)
  if (!direct && !thread && !mentioned) return undefined
  const replyTo = m.type === TYPE.reply ? m.message_reference?.message_id : undefined
  return {
    key: `discord:${m.id}`,
    platform: 'discord',
    author: personOf(m.author, m.member?.nick),
    text: readable(m, context),
    attachments: attachmentsOf(m),
    ref: { platform: 'discord', channel: m.channel_id, id: m.id },
    sentAt: Date.parse(m.timestamp),
    addressed: direct ? 'direct' : mentioned ? 'mention' : 'thread',
    location:
      direct || thread
        ? {
            kind: 'conversation',
            to: { platform: 'discord', id: place.id },
            startedByPeople: thread && place.owner !== self,
          }
        : { kind: 'channel', channel: m.channel_id, to: { platform: 'discord', id: m.id } },
    ...(replyTo === undefined ? {} : { replyTo }),
  }
}

/** Named in the text itself: @everyone, roles and the ping of a reply do not name us. */
function mentions(m: RawMessage, self: string): boolean {
  const named = m.mentions?.some((user) => user.id === self) ?? false
  return named && new RegExp(`<@!?${self}>`).test(m.content.slice(0, MAX_TEXT_CHARS))
}

/** The text without our mention, other mentions as names, and what was forwarded with it. */
function readable(m: RawMessage, context: InboundContext): string {
  const own = withoutMention(m.content.slice(0, MAX_TEXT_CHARS), new RegExp(`<@!?${context.self}>`))
  const parts = [named(own.trim(), m, context)]
  for (const { message } of m.message_snapshots ?? []) {
    const forwarded = named((message.content ?? '').slice(0, MAX_TEXT_CHARS), { ...m, ...message }, context).trim()
    if (forwarded) parts.push(`Forwarded message:\n${forwarded.replace(/^/gm, '> ')}`)
  }
  return parts.filter((part) => part !== '').join('\n\n')
}

function named(text: string, m: RawMessage, { names, self }: InboundContext): string {
  const users = new Map(m.mentions?.map((user) => [user.id, user.member?.nick || user.global_name || user.username]))
  return text
    .replace(/<@!?(\d+)>/g, (raw, id: string) => (users.has(id) ? `@${users.get(id)}` : id === self ? '@me' : raw))
    .replace(/<@&(\d+)>/g, (raw, id: string) => atName(names.roleName(m.guild_id, id), raw))
    .replace(/<#(\d+)>/g, (raw, id: string) => {
      const name = names.channelName(id)
      return name ? `#${name}` : raw
    })
    .replace(/<a?:(\w+):\d+>/g, ':$1:')
}

function atName(name: string | undefined, raw: string): string {
  return name ? `@${name.replace(/^@/, '')}` : raw
}

function attachmentsOf(m: RawMessage): Attachment[] {
  const snapshots = m.message_snapshots?.flatMap(({ message }) => message.attachments ?? []) ?? []
  return [...(m.attachments ?? []), ...snapshots].map((a) => ({
    name: a.filename,
    url: a.url,
    size: a.size,
    ...(a.content_type === undefined ? {} : { mime: a.content_type }),
  }))
}

/** A line read back as context; undefined for system lines. A thread's first line is the message it was made from. */
export function toHistory(m: RawMessage, context: InboundContext): HistoryMessage | undefined {
  if (m.type === TYPE.starter) return m.referenced_message ? toHistory(m.referenced_message, context) : undefined
  if (m.type !== TYPE.default && m.type !== TYPE.reply) return undefined
  return {
    id: m.id,
    author: personOf(m.author, m.member?.nick),
    own: m.author.id === context.self,
    text: readable(m, context),
    sentAt: Date.parse(m.timestamp),
  }
}
