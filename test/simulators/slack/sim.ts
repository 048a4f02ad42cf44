import { type Clock, systemClock } from '../../../src/util/time.ts'
import { type ApiCall, Core, type Features } from './core.ts'
import type { Delivery } from './delivery.ts'
import type { Faults } from './faults.ts'
import { Interactions } from './interactions.ts'
import type { RateLimits } from './limits.ts'
import { People } from './people.ts'
import { buttonsOf, pingsOf, renderMessage, type SeenButton } from './render.ts'
import type { RuleValues } from './rules.ts'
import { SlackServer } from './server.ts'
import type { SocketHub } from './sockets.ts'
import { Webhook, type WebhookOptions } from './webhook.ts'
import type {
  ChannelKind,
  EphemeralLine,
  Json,
  MessageVersion,
  SlackChannel,
  SlackFile,
  SlackMessage,
  SlackUser,
  SlackView,
  StatusLine,
  StreamState,
  World,
} from './world.ts'

export const BOT_SCOPES =
  'app_mentions:read assistant:write channels:history channels:read chat:write commands files:read files:write groups:history groups:read im:history im:read im:write mpim:history mpim:read mpim:write reactions:read reactions:write users:read'.split(
    ' ',
  )

export interface SlackSimOptions {
  clock?: Clock
  /** What acks, retries and pings are timed by. Default: `clock`. */
  ackClock?: Clock
  /** What rate limits are counted by. Default: `clock`. */
  rateClock?: Clock
  botToken?: string
  appToken?: string
  scopes?: string[]
  rateLimits?: boolean
  features?: Partial<Features>
  port?: number
}

/** A message as a reader sees it. */
export interface SeenMessage {
  ts: string
  threadTs?: string
  at: number
  user?: string
  botId?: string
  own: boolean
  subtype?: string
  text: string
  blocks: Json[]
  markdown?: string
  metadata?: Json
  rendered: string
  buttons: SeenButton[]
  pinged: string[]
  reactions: Record<string, string[]>
  versions: MessageVersion[]
  edited: boolean
  stream?: StreamState
  files: { id: string; name: string; mimetype: string; bytes: Buffer }[]
}

export class SlackSim {
  readonly people: People
  readonly interactions: Interactions
  readonly #core: Core
  readonly #server: SlackServer
  readonly botToken: string
  readonly appToken: string

  private constructor(options: SlackSimOptions) {
    const clock = options.clock ?? systemClock
    this.#core = new Core(clock, options.ackClock ?? clock, options.rateClock ?? clock)
    this.#server = new SlackServer(this.#core)
    this.people = new People(this.#core)
    this.interactions = new Interactions(this.#core)
    this.botToken = options.botToken ?? 'xoxb-sim-bot'
    this.appToken = options.appToken ?? 'xapp-sim-app'
    const { tokens } = this.#core.world
    tokens.set(this.botToken, { kind: 'bot', scopes: new Set(options.scopes ?? BOT_SCOPES), revoked: false })
    tokens.set(this.appToken, { kind: 'app', scopes: new Set(['connections:write']), revoked: false })
    this.#core.limits.on = options.rateLimits ?? true
    Object.assign(this.#core.features, options.features)
  }

  static async start(options: SlackSimOptions = {}): Promise<SlackSim> {
    const sim = new SlackSim(options)
    await sim.#server.start(options.port ?? 0)
    return sim
  }

  async stop(): Promise<void> {
    this.#core.deliveries.stop()
    this.#core.sockets.stop()
    await this.#server.stop()
  }

  get apiUrl(): string {
    return `${this.#core.host}/api/`
  }

  /** Where url_private points to. */
  get filesUrl(): string {
    return this.#core.host
  }

  get world(): World {
    return this.#core.world
  }

  get bot(): World['bot'] {
    return this.#core.world.bot
  }

  get rules(): RuleValues {
    return this.#core.rules
  }

  get limits(): RateLimits {
    return this.#core.limits
  }

  get faults(): Faults {
    return this.#core.faults
  }

  get features(): Features {
    return this.#core.features
  }

  get sockets(): SocketHub {
    return this.#core.sockets
  }

  get subscriptions(): Set<string> {
    return this.#core.subscriptions
  }

  get signingSecret(): string {
    return this.#core.signingSecret
  }

  /** Switches for the events about the app's own messages and about the parents of replies. */
  noise(switches: { ownEvents?: boolean; threadUpdates?: boolean }): void {
    Object.assign(this.#core, switches)
  }

  /** `<@BOT>`, to stand in what a person says. */
  get mention(): string {
    return `<@${this.bot.userId}>`
  }

  user(name: string, more: { id?: string; realName?: string; isBot?: boolean } = {}): SlackUser {
    return this.world.addUser(name, more)
  }

  /** A channel; the bot is a member unless told otherwise. */
  channel(
    name: string,
    options: { kind?: ChannelKind; members?: SlackUser[]; bot?: boolean; id?: string } = {},
  ): SlackChannel {
    const members = (options.members ?? []).map((user) => user.id)
    if (options.bot !== false) members.push(this.bot.userId)
    return this.world.addChannel(name, options.kind ?? 'public', members, options.id)
  }

  /** The direct messages of a person with the bot. */
  im(user: string): SlackChannel {
    return this.world.im(user)
  }

  setScopes(scopes: string[]): void {
    const token = this.world.tokens.get(this.botToken)
    if (token) token.scopes = new Set(scopes)
  }

  /** Revokes a token; with `forget` it was never known (invalid_auth). */
  revoke(which: 'bot' | 'app' = 'bot', forget = false): void {
    const key = which === 'bot' ? this.botToken : this.appToken
    const token = this.world.tokens.get(key)
    if (forget) this.world.tokens.delete(key)
    else if (token) token.revoked = true
  }

  /** Switches to HTTP mode: everything is POSTed to the app. */
  useHttp(urls: WebhookOptions): Webhook {
    const webhook = new Webhook(urls, this.#core.signingSecret, this.#core.clock)
    this.#core.deliveries.transport = webhook
    return webhook
  }

  useSockets(): void {
    this.#core.deliveries.transport = this.#core.sockets
  }

  say: People['say'] = (...args) => this.people.say(...args)
  press: Interactions['press'] = (...args) => this.interactions.press(...args)
  submitView: Interactions['submitView'] = (...args) => this.interactions.submitView(...args)
  slash: Interactions['slash'] = (...args) => this.interactions.slash(...args)

  redeliver(delivery: Delivery, reason?: string): void {
    this.#core.deliveries.redeliver(delivery, reason)
  }

  /** Any event of one's own making. */
  event(event: Json): Delivery | undefined {
    return this.#core.event(event)
  }

  /** app_rate_limited: a payload without an inner event. */
  appRateLimited(): Delivery {
    const { team, bot } = this.world
    const minute = Math.floor(this.#core.clock.now() / 60_000) * 60
    const payload = {
      token: 'verification',
      team_id: team.id,
      type: 'app_rate_limited',
      minute_rate_limited: minute,
      api_app_id: bot.appId,
    }
    return this.#core.deliveries.send({ kind: 'events_api', type: 'app_rate_limited', payload })
  }

  get deliveries(): readonly Delivery[] {
    return this.#core.deliveries.all
  }

  /** Deliveries that the app did not acknowledge in time. */
  get failures(): Delivery[] {
    return this.deliveries.filter(
      (delivery) =>
        delivery.attempts.some((attempt) => attempt.outcome && attempt.outcome !== 'acked') || delivery.error,
    )
  }

  get calls(): readonly ApiCall[] {
    return this.#core.calls
  }

  callsOf(method: string): ApiCall[] {
    return this.calls.filter((call) => call.method === method)
  }

  /** A channel's messages in order; with `threadTs` that thread alone, its root first. */
  messages(channel: string, threadTs?: string): SeenMessage[] {
    const all = this.world.channel(channel).messages
    const wanted = threadTs === undefined ? all : all.filter((m) => m.ts === threadTs || m.threadTs === threadTs)
    return wanted.map((message) => this.#seen(message))
  }

  /** The bot's own messages among them. */
  own(channel: string, threadTs?: string): SeenMessage[] {
    return this.messages(channel, threadTs).filter((message) => message.own)
  }

  #seen(message: SlackMessage): SeenMessage {
    this.#core.expire(message)
    return {
      ts: message.ts,
      at: message.at,
      own: this.world.isOwn(message),
      text: message.text,
      blocks: message.blocks ?? [],
      rendered: renderMessage(message),
      buttons: buttonsOf(message.blocks),
      pinged: pingsOf(message),
      reactions: Object.fromEntries([...message.reactions].map(([name, users]) => [name, [...users]])),
      versions: message.versions,
      edited: message.edited !== undefined || message.versions.length > 0,
      files: message.files.map(({ id, name, mimetype, bytes }) => ({ id, name, mimetype, bytes })),
      ...(message.threadTs === undefined ? {} : { threadTs: message.threadTs }),
      ...(message.user === undefined ? {} : { user: message.user }),
      ...(message.botId === undefined ? {} : { botId: message.botId }),
      ...(message.subtype === undefined ? {} : { subtype: message.subtype }),
      ...(message.markdown === undefined ? {} : { markdown: message.markdown }),
      ...(message.metadata === undefined ? {} : { metadata: message.metadata }),
      ...(message.stream === undefined ? {} : { stream: message.stream }),
    }
  }

  /** Lines that only one person sees, with the text as read. */
  ephemerals(user?: string): (EphemeralLine & { rendered: string })[] {
    const lines = this.world.ephemerals.filter((line) => !line.deleted && (user === undefined || line.user === user))
    return lines.map((line) => ({ ...line, rendered: renderMessage(line) }))
  }

  get statuses(): readonly StatusLine[] {
    return this.world.statuses
  }

  status(channel: string, threadTs: string): string {
    return this.#core.status(channel, threadTs)
  }

  get views(): readonly SlackView[] {
    return this.world.views
  }

  get files(): readonly SlackFile[] {
    return [...this.world.files.values()]
  }
}
