import type { Core } from './core.ts'
import type { Delivery } from './delivery.ts'
import { removeMessage } from './methods/chat.ts'
import { mimetype } from './methods/files.ts'
import type { Json, SlackChannel, SlackFile, SlackMessage } from './world.ts'

export interface SayOptions {
  thread_ts?: string
  files?: { name: string; bytes: Buffer | string; mimetype?: string }[]
  subtype?: string
  /** The text is given as Slack would write it; it is neither escaped nor are names resolved. */
  raw?: boolean
  /** Which of `message` and `app_mention` comes first. */
  order?: 'message-first' | 'mention-first'
  /** Time between the two. */
  gapMs?: number
  /** Also shown in the channel (thread_broadcast). */
  broadcast?: boolean
  /** Further fields of the event. */
  extra?: Json
}

export interface Said {
  ts: string
  channel: string
  message: SlackMessage
  /** The events sent so far; with a gap the second comes later. */
  deliveries: Delivery[]
}

/** What a person typed, as Slack writes it: entities, @name and #channel as references, links in angle brackets. */
export function slackText(core: Core, typed: string): string {
  const { users, channels } = core.world
  const byName = new Map([...users.values()].map((user) => [user.name, user.id]))
  const channelByName = new Map([...channels.values()].filter((c) => c.name).map((c) => [c.name, c.id]))
  const pattern = /<@([UW]\w+)>|(?<![\w@])@([\w.-]*\w)|(?<![\w&])#([\w-]+)|https?:\/\/[^\s<>]+|[&<>]/g
  return typed.replace(pattern, (whole, id?: string, name?: string, channel?: string) => {
    if (id) return users.has(id) ? whole : `&lt;@${id}&gt;`
    if (name) {
      const found = byName.get(name)
      if (['here', 'channel', 'everyone'].includes(name)) return `<!${name}>`
      return found ? `<@${found}>` : whole
    }
    if (channel) {
      const found = channelByName.get(channel)
      return found ? `<#${found}|${channel}>` : whole
    }
    if (whole === '&') return '&amp;'
    if (whole === '<') return '&lt;'
    if (whole === '>') return '&gt;'
    return `<${whole.replaceAll('&', '&amp;')}>`
  })
}

/** The acts of the people in the workspace. */
export class People {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  #file(user: string, given: { name: string; bytes: Buffer | string; mimetype?: string }): SlackFile {
    const { world, clock } = this.#core
    const file: SlackFile = {
      id: world.id('F'),
      name: given.name,
      title: given.name,
      mimetype: given.mimetype ?? mimetype(given.name),
      bytes: Buffer.from(given.bytes),
      user,
      created: clock.now(),
      pending: false,
      shares: [],
    }
    world.files.set(file.id, file)
    return file
  }

  say(user: string, channelId: string, typed: string, options: SayOptions = {}): Said {
    const core = this.#core
    const channel = core.world.channel(channelId)
    const files = (options.files ?? []).map((file) => this.#file(user, file))
    const subtype =
      options.subtype ?? (options.broadcast ? 'thread_broadcast' : files.length > 0 ? 'file_share' : undefined)
    const text = options.raw ? typed : slackText(core, typed)
    const message = core.world.add(channel, {
      text,
      user,
      clientMsgId: crypto.randomUUID(),
      blocks: [
        {
          type: 'rich_text',
          block_id: 'rt',
          elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: typed }] }],
        },
      ],
      files,
      ...(subtype ? { subtype } : {}),
      ...(options.thread_ts === undefined ? {} : { threadTs: options.thread_ts }),
      ...(options.broadcast ? { broadcast: true } : {}),
    })
    for (const file of files)
      file.shares.push({
        channel: channelId,
        ts: message.ts,
        ...(message.threadTs ? { threadTs: message.threadTs } : {}),
      })
    return this.#tell(channel, message, options)
  }

  /** Sends the event or the two events of a person's message, in the order asked for. */
  #tell(channel: SlackChannel, message: SlackMessage, options: SayOptions): Said {
    const core = this.#core
    const said: Said = { ts: message.ts, channel: channel.id, message, deliveries: [] }
    const wire = { ...core.world.wire(message, core.host), event_ts: message.ts, ...options.extra }
    const keep = (delivery: Delivery | undefined): void => {
      if (delivery) said.deliveries.push(delivery)
    }
    const plain = (): void => keep(core.messageEvent(channel, wire))
    const bot = core.world.bot.userId
    const mentions = channel.kind !== 'im' && channel.members.has(bot) && message.text.includes(`<@${bot}`)
    const { subtype: _, ...rest } = wire as Json
    const mention = (): void => keep(core.event({ ...rest, type: 'app_mention', channel: channel.id }))
    const acts = !mentions ? [plain] : options.order === 'mention-first' ? [mention, plain] : [plain, mention]
    acts[0]?.()
    const second = acts[1]
    if (second && options.gapMs) core.clock.after(options.gapMs, second)
    else second?.()
    const root = message.threadTs ? core.world.find(channel.id, message.threadTs) : undefined
    if (root && core.threadUpdates) keep(core.changed(root, core.world.wire(root, core.host)))
    return said
  }

  /** A message of another app: bot_id and app_id, no subtype, unless one is given. */
  sayAsApp(channelId: string, text: string, options: SayOptions & { user?: string } = {}): Said {
    const core = this.#core
    const channel = core.world.channel(channelId)
    const message = core.world.add(channel, {
      text,
      user: options.user ?? 'U0OTHERBOT',
      botId: 'B0OTHER',
      appId: 'A0OTHER',
      ...(options.subtype ? { subtype: options.subtype } : {}),
      ...(options.thread_ts === undefined ? {} : { threadTs: options.thread_ts }),
    })
    return this.#tell(channel, message, options)
  }

  /** A notice of Slack itself: user USLACK, neither subtype nor bot_id. */
  notice(channelId: string, text: string, threadTs?: string): Said {
    const channel = this.#core.world.channel(channelId)
    const message = this.#core.world.add(channel, { text, user: 'USLACK', ...(threadTs ? { threadTs } : {}) })
    return this.#tell(channel, message, {})
  }

  /** Changes a message's text; with `mention` an app_mention with `edited` follows, as for a mention edited in. */
  edit(channelId: string, ts: string, typed: string, options: { mention?: boolean; raw?: boolean } = {}): Delivery[] {
    const core = this.#core
    const message = core.world.message(channelId, ts)
    const previous = core.world.wire(message, core.host)
    message.versions.push({ at: core.clock.now(), text: message.text })
    message.text = options.raw ? typed : slackText(core, typed)
    delete message.blocks
    message.edited = { user: message.user ?? '', ts: core.world.nextTs() }
    const sent = [core.changed(message, previous)]
    if (options.mention)
      sent.push(
        core.event({
          ...core.world.wire(message, core.host),
          type: 'app_mention',
          channel: channelId,
          event_ts: message.edited.ts,
        }),
      )
    return sent.filter((one) => one !== undefined)
  }

  /** message_changed that leaves the text as it was: an unfurled link, a reply count. */
  touch(
    channelId: string,
    ts: string,
    change: Json = { attachments: [{ title: 'preview', from_url: 'https://example.com/' }] },
  ): Delivery | undefined {
    const core = this.#core
    const message = core.world.message(channelId, ts)
    const channel = core.world.channel(channelId)
    const wire = core.world.wire(message, core.host)
    const at = core.world.nextTs()
    return core.messageEvent(channel, {
      subtype: 'message_changed',
      hidden: true,
      message: { ...wire, ...change },
      previous_message: wire,
      ts: at,
      event_ts: at,
    })
  }

  delete(channelId: string, ts: string): void {
    removeMessage(this.#core, this.#core.world.message(channelId, ts))
  }

  react(user: string, channelId: string, ts: string, name: string): Delivery | undefined {
    const core = this.#core
    const message = core.world.message(channelId, ts)
    message.reactions.set(name, (message.reactions.get(name) ?? new Set()).add(user))
    return core.event({
      type: 'reaction_added',
      user,
      reaction: name,
      item: { type: 'message', channel: channelId, ts },
      item_user: message.user,
      event_ts: core.world.nextTs(),
    })
  }

  /** Someone joins; the bot hears of its own joining too. */
  join(user: string, channelId: string): Delivery | undefined {
    const core = this.#core
    const channel = core.world.channel(channelId)
    channel.members.add(user)
    const type = channel.kind === 'public' ? 'C' : 'G'
    return core.event({
      type: 'member_joined_channel',
      user,
      channel: channelId,
      channel_type: type,
      team: core.world.team.id,
      event_ts: core.world.nextTs(),
    })
  }

  leave(user: string, channelId: string): void {
    this.#core.world.channel(channelId).members.delete(user)
  }

  openHome(user: string, tab: 'home' | 'messages' = 'home'): Delivery | undefined {
    const core = this.#core
    return core.event({
      type: 'app_home_opened',
      user,
      channel: core.world.im(user).id,
      tab,
      event_ts: core.world.nextTs(),
    })
  }

  /** The native stop button: running streams of the thread end, the app is told. */
  stopSession(user: string, channelId: string, threadTs: string): Delivery | undefined {
    const core = this.#core
    const streams = core.world
      .channel(channelId)
      .messages.filter((m) => m.threadTs === threadTs && m.stream?.state === 'in_progress')
    for (const message of streams)
      if (message.stream) Object.assign(message.stream, { state: 'completed', stoppedByUser: true })
    return core.event({
      type: 'agent_session_stopped',
      channel: channelId,
      thread_ts: threadTs,
      user,
      streaming_message_ts: streams.map((m) => m.ts),
      event_ts: core.world.nextTs(),
    })
  }
}
