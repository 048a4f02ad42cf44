import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../src/util/time.ts'

export type Json = Record<string, unknown>
export type ChannelKind = 'public' | 'private' | 'im' | 'mpim'

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Drops keys whose value is undefined. */
export function compact(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined))
}

export interface SlackUser {
  id: string
  name: string
  realName: string
  isBot: boolean
}

export interface SlackChannel {
  id: string
  name: string
  kind: ChannelKind
  members: Set<string>
  archived: boolean
  messages: SlackMessage[]
}

export interface StreamState {
  state: 'in_progress' | 'completed' | 'errored'
  startedAt: number
  lastAt: number
  recipient?: string
  stoppedByUser: boolean
  tasks: Json[]
}

export interface MessageVersion {
  at: number
  text: string
  blocks?: Json[]
}

export interface SlackMessage {
  ts: string
  channel: string
  at: number
  user?: string
  botId?: string
  appId?: string
  subtype?: string
  text: string
  blocks?: Json[]
  attachments?: Json[]
  /** Markdown given as markdown_text or streamed. */
  markdown?: string
  metadata?: Json
  threadTs?: string
  broadcast?: boolean
  clientMsgId?: string
  files: SlackFile[]
  reactions: Map<string, Set<string>>
  edited?: { user: string; ts: string }
  versions: MessageVersion[]
  stream?: StreamState
  parse?: string
}

export interface SlackFile {
  id: string
  name: string
  title: string
  mimetype: string
  bytes: Buffer
  user: string
  created: number
  /** Uploaded through the API and not completed yet. */
  pending: boolean
  expected?: number
  shares: { channel: string; ts: string; threadTs?: string }[]
}

export interface SlackView {
  id: string
  rootId: string
  previousId?: string
  hash: string
  user: string
  view: Json
  at: number
  open: boolean
  versions: Json[]
}

export interface EphemeralLine {
  ts: string
  at: number
  channel: string
  /** The one who sees it. */
  user: string
  text: string
  blocks?: Json[]
  threadTs?: string
  markdown?: string
  deleted: boolean
}

export interface StatusLine {
  at: number
  channel: string
  threadTs: string
  status: string
  method: string
}

export interface TokenInfo {
  kind: 'bot' | 'app'
  scopes: Set<string>
  revoked: boolean
}

export interface Bot {
  userId: string
  botId: string
  appId: string
  name: string
}

/** The workspace as Slack would hold it. */
export class World {
  readonly team = { id: 'T0SIM', name: 'Sim', domain: 'sim', url: 'https://sim.slack.com/' }
  readonly bot: Bot = { userId: 'U0BOT', botId: 'B0BOT', appId: 'A0APP', name: 'turnstone' }
  readonly users = new Map<string, SlackUser>()
  readonly channels = new Map<string, SlackChannel>()
  readonly files = new Map<string, SlackFile>()
  readonly views: SlackView[] = []
  readonly tokens = new Map<string, TokenInfo>()
  readonly ephemerals: EphemeralLine[] = []
  readonly statuses: StatusLine[] = []
  readonly sessions = new Map<string, string>()
  #lastTs = 0
  #count = 0
  readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
    this.addUser(this.bot.name, { id: this.bot.userId, isBot: true })
    this.users.set('USLACKBOT', { id: 'USLACKBOT', name: 'slackbot', realName: 'Slackbot', isBot: false })
  }

  /** A message ts: the time in microseconds, always later than the one before. */
  nextTs(): string {
    this.#lastTs = Math.max(this.#lastTs + 1, Math.floor(this.clock.now() * 1000))
    return `${Math.floor(this.#lastTs / 1_000_000)}.${String(this.#lastTs % 1_000_000).padStart(6, '0')}`
  }

  id(prefix: string): string {
    this.#count++
    return `${prefix}${this.#count.toString(36).toUpperCase().padStart(4, '0')}${randomBytes(3).toString('hex').toUpperCase()}`
  }

  addUser(name: string, more: { id?: string; realName?: string; isBot?: boolean } = {}): SlackUser {
    const id = more.id ?? this.id('U')
    const user = { id, name, realName: more.realName ?? name, isBot: more.isBot ?? false }
    this.users.set(id, user)
    return user
  }

  addChannel(name: string, kind: ChannelKind, members: string[], id?: string): SlackChannel {
    const prefix = kind === 'im' ? 'D' : kind === 'public' ? 'C' : 'G'
    const channel = { id: id ?? this.id(prefix), name, kind, members: new Set(members), archived: false, messages: [] }
    this.channels.set(channel.id, channel)
    return channel
  }

  im(user: string): SlackChannel {
    const found = [...this.channels.values()].find((c) => c.kind === 'im' && c.members.has(user))
    return found ?? this.addChannel('', 'im', [user, this.bot.userId])
  }

  channel(id: string): SlackChannel {
    const found = this.channels.get(id)
    if (!found) throw new Error(`no channel ${id} in the simulated workspace`)
    return found
  }

  message(channel: string, ts: string): SlackMessage {
    const found = this.find(channel, ts)
    if (!found) throw new Error(`no message ${ts} in ${channel}`)
    return found
  }

  find(channel: string, ts: string): SlackMessage | undefined {
    return this.channels.get(channel)?.messages.find((m) => m.ts === ts)
  }

  add(channel: SlackChannel, given: Partial<SlackMessage> & { text: string }): SlackMessage {
    const message: SlackMessage = {
      ts: this.nextTs(),
      channel: channel.id,
      at: this.clock.now(),
      files: [],
      reactions: new Map(),
      versions: [],
      ...given,
    }
    channel.messages.push(message)
    return message
  }

  replies(message: SlackMessage): SlackMessage[] {
    return this.channel(message.channel).messages.filter((m) => m.threadTs === message.ts)
  }

  isOwn(message: SlackMessage): boolean {
    return message.botId === this.bot.botId
  }

  fileWire(file: SlackFile, host: string): Json {
    const path = `${host}/files-pri/${this.team.id}-${file.id}`
    const name = encodeURIComponent(file.name)
    const shares: Record<string, Record<string, Json[]>> = {}
    for (const share of file.shares) {
      const group = this.channel(share.channel).kind === 'public' ? 'public' : 'private'
      const inner = shares[group] ?? {}
      shares[group] = inner
      inner[share.channel] = [...(inner[share.channel] ?? []), compact({ ts: share.ts, thread_ts: share.threadTs })]
    }
    return {
      id: file.id,
      created: Math.floor(file.created / 1000),
      name: file.name,
      title: file.title,
      mimetype: file.mimetype,
      filetype: file.name.split('.').at(-1) ?? '',
      user: file.user,
      size: file.bytes.length,
      mode: 'hosted',
      is_external: false,
      url_private: `${path}/${name}`,
      url_private_download: `${path}/download/${name}`,
      shares,
      channels: file.shares.map((share) => share.channel),
    }
  }

  /** A message as events and history carry it. */
  wire(message: SlackMessage, host: string, metadata = false): Json {
    const replies = this.replies(message)
    const root = message.threadTs ? this.find(message.channel, message.threadTs) : undefined
    return compact({
      type: 'message',
      subtype: message.subtype,
      user: message.user,
      bot_id: message.botId,
      app_id: message.appId,
      bot_profile: message.botId
        ? { id: message.botId, app_id: message.appId, name: 'bot', team_id: this.team.id }
        : undefined,
      text: message.text,
      blocks: message.blocks,
      attachments: message.attachments,
      ts: message.ts,
      client_msg_id: message.clientMsgId,
      team: this.team.id,
      edited: message.edited,
      thread_ts: message.threadTs ?? (replies.length > 0 ? message.ts : undefined),
      parent_user_id: root?.user,
      root: message.subtype === 'thread_broadcast' && root ? this.wire(root, host) : undefined,
      files: message.files.length > 0 ? message.files.map((file) => this.fileWire(file, host)) : undefined,
      reactions:
        message.reactions.size > 0
          ? [...message.reactions].map(([name, users]) => ({ name, users: [...users], count: users.size }))
          : undefined,
      reply_count: replies.length > 0 ? replies.length : undefined,
      latest_reply: replies.at(-1)?.ts,
      reply_users: replies.length > 0 ? [...new Set(replies.map((m) => m.user))] : undefined,
      streaming_state: message.stream?.state,
      metadata: metadata ? message.metadata : undefined,
    })
  }
}
