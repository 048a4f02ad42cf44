import type { Clock } from '../../../src/util/time.ts'
import { Deliveries, type Delivery } from './delivery.ts'
import { Faults } from './faults.ts'
import { RateLimits } from './limits.ts'
import { type RuleValues, ruleValues } from './rules.ts'
import { SocketHub } from './sockets.ts'
import { compact, type Json, type SlackChannel, type SlackMessage, World } from './world.ts'

export interface ResponseUrl {
  channel: string
  user: string
  messageTs?: string
  ephemeralTs?: string
  threadTs?: string
  uses: number
  until: number
}

export interface Features {
  /** chat.startStream and its kin; a string is the error code answered. */
  streaming: true | 'unknown_method' | 'feature_disabled'
  /** agents.sessions.*; off by default, as it is not rolled out everywhere. */
  agents: boolean
  status: boolean
  socketMode: boolean
}

export interface ApiCall {
  at: number
  method: string
  args: Json
  token: 'bot' | 'app' | 'none' | 'unknown'
  status: number
  ok: boolean
  error?: string
  response: Json
}

const KINDS = { public: 'channel', private: 'group', im: 'im', mpim: 'mpim' } as const
const EVENTS = {
  public: 'message.channels',
  private: 'message.groups',
  im: 'message.im',
  mpim: 'message.mpim',
} as const

/** What the parts of the simulator share. */
export class Core {
  readonly clock: Clock
  readonly world: World
  readonly rules: RuleValues = ruleValues()
  readonly limits: RateLimits
  readonly deliveries: Deliveries
  readonly sockets: SocketHub
  readonly faults = new Faults()
  readonly calls: ApiCall[] = []
  readonly triggers = new Map<string, { until: number; used: boolean; user: string }>()
  readonly responseUrls = new Map<string, ResponseUrl>()
  readonly features: Features = { streaming: true, agents: false, status: true, socketMode: true }
  /** Event subscriptions of the app. */
  readonly subscriptions = new Set<string>([
    ...Object.values(EVENTS),
    'app_mention',
    'app_home_opened',
    'agent_session_stopped',
    'reaction_added',
    'member_joined_channel',
    'app_uninstalled',
    'tokens_revoked',
  ])
  /** The parent's message_changed when a reply comes. */
  threadUpdates = true
  /** Events about the app's own messages. */
  ownEvents = true
  signingSecret = 'sim-signing-secret'
  host = ''

  constructor(clock: Clock, ackClock: Clock, rateClock: Clock) {
    this.clock = clock
    this.world = new World(clock)
    this.limits = new RateLimits(rateClock, this.rules)
    this.deliveries = new Deliveries(this.world, ackClock, this.rules)
    this.sockets = new SocketHub(this.world.bot.appId, ackClock, this.rules)
    this.sockets.onConnect = () => this.deliveries.flush()
    this.deliveries.transport = this.sockets
  }

  envelope(event: Json | undefined, more: Json = {}): Json {
    const { team, bot } = this.world
    return compact({
      token: 'verification',
      team_id: team.id,
      context_team_id: team.id,
      context_enterprise_id: null,
      api_app_id: bot.appId,
      event,
      type: 'event_callback',
      event_id: this.world.id('Ev'),
      event_time: Math.floor(this.clock.now() / 1000),
      authorizations: [
        { enterprise_id: null, team_id: team.id, user_id: bot.userId, is_bot: true, is_enterprise_install: false },
      ],
      is_ext_shared_channel: false,
      event_context: this.world.id('EC'),
      ...more,
    })
  }

  /** Sends an event, unless the app did not subscribe to it. */
  event(event: Json, subscription = String(event.type)): Delivery | undefined {
    if (!this.subscriptions.has(subscription)) return undefined
    const payload = this.envelope(event)
    return this.deliveries.send({
      kind: 'events_api',
      type: String(event.type),
      payload,
      eventId: String(payload.event_id),
    })
  }

  /** Sends a message event, where the bot is a member. */
  messageEvent(channel: SlackChannel, event: Json): Delivery | undefined {
    if (!channel.members.has(this.world.bot.userId)) return undefined
    const full = { ...event, type: 'message', channel: channel.id, channel_type: KINDS[channel.kind] }
    return this.event(full, EVENTS[channel.kind])
  }

  /** The event of a new message and of its thread's parent. */
  posted(message: SlackMessage): Delivery | undefined {
    const channel = this.world.channel(message.channel)
    this.clearStatus(message)
    const { reply_count: _, latest_reply: __, reply_users: ___, ...wire } = this.world.wire(message, this.host)
    const own = this.world.isOwn(message)
    const sent = own && !this.ownEvents ? undefined : this.messageEvent(channel, { ...wire, event_ts: message.ts })
    const root = message.threadTs ? this.world.find(channel.id, message.threadTs) : undefined
    if (root && this.threadUpdates) this.changed(root, this.world.wire(root, this.host))
    return sent
  }

  /** message_changed; `previous` is the message as it was. */
  changed(message: SlackMessage, previous: Json): Delivery | undefined {
    const channel = this.world.channel(message.channel)
    const ts = this.world.nextTs()
    return this.messageEvent(channel, {
      subtype: 'message_changed',
      hidden: true,
      message: this.world.wire(message, this.host),
      previous_message: previous,
      ts,
      event_ts: ts,
    })
  }

  trigger(user: string): string {
    const id = `${this.world.id('')}.${this.world.team.id}.${crypto.randomUUID()}`
    this.triggers.set(id, { until: this.clock.now() + this.rules.triggerMs, used: false, user })
    return id
  }

  responseUrl(given: Omit<ResponseUrl, 'uses' | 'until'>): string {
    const key = crypto.randomUUID()
    this.responseUrls.set(key, { ...given, uses: 0, until: this.clock.now() + this.rules.responseUrlMs })
    return `${this.host}/actions/${this.world.team.id}/${key}`
  }

  /** A post of the app in a thread takes its status line away. */
  clearStatus(message: SlackMessage): void {
    if (!this.world.isOwn(message)) return
    const threadTs = message.threadTs ?? message.ts
    if (!this.status(message.channel, threadTs)) return
    this.world.statuses.push({
      at: this.clock.now(),
      channel: message.channel,
      threadTs,
      status: '',
      method: 'message',
    })
  }

  /** The status line shown now; '' where there is none. */
  status(channel: string, threadTs: string): string {
    const last = this.world.statuses.findLast((line) => line.channel === channel && line.threadTs === threadTs)
    return last && this.clock.now() < last.at + this.rules.statusMs ? last.status : ''
  }

  /** Ends a stream that was silent or open for too long. */
  expire(message: SlackMessage): void {
    const stream = message.stream
    if (stream?.state !== 'in_progress') return
    const now = this.clock.now()
    if (now - stream.lastAt >= this.rules.streamIdleMs || now - stream.startedAt >= this.rules.streamTotalMs)
      stream.state = 'errored'
  }
}
