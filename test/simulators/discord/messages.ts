import type { Core } from './core.ts'
import { apiError } from './errors.ts'
import type { Session } from './gateway.ts'
import { asArray, asObject, asObjects, asString, copy, isObject, type Json } from './json.ts'
import { resolveMentions } from './mentions.ts'
import type { SimAttachment, SimChannel, SimMessage, Upload } from './model.ts'
import { CHANNEL, FLAG, INTENT, limit, MESSAGE } from './rules.ts'
import { isEmpty } from './validate-message.ts'
import { emojiJson, flatComponents } from './world.ts'

export interface NewMessage {
  channel: SimChannel
  authorId: string
  body: Json
  uploads?: Upload[]
  type?: number
  fallback?: 'all' | 'users'
  webhookId?: string
  interactionId?: string
  ephemeralFor?: string
  reference?: Json
  attachments?: SimAttachment[]
  raw?: Json
  /** Stored but not announced, as a message sent while nobody listened. */
  silent?: boolean
  /** Allowed to be empty: system messages and deferred answers. */
  mayBeEmpty?: boolean
}

/** Makes, changes and announces messages; permissions and bodies are judged by the callers. */
export class Messages {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  create(n: NewMessage): SimMessage {
    const { world, clock } = this.#core
    const body = n.body
    // Discord strips white space at both ends (assumed: seen in practice, not documented).
    const content = asString(body.content).trim()
    const components = numbered(asObjects(body.components))
    const repliedTo =
      n.reference && n.type !== MESSAGE.threadStarter ? world.messages.get(String(n.reference.message_id)) : undefined
    const isReply = n.reference !== undefined && n.reference.type !== 1
    const mentions = resolveMentions(world, {
      channel: n.channel,
      authorId: n.authorId,
      content,
      components,
      allowed: body.allowed_mentions,
      fallback: n.fallback ?? 'all',
      repliedTo: isReply ? repliedTo?.authorId : undefined,
    })
    const id = world.id()
    const attachments = [...(n.attachments ?? []), ...(n.uploads ?? []).map((u) => this.#upload(n.channel.id, u, body))]
    const embeds = sentEmbeds(body.embeds)
    const flags = Number(body.flags ?? 0)
    if (!n.mayBeEmpty && isEmpty({ content, embeds, components, attachments, flags })) throw apiError(50006)
    const m: SimMessage = {
      id,
      channelId: n.channel.id,
      guildId: n.channel.guildId,
      authorId: n.authorId,
      type: n.type ?? (isReply ? MESSAGE.reply : MESSAGE.default),
      content,
      embeds,
      components,
      flags,
      nonce: body.nonce as string | number | undefined,
      createdAt: clock.now(),
      editedAt: undefined,
      mentionEveryone: mentions.everyone,
      mentions: mentions.users,
      mentionRoles: mentions.roles,
      attachments,
      reference: n.reference,
      reactions: new Map(),
      versions: [],
      pinged: mentions.pinged,
      threadId: undefined,
      webhookId: n.webhookId,
      interactionId: n.interactionId,
      ephemeralFor: n.ephemeralFor,
      deletedAt: undefined,
      raw: n.raw ?? {},
    }
    this.#note(m)
    world.messages.set(id, m)
    if (!n.ephemeralFor) n.channel.lastMessageId = id
    if (!n.silent) this.announce(m)
    return m
  }

  /** Lays an edit's body over the message. Fields that are absent stay. */
  edit(m: SimMessage, body: Json, uploads: Upload[], fallback: 'all' | 'users' = 'all'): void {
    const { world, clock } = this.#core
    const next = {
      content: body.content === undefined ? m.content : asString(body.content).trim(),
      embeds: body.embeds === undefined ? m.embeds : sentEmbeds(body.embeds),
      components: body.components === undefined ? m.components : numbered(asObjects(body.components)),
      attachments: [...this.#kept(m, body), ...uploads.map((u) => this.#upload(m.channelId, u, body))],
      flags: this.#editedFlags(m, body),
    }
    if (isEmpty(next)) throw apiError(50006)
    const mentions = resolveMentions(world, {
      channel: world.channel(m.channelId),
      authorId: m.authorId,
      content: next.content,
      components: next.components,
      allowed: body.allowed_mentions,
      fallback,
      repliedTo: undefined,
    })
    Object.assign(m, next, {
      mentionEveryone: mentions.everyone,
      mentions: mentions.users,
      mentionRoles: mentions.roles,
    })
    m.editedAt = clock.now()
    this.#note(m)
    this.announceChange(m)
  }

  #editedFlags(m: SimMessage, body: Json): number {
    if (typeof body.flags !== 'number') return m.flags & ~FLAG.loading
    const settable = FLAG.suppressEmbeds | FLAG.componentsV2
    // Discord docs, Edit Message: IS_COMPONENTS_V2 can be added and never removed.
    return ((m.flags & ~settable) | (body.flags & settable) | (m.flags & FLAG.componentsV2)) & ~FLAG.loading
  }

  /** Attachments named in `attachments` stay; without that field all stay. */
  #kept(m: SimMessage, body: Json): SimAttachment[] {
    if (body.attachments === undefined) return m.attachments
    const ids = asArray(body.attachments).map((a) => (isObject(a) ? String(a.id) : ''))
    return m.attachments.filter((a) => ids.includes(a.id))
  }

  #upload(channelId: string, u: Upload, body: Json): SimAttachment {
    const about = asObjects(body.attachments).find((a) => String(a.id) === u.index)
    const name = asString(about?.filename) || u.filename
    return this.file(channelId, {
      name,
      bytes: u.bytes,
      contentType: u.contentType || undefined,
      description: asString(about?.description) || undefined,
    })
  }

  /** Puts a file on the simulator's file host. */
  file(
    channelId: string,
    f: {
      name: string
      bytes: Uint8Array
      contentType?: string | undefined
      description?: string | undefined
      size?: number | undefined
    },
  ): SimAttachment {
    const { world, clock, origin, files } = this.#core
    const id = world.id()
    const expiresAt = clock.now() + limit('attachmentLinkMs')
    const path = `/attachments/${channelId}/${id}/${encodeURIComponent(f.name)}`
    const hex = (ms: number): string => Math.floor(ms / 1000).toString(16)
    const made: SimAttachment = {
      id,
      filename: f.name,
      description: f.description,
      contentType: f.contentType,
      size: f.size ?? f.bytes.length,
      bytes: f.bytes,
      url: `${origin}${path}?ex=${hex(expiresAt)}&is=${hex(clock.now())}&hm=${id}&`,
      expiresAt,
    }
    files.set(path, made)
    return made
  }

  delete(m: SimMessage): void {
    m.deletedAt = this.#core.clock.now()
    this.#dispatch('MESSAGE_DELETE', m, () => ({ id: m.id }))
  }

  announce(m: SimMessage): void {
    if (m.ephemeralFor) return
    this.#dispatch('MESSAGE_CREATE', m, (s) => this.#gatewayForm(m, s, true))
  }

  announceChange(m: SimMessage): void {
    if (m.ephemeralFor) return
    this.#dispatch('MESSAGE_UPDATE', m, (s) => this.#gatewayForm(m, s, false))
  }

  #dispatch(t: string, m: SimMessage, build: (s: Session) => Json): void {
    const { world, gateway } = this.#core
    const channel = world.channels.get(m.channelId)
    if (m.ephemeralFor || !channel || !world.can(channel, world.bot.id, 'VIEW_CHANNEL')) return
    const home = m.guildId ? { guild_id: m.guildId } : {}
    const intents = m.guildId ? INTENT.guildMessages : INTENT.directMessages
    gateway.dispatch(t, intents, (s) => ({ ...build(s), channel_id: m.channelId, ...home }))
  }

  /** Discord docs: Gateway, Message Content Intent. */
  #gatewayForm(m: SimMessage, s: Session, withNonce: boolean): Json {
    const { world } = this.#core
    const json = world.messageJson(m, withNonce)
    const own = m.authorId === world.bot.id || m.mentions.includes(world.bot.id)
    const open = (s.intents & INTENT.messageContent) !== 0 || !m.guildId || own
    const member =
      m.guildId && !m.webhookId && world.guild(m.guildId).members.has(m.authorId)
        ? { member: world.memberJson(world.guild(m.guildId), m.authorId, false) }
        : {}
    return {
      ...json,
      ...member,
      channel_type: m.guildId ? world.channel(m.channelId).type : CHANNEL.dm,
      ...(open ? {} : { content: '', embeds: [], attachments: [], components: [] }),
    }
  }

  react(m: SimMessage, emoji: string, userId: string, add: boolean): void {
    const { world, gateway } = this.#core
    const users = m.reactions.get(emoji) ?? new Set<string>()
    if (add) users.add(userId)
    else users.delete(userId)
    if (users.size) m.reactions.set(emoji, users)
    else m.reactions.delete(emoji)
    const guild = m.guildId ? world.guild(m.guildId) : undefined
    gateway.dispatch(
      add ? 'MESSAGE_REACTION_ADD' : 'MESSAGE_REACTION_REMOVE',
      guild ? INTENT.guildMessageReactions : INTENT.directMessageReactions,
      () => ({
        user_id: userId,
        channel_id: m.channelId,
        message_id: m.id,
        ...(guild ? { guild_id: guild.id } : {}),
        ...(guild && add ? { member: world.memberJson(guild, userId) } : {}),
        ...(add ? { message_author_id: m.authorId } : {}),
        emoji: emojiJson(emoji),
        burst: false,
        type: 0,
      }),
    )
  }

  #note(m: SimMessage): void {
    m.versions.push({
      at: m.editedAt ?? m.createdAt,
      content: m.content,
      embeds: copy(m.embeds),
      components: copy(m.components),
      flags: m.flags,
      attachments: m.attachments.map((a) => a.filename),
    })
  }
}

const sentEmbeds = (value: unknown): Json[] => copy(asObjects(value)).map((e) => ({ type: 'rich', ...e }))

/** Discord docs: Components, id: those without one get a number in order. */
function numbered(list: Json[]): Json[] {
  const made = copy(list)
  let next = 1
  for (const c of flatComponents(made)) if (!c.id) c.id = next++
  for (const c of flatComponents(made)) {
    const media = asObject(c.file)
    if (c.type === 13 && typeof media.url === 'string') c.name = media.url.replace('attachment://', '')
  }
  return made
}
