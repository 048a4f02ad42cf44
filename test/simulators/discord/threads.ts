import type { Core } from './core.ts'
import type { Messages } from './messages.ts'
import type { SimChannel, SimMessage } from './model.ts'
import { CHANNEL, FLAG, INTENT, MESSAGE } from './rules.ts'

export interface NewThread {
  parent: SimChannel
  name: string
  ownerId: string
  type?: number
  autoArchive?: number
  from?: SimMessage
  members?: string[]
  tags?: string[]
}

/** Channels and threads as they come, change and go, with their events. */
export class Threads {
  readonly #core: Core
  readonly #messages: Messages

  constructor(core: Core, messages: Messages) {
    this.#core = core
    this.#messages = messages
  }

  create(n: NewThread): SimChannel {
    const { world, clock, gateway } = this.#core
    const news = n.parent.type === CHANNEL.announcement
    const type = n.type ?? (news ? CHANNEL.announcementThread : CHANNEL.publicThread)
    const now = clock.now()
    const thread = world.addChannel({
      ...(n.from ? { id: n.from.id } : {}),
      type,
      name: n.name,
      guildId: n.parent.guildId,
      parentId: n.parent.id,
      thread: {
        ownerId: n.ownerId,
        archived: false,
        locked: false,
        autoArchive: n.autoArchive ?? 1440,
        archivedAt: now,
        createdAt: now,
        members: new Set([n.ownerId, ...(n.members ?? [])]),
        tags: n.tags ?? [],
      },
    })
    if (world.can(thread, world.bot.id, 'VIEW_CHANNEL'))
      gateway.dispatch('THREAD_CREATE', INTENT.guilds, () => ({ ...world.channelJson(thread), newly_created: true }))
    this.#firstMessage(n, thread)
    return thread
  }

  /** The system message that Discord puts into the thread, or for one without a message into the parent. */
  #firstMessage(n: NewThread, thread: SimChannel): void {
    if (n.from) {
      n.from.threadId = thread.id
      n.from.flags |= FLAG.hasThread
      this.#messages.announceChange(n.from)
      this.#messages.create({
        channel: thread,
        authorId: n.from.authorId,
        body: {},
        type: MESSAGE.threadStarter,
        reference: { type: 0, guild_id: n.from.guildId, channel_id: n.from.channelId, message_id: n.from.id },
        mayBeEmpty: true,
      })
    } else if (n.parent.type !== CHANNEL.forum && thread.type !== CHANNEL.privateThread)
      this.#messages.create({
        channel: n.parent,
        authorId: n.ownerId,
        body: { content: n.name },
        type: MESSAGE.threadCreated,
        reference: { type: 0, guild_id: thread.guildId, channel_id: thread.id },
      })
  }

  /** Announces a channel or thread as it is now. */
  changed(c: SimChannel): void {
    this.#core.gateway.dispatch(c.thread ? 'THREAD_UPDATE' : 'CHANNEL_UPDATE', INTENT.guilds, () =>
      this.#core.world.channelJson(c),
    )
  }

  setArchived(c: SimChannel, archived: boolean, locked?: boolean): void {
    if (!c.thread) throw new Error(`${c.id} is not a thread`)
    if (c.thread.archived !== archived) c.thread.archivedAt = this.#core.clock.now()
    c.thread.archived = archived
    c.thread.locked = locked ?? c.thread.locked
    this.changed(c)
  }

  delete(c: SimChannel): void {
    const { world, gateway } = this.#core
    const json = world.channelJson(c)
    world.channels.delete(c.id)
    const gone = { id: c.id, guild_id: c.guildId, parent_id: c.parentId, type: c.type }
    if (c.thread) gateway.dispatch('THREAD_DELETE', INTENT.guilds, () => gone)
    else {
      for (const t of [...world.channels.values()]) if (t.thread && t.parentId === c.id) world.channels.delete(t.id)
      gateway.dispatch('CHANNEL_DELETE', INTENT.guilds, () => json)
    }
  }

  /** The bot joins; its member shows in the thread's JSON. */
  join(c: SimChannel, userId: string): void {
    if (!c.thread || c.thread.members.has(userId)) return
    c.thread.members.add(userId)
    if (userId === this.#core.world.bot.id && c.type === CHANNEL.privateThread)
      this.#core.gateway.dispatch('THREAD_CREATE', INTENT.guilds, () => this.#core.world.channelJson(c))
  }
}
