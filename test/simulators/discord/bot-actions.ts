import type { Core } from './core.ts'
import { apiError, Form } from './errors.ts'
import { asArray, asObject, asString, isObject, type Json } from './json.ts'
import type { Messages } from './messages.ts'
import type { SimChannel, SimMessage, Upload } from './model.ts'
import type { PermissionName } from './permissions.ts'
import { ARCHIVE_DURATIONS, CHANNEL, FLAG, limit } from './rules.ts'
import type { Threads } from './threads.ts'
import { badReference, checkFlags, checkMessageBody } from './validate-message.ts'

const SENDABLE = FLAG.suppressEmbeds | FLAG.suppressNotifications | FLAG.componentsV2
const EDITABLE = FLAG.suppressEmbeds | FLAG.componentsV2
const SYSTEM_TYPES_SENT: unknown[] = [0, 19, 20, 23]

/** What the bot does with its own token, judged by permissions and channel state. */
export class BotActions {
  readonly #core: Core
  readonly #messages: Messages
  readonly #threads: Threads

  constructor(core: Core, messages: Messages, threads: Threads) {
    this.#core = core
    this.#messages = messages
    this.#threads = threads
  }

  #can(c: SimChannel, name: PermissionName): boolean {
    return this.#core.world.can(c, this.#core.world.bot.id, name)
  }

  need(c: SimChannel, ...names: PermissionName[]): void {
    if (!c.guildId) return
    if (!this.#can(c, 'VIEW_CHANNEL')) throw apiError(50001)
    for (const name of names) if (!this.#can(c, name)) throw apiError(50013)
  }

  /** The channel, if the bot may see it. */
  channel(id: string): SimChannel {
    const c = this.#core.world.channel(id)
    this.need(c)
    return c
  }

  /** Discord docs: Create Message; Threads, "archived threads". */
  send(c: SimChannel, body: Json, uploads: Upload[]): SimMessage {
    const { world, clock, settings } = this.#core
    if (c.type === CHANNEL.forum) throw apiError(50008)
    this.need(c, c.thread ? 'SEND_MESSAGES_IN_THREADS' : 'SEND_MESSAGES')
    if (!c.guildId && c.recipients.some((id) => world.user(id).closedDms)) throw apiError(50007)
    checkMessageBody(body, { prefix: '', uploads, flags: 0, files: [] })
    checkFlags(body, SENDABLE)
    if (uploads.length) this.need(c, 'ATTACH_FILES')
    if (asArray(body.embeds).length) this.need(c, 'EMBED_LINKS')
    // Keyed by author, channel and nonce (assumed: the docs name the author only).
    if (body.enforce_nonce === true && body.nonce !== undefined && body.nonce !== null) {
      const since = clock.now() - settings.nonceWindowMs
      const same = world
        .history(c.id)
        .find((m) => m.authorId === world.bot.id && String(m.nonce) === String(body.nonce) && m.createdAt > since)
      if (same) return same
    }
    const reference = this.#reference(c, body.message_reference)
    this.#reopen(c)
    return this.#messages.create({
      channel: c,
      authorId: world.bot.id,
      body,
      uploads,
      ...(reference ? { reference } : {}),
    })
  }

  /** Sending opens an archived thread; a locked one only for MANAGE_THREADS (the code 160005 there is assumed). */
  #reopen(c: SimChannel): void {
    if (!c.thread) return
    if (c.thread.locked && !this.#can(c, 'MANAGE_THREADS')) throw apiError(160005)
    if (!c.thread.archived) return
    if (this.#core.settings.archivedRefusesSends) throw apiError(50083)
    this.#threads.setArchived(c, false)
  }

  #reference(c: SimChannel, value: unknown): Json | undefined {
    if (!isObject(value)) return undefined
    if (c.guildId && !this.#can(c, 'READ_MESSAGE_HISTORY')) throw apiError(160002)
    const channelId = asString(value.channel_id) || c.id
    const target = this.#core.world.messages.get(asString(value.message_id))
    const there = target && target.channelId === channelId && target.deletedAt === undefined && !target.ephemeralFor
    if (!there || (channelId !== c.id && value.type !== 1)) {
      if (value.fail_if_not_exists === false) return undefined
      throw badReference()
    }
    return {
      type: value.type ?? 0,
      channel_id: channelId,
      message_id: target.id,
      ...(c.guildId ? { guild_id: c.guildId } : {}),
    }
  }

  /** Discord docs: Edit Message. */
  edit(c: SimChannel, id: string, body: Json, uploads: Upload[]): SimMessage {
    const { world } = this.#core
    const m = world.message(c.id, id)
    if (c.thread?.archived) throw apiError(50083)
    if (m.authorId !== world.bot.id) throw apiError(50005)
    if (!SYSTEM_TYPES_SENT.includes(m.type)) throw apiError(50021)
    checkMessageBody(body, { prefix: '', uploads, flags: m.flags, files: m.attachments.map((a) => a.filename) })
    // Flags the message has already may be repeated.
    checkFlags(body, EDITABLE | m.flags)
    if (uploads.length) this.need(c, 'ATTACH_FILES')
    this.#messages.edit(m, body, uploads)
    return m
  }

  delete(c: SimChannel, id: string): void {
    const m = this.#core.world.message(c.id, id)
    if (m.authorId !== this.#core.world.bot.id) this.need(c, 'MANAGE_MESSAGES')
    this.#messages.delete(m)
  }

  /** Discord docs: Create Reaction. */
  react(c: SimChannel, id: string, emoji: string, add: boolean): void {
    const { world } = this.#core
    const m = world.message(c.id, id)
    if (c.thread?.archived) throw apiError(50083)
    if (add) {
      this.need(c, 'READ_MESSAGE_HISTORY')
      if (!/^\w+:\d+$/.test(emoji) && !/\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(emoji))
        throw apiError(10014)
      if (!m.reactions.has(emoji)) {
        this.need(c, 'ADD_REACTIONS')
        if (m.reactions.size >= limit('reactionsPerMessage')) throw apiError(30010)
      }
    }
    this.#messages.react(m, emoji, world.bot.id, add)
  }

  /** Discord docs: Start Thread from Message. */
  threadFrom(c: SimChannel, messageId: string, body: Json): SimChannel {
    const { world } = this.#core
    if (!c.guildId || (c.type !== CHANNEL.text && c.type !== CHANNEL.announcement))
      throw apiError(c.guildId ? 50024 : 50003)
    this.need(c, 'CREATE_PUBLIC_THREADS')
    const from = world.message(c.id, messageId)
    checkThread(body)
    if (from.threadId || world.channels.has(from.id)) throw apiError(160004)
    return this.#threads.create({ parent: c, name: asString(body.name), ownerId: world.bot.id, from, ...archive(body) })
  }

  /** Discord docs: Start Thread without Message; Start Thread in Forum Channel. */
  threadIn(c: SimChannel, body: Json, uploads: Upload[]): { thread: SimChannel; message?: SimMessage } {
    const { world } = this.#core
    const ownerId = world.bot.id
    if (!c.guildId) throw apiError(50003)
    if (c.type === CHANNEL.forum) {
      this.need(c, 'SEND_MESSAGES')
      checkThread(body)
      const first = asObject(body.message)
      checkMessageBody(first, { prefix: 'message.', uploads, flags: 0, files: [] })
      checkFlags(first, SENDABLE, 'message.flags')
      if (
        !asString(first.content).trim() &&
        !asArray(first.embeds).length &&
        !asArray(first.components).length &&
        !uploads.length
      )
        throw apiError(50006)
      const tags = asArray(body.applied_tags).map(String)
      const thread = this.#threads.create({ parent: c, name: asString(body.name), ownerId, tags, ...archive(body) })
      const message = this.#messages.create({ channel: thread, authorId: ownerId, body: first, uploads })
      return { thread, message }
    }
    if (c.type !== CHANNEL.text && c.type !== CHANNEL.announcement) throw apiError(50024)
    // Discord docs: without a type the thread is private.
    const type = Number(body.type ?? CHANNEL.privateThread)
    this.need(c, type === CHANNEL.privateThread ? 'CREATE_PRIVATE_THREADS' : 'CREATE_PUBLIC_THREADS')
    checkThread(body)
    return { thread: this.#threads.create({ parent: c, name: asString(body.name), ownerId, type, ...archive(body) }) }
  }

  /** Discord docs: Modify Channel. */
  modify(c: SimChannel, body: Json): SimChannel {
    if (!c.guildId) throw apiError(50003)
    if (!c.thread) {
      this.need(c, 'MANAGE_CHANNELS')
      if (body.name !== undefined) c.name = asString(body.name)
      if (body.topic !== undefined) c.topic = asString(body.topic)
      this.#threads.changed(c)
      return c
    }
    const manager = this.#can(c, 'MANAGE_THREADS')
    const keys = Object.keys(body).filter((k) => body[k] !== undefined)
    const opens = body.archived === false
    if (c.thread.archived && !opens && keys.some((k) => k !== 'archived' && k !== 'locked')) throw apiError(50083)
    if (body.locked !== undefined && body.locked !== c.thread.locked && !manager) throw apiError(50013)
    if (opens && keys.length === 1) {
      if (c.thread.locked && !manager) throw apiError(50013)
      this.need(c, 'SEND_MESSAGES_IN_THREADS')
    } else if (!manager && c.thread.ownerId !== this.#core.world.bot.id) throw apiError(50013)
    checkThread({ name: c.name, ...body })
    if (body.name !== undefined) c.name = asString(body.name)
    if (typeof body.auto_archive_duration === 'number') c.thread.autoArchive = body.auto_archive_duration
    this.#threads.setArchived(
      c,
      typeof body.archived === 'boolean' ? body.archived : c.thread.archived,
      typeof body.locked === 'boolean' ? body.locked : c.thread.locked,
    )
    return c
  }
}

function checkThread(body: Json): void {
  const form = new Form()
  form.text('name', body.name, limit('threadName'))
  const d = body.auto_archive_duration
  if (d !== undefined && d !== null) form.choice('auto_archive_duration', d, ARCHIVE_DURATIONS)
  if (body.type !== undefined && body.type !== null) form.choice('type', body.type, [10, 11, 12])
  form.throwIfFailed()
}

const archive = (body: Json): { autoArchive?: number } =>
  typeof body.auto_archive_duration === 'number' ? { autoArchive: body.auto_archive_duration } : {}
