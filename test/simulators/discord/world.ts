import type { Clock } from '../../../src/util/time.ts'
import { apiError } from './errors.ts'
import { asObjects, iso, type Json } from './json.ts'
import type { SimChannel, SimGuild, SimMember, SimMessage, SimRole, SimUser } from './model.ts'
import { bits, computePermissions, EVERYONE_DEFAULT, PERMISSION, type PermissionName } from './permissions.ts'
import { CHANNEL } from './rules.ts'

const EPOCH = 1_420_070_400_000n

/** The servers, people, channels and messages, and their JSON forms. It knows no rules and sends nothing. */
export class World {
  readonly users = new Map<string, SimUser>()
  readonly guilds = new Map<string, SimGuild>()
  readonly channels = new Map<string, SimChannel>()
  readonly messages = new Map<string, SimMessage>()
  readonly clock: Clock
  readonly bot: SimUser
  #last = 0n

  constructor(clock: Clock, botName: string) {
    this.clock = clock
    this.bot = this.addUser(botName, { bot: true })
  }

  /** A snowflake of the clock's time, above every one before. */
  id(): string {
    const now = (BigInt(Math.floor(this.clock.now())) - EPOCH) << 22n
    this.#last = now > this.#last ? now : this.#last + 1n
    return this.#last.toString()
  }

  addUser(username: string, more: Partial<Omit<SimUser, 'id' | 'username'>> = {}): SimUser {
    const user = { id: this.id(), username, globalName: null, bot: false, closedDms: false, ...more }
    this.users.set(user.id, user)
    return user
  }

  /** A server with the bot as a member and an owner of its own. */
  addGuild(name: string): SimGuild {
    const id = this.id()
    const owner = this.addUser(`owner-of-${name}`)
    const everyone = { id, name: '@everyone', permissions: EVERYONE_DEFAULT, mentionable: false, position: 0 }
    const guild: SimGuild = { id, name, ownerId: owner.id, roles: new Map([[id, everyone]]), members: new Map() }
    this.guilds.set(id, guild)
    this.addMember(guild, owner)
    this.addMember(guild, this.bot)
    return guild
  }

  addRole(guild: SimGuild, name: string, permissions: readonly PermissionName[] = [], mentionable = false): SimRole {
    const role = { id: this.id(), name, permissions: bits(permissions), mentionable, position: guild.roles.size }
    guild.roles.set(role.id, role)
    return role
  }

  addMember(guild: SimGuild, user: SimUser, roles: string[] = []): SimMember {
    const member = { userId: user.id, roles, nick: null, joinedAt: this.clock.now() }
    guild.members.set(user.id, member)
    return member
  }

  addChannel(init: Partial<SimChannel> & { type: number; name: string }): SimChannel {
    const channel: SimChannel = {
      id: this.id(),
      topic: null,
      guildId: undefined,
      parentId: undefined,
      recipients: [],
      overwrites: new Map(),
      thread: undefined,
      lastMessageId: undefined,
      ...init,
    }
    this.channels.set(channel.id, channel)
    return channel
  }

  dm(userId: string): SimChannel {
    for (const c of this.channels.values()) if (c.type === CHANNEL.dm && c.recipients[0] === userId) return c
    return this.addChannel({ type: CHANNEL.dm, name: '', recipients: [userId] })
  }

  user(id: string): SimUser {
    const user = this.users.get(id)
    if (!user) throw apiError(10013)
    return user
  }

  guild(id: string | undefined): SimGuild {
    const guild = this.guilds.get(id ?? '')
    if (!guild) throw apiError(10004)
    return guild
  }

  channel(id: string): SimChannel {
    const channel = this.channels.get(id)
    if (!channel) throw apiError(10003)
    return channel
  }

  /** A message that stands in that channel and is neither deleted nor ephemeral. */
  message(channelId: string, id: string): SimMessage {
    const m = this.messages.get(id)
    if (!m || m.channelId !== channelId || m.deletedAt !== undefined || m.ephemeralFor) throw apiError(10008)
    return m
  }

  /** The visible messages of a channel, oldest first. */
  history(channelId: string): SimMessage[] {
    return [...this.messages.values()].filter(
      (m) => m.channelId === channelId && m.deletedAt === undefined && !m.ephemeralFor,
    )
  }

  /** Threads take their overwrites from the parent. In a DM everything a DM knows is allowed. */
  permissions(channel: SimChannel, userId: string): bigint {
    if (!channel.guildId) return channel.recipients.includes(userId) || userId === this.bot.id ? EVERYONE_DEFAULT : 0n
    const home = channel.parentId && channel.thread ? this.channel(channel.parentId) : channel
    return computePermissions(this.guild(channel.guildId), home, userId)
  }

  can(channel: SimChannel, userId: string, name: PermissionName): boolean {
    const held = this.permissions(channel, userId)
    if (channel.type === CHANNEL.privateThread && !channel.thread?.members.has(userId))
      return (held & PERMISSION.MANAGE_THREADS) !== 0n && (held & PERMISSION[name]) !== 0n
    return (held & PERMISSION[name]) !== 0n
  }

  userJson(user: SimUser): Json {
    return {
      id: user.id,
      username: user.username,
      global_name: user.globalName,
      discriminator: user.bot ? '0001' : '0',
      avatar: null,
      bot: user.bot,
      system: false,
      public_flags: 0,
      flags: 0,
      primary_guild: null,
    }
  }

  memberJson(guild: SimGuild, userId: string, withUser = true): Json {
    const member = guild.members.get(userId)
    if (!member) throw apiError(10007)
    return {
      ...(withUser ? { user: this.userJson(this.user(userId)) } : {}),
      roles: member.roles,
      nick: member.nick,
      avatar: null,
      banner: null,
      joined_at: iso(member.joinedAt),
      premium_since: null,
      communication_disabled_until: null,
      pending: false,
      deaf: false,
      mute: false,
      flags: 0,
    }
  }

  roleJson(role: SimRole): Json {
    return {
      id: role.id,
      name: role.name,
      description: null,
      permissions: role.permissions.toString(),
      mentionable: role.mentionable,
      position: role.position,
      color: 0,
      colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
      hoist: false,
      managed: false,
      icon: null,
      unicode_emoji: null,
      flags: 0,
    }
  }

  channelJson(c: SimChannel): Json {
    const common = { id: c.id, type: c.type, last_message_id: c.lastMessageId ?? null, flags: 0 }
    if (c.type === CHANNEL.dm) return { ...common, recipients: c.recipients.map((id) => this.userJson(this.user(id))) }
    const guildPart = { ...common, guild_id: c.guildId, name: c.name, parent_id: c.parentId ?? null }
    if (c.thread) return { ...guildPart, ...this.#threadJson(c, c.thread) }
    return {
      ...guildPart,
      position: 0,
      topic: c.topic,
      nsfw: false,
      rate_limit_per_user: 0,
      permission_overwrites: [...c.overwrites.values()].map((o) => ({
        id: o.id,
        type: o.type,
        allow: o.allow.toString(),
        deny: o.deny.toString(),
      })),
      ...(c.type === CHANNEL.forum ? { available_tags: [], default_forum_layout: 0 } : {}),
    }
  }

  #threadJson(c: SimChannel, t: NonNullable<SimChannel['thread']>): Json {
    const count = this.history(c.id).length
    return {
      owner_id: t.ownerId,
      rate_limit_per_user: 0,
      message_count: count,
      member_count: t.members.size,
      total_message_sent: count,
      applied_tags: t.tags,
      thread_metadata: {
        archived: t.archived,
        auto_archive_duration: t.autoArchive,
        archive_timestamp: iso(t.archivedAt),
        create_timestamp: iso(t.createdAt),
        locked: t.locked,
        ...(c.type === CHANNEL.privateThread ? { invitable: true } : {}),
      },
      ...(t.members.has(this.bot.id)
        ? { member: { id: c.id, user_id: this.bot.id, join_timestamp: iso(t.createdAt), flags: 0 } }
        : {}),
    }
  }

  /** The GUILD_CREATE form: with channels, active threads and the bot as the one member sent. */
  guildCreateJson(guild: SimGuild): Json {
    const own = [...this.channels.values()].filter((c) => c.guildId === guild.id)
    return {
      ...this.guildJson(guild),
      joined_at: iso(guild.members.get(this.bot.id)?.joinedAt ?? 0),
      large: false,
      unavailable: false,
      member_count: guild.members.size,
      members: [this.memberJson(guild, this.bot.id)],
      channels: own.filter((c) => !c.thread).map((c) => this.channelJson(c)),
      threads: own
        .filter((c) => c.thread && !c.thread.archived && this.can(c, this.bot.id, 'VIEW_CHANNEL'))
        .map((c) => this.channelJson(c)),
      voice_states: [],
      presences: [],
      stage_instances: [],
      guild_scheduled_events: [],
      soundboard_sounds: [],
    }
  }

  guildJson(guild: SimGuild): Json {
    return {
      id: guild.id,
      name: guild.name,
      owner_id: guild.ownerId,
      icon: null,
      splash: null,
      discovery_splash: null,
      afk_channel_id: null,
      afk_timeout: 300,
      verification_level: 0,
      default_message_notifications: 0,
      explicit_content_filter: 0,
      roles: [...guild.roles.values()].map((r) => this.roleJson(r)),
      emojis: [],
      stickers: [],
      features: [],
      mfa_level: 0,
      application_id: null,
      system_channel_id: null,
      system_channel_flags: 0,
      rules_channel_id: null,
      vanity_url_code: null,
      description: null,
      banner: null,
      premium_tier: 0,
      preferred_locale: 'en-US',
      public_updates_channel_id: null,
      nsfw_level: 0,
      premium_progress_bar_enabled: false,
      safety_alerts_channel_id: null,
    }
  }

  /** The REST form of a message; the gateway adds guild_id, member and channel_type. */
  messageJson(m: SimMessage, withNonce: boolean, deep = true): Json {
    const author = this.user(m.authorId)
    const thread = m.threadId ? this.channels.get(m.threadId) : undefined
    const target = deep && m.reference?.type !== 1 ? this.#referenced(m) : undefined
    return {
      id: m.id,
      channel_id: m.channelId,
      type: m.type,
      author: this.userJson(author),
      content: m.content,
      timestamp: iso(m.createdAt),
      edited_timestamp: m.editedAt === undefined ? null : iso(m.editedAt),
      tts: false,
      pinned: false,
      mention_everyone: m.mentionEveryone,
      mentions: m.mentions.map((id) => this.userJson(this.user(id))),
      mention_roles: m.mentionRoles,
      attachments: m.attachments.map((a) => ({
        id: a.id,
        filename: a.filename,
        size: a.size,
        url: a.url,
        proxy_url: a.url,
        ...(a.contentType ? { content_type: a.contentType } : {}),
        ...(a.description ? { description: a.description } : {}),
      })),
      embeds: m.embeds,
      components: m.components,
      flags: m.flags,
      ...(m.reactions.size ? { reactions: this.#reactionsJson(m) } : {}),
      ...(withNonce && m.nonce !== undefined ? { nonce: m.nonce } : {}),
      ...(m.webhookId ? { webhook_id: m.webhookId, application_id: m.webhookId } : {}),
      ...(m.reference ? { message_reference: m.reference } : {}),
      ...(target === undefined ? {} : { referenced_message: target }),
      ...(thread ? { thread: this.channelJson(thread) } : {}),
      ...m.raw,
    }
  }

  #reactionsJson(m: SimMessage): Json[] {
    return [...m.reactions].map(([emoji, users]) => ({
      emoji: emojiJson(emoji),
      count: users.size,
      count_details: { burst: 0, normal: users.size },
      burst_colors: [],
      me: users.has(this.bot.id),
      me_burst: false,
    }))
  }

  #referenced(m: SimMessage): Json | null | undefined {
    if (!m.reference) return undefined
    const target = this.messages.get(String(m.reference.message_id))
    return target && target.deletedAt === undefined ? this.messageJson(target, false, false) : null
  }
}

/** "👀" or "name:id" as Discord's partial emoji. */
export function emojiJson(emoji: string): Json {
  const custom = /^(\w+):(\d+)$/.exec(emoji)
  return custom ? { id: custom[2], name: custom[1] } : { id: null, name: emoji }
}

/** All components of a message, nested ones and accessories included. */
export function flatComponents(list: unknown): Json[] {
  return asObjects(list).flatMap((c) => [
    c,
    ...flatComponents(c.components),
    ...flatComponents([c.accessory, c.component].filter(Boolean)),
  ])
}
