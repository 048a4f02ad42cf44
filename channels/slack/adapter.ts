import type { AdapterDeps } from '../../src/channel/adapter-deps.ts'
import type { CardView } from '../../src/channel/card.ts'
import type {
  Address,
  ChannelAdapter,
  EphemeralLine,
  InboundHandler,
  InboundMessage,
  MessageRef,
  Outgoing,
} from '../../src/channel/channel-adapter.ts'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import type { SlackConfig } from '../../src/config/config.ts'
import { LOG } from '../../src/copy/log.ts'
import { REFUSED, SLACK } from '../../src/copy/platforms.ts'
import { CalmLog } from '../../src/util/calm-log.ts'
import { messageOf } from '../../src/util/errors.ts'
import { sleep } from '../../src/util/time.ts'
import { EditPace } from '../canvas/edit-pace.ts'
import { isDirect, msOf, permalinkOf, postTargetOf } from './address.ts'
import { SlackApi } from './api.ts'
import { createApp, type Self } from './app.ts'
import { SlackCanvas } from './canvas.ts'
import { cardBody, filesBefore } from './cards.ts'
import { codeOf, isTokenCode, SlackUnclearError } from './errors.ts'
import { Files } from './files.ts'
import { HttpReceiver } from './http-receiver.ts'
import { type InboundContext, peopleIn, teamOf, toInbound } from './inbound.ts'
import { Interactions } from './interactions.ts'
import { type Json, textIn } from './json.ts'
import { LIMITS } from './limits.ts'
import { markdownBody, plainBody, textParts } from './outbound.ts'
import { People } from './people.ts'
import { metadataOf, Poster } from './posts.ts'
import { RateLimiter } from './rate-limiter.ts'
import { ReadBack } from './read-back.ts'
import { Recipients } from './recipients.ts'
import { SocketReceiver } from './socket-receiver.ts'
import type { Feature } from './status.ts'

export interface SlackAdapterOptions {
  readonly config: SlackConfig
  readonly tokens: { readonly bot: string; readonly app?: string; readonly signingSecret?: string }
  readonly deps: AdapterDeps
}

/** Waits before the bot token is tried again, ms; the last one repeats. */
const AUTH_BACKOFF_MS = [1000, 2000, 5000, 15_000, 30_000]
/** A refused token is tried now and then, ms: it may have been installed anew. */
const REFUSED_AGAIN_MS = 300_000

/** `onRequest` takes what Slack POSTs to /slack/events in http mode; in socket mode it answers 404. */
export function createSlackAdapter(options: SlackAdapterOptions): {
  adapter: ChannelAdapter
  onRequest: (request: Request) => Promise<Response>
} {
  const adapter = new SlackAdapter(options)
  return { adapter, onRequest: adapter.onRequest }
}

class SlackAdapter implements ChannelAdapter {
  readonly platform = 'slack' as const
  readonly displayName = 'Slack'
  readonly ephemeralLines = true
  readonly readBackDelayMs = LIMITS.readBackDelayMs
  readonly #options: SlackAdapterOptions
  readonly #life = new AbortController()
  readonly #pacer: RateLimiter
  readonly #pace: EditPace
  readonly #api: SlackApi
  readonly #poster: Poster
  readonly #files: Files
  readonly #people: People
  readonly #readBack: ReadBack
  readonly #receiver: SocketReceiver | HttpReceiver
  readonly #streaming: Feature = { on: true }
  readonly #statusLine: Feature = { on: true }
  readonly #recipients = new Recipients()
  #inbound: InboundHandler | undefined
  #who: (Self & { readonly url: string }) | undefined
  #refused: string | undefined
  #tried = false

  constructor(options: SlackAdapterOptions) {
    const { config, tokens, deps } = options
    const { clock, log } = deps
    this.#options = options
    this.#pacer = new RateLimiter(clock)
    this.#pace = new EditPace(clock, LIMITS.editEveryMs)
    const shared = { apiUrl: config.api_url, pacer: this.#pacer, clock, log, life: this.#life.signal }
    this.#api = new SlackApi({ ...shared, token: tokens.bot })
    this.#api.onToken = (code) => this.#onToken(code)
    this.#poster = new Poster(this.#api, clock)
    this.#files = new Files({
      api: this.#api,
      poster: this.#poster,
      clock,
      life: this.#life.signal,
      botToken: tokens.bot,
      apiUrl: config.api_url,
    })
    this.#people = new People(this.#api, clock)
    this.#readBack = new ReadBack({
      api: this.#api,
      poster: this.#poster,
      people: this.#people,
      context: () => this.#context(),
      log,
      life: this.#life.signal,
    })
    const appApi = new SlackApi({ ...shared, token: tokens.app ?? '' })
    const open = async (): Promise<string> => {
      const url = textIn(await appApi.call('apps.connections.open', {}), 'url')
      if (!url) throw new SlackUnclearError(SLACK.noSocketAddress)
      return url
    }
    this.#receiver =
      config.mode === 'socket'
        ? new SocketReceiver({ open, clock, log, onUp: () => void this.#readMissed() })
        : new HttpReceiver({ signingSecret: tokens.signingSecret ?? '', clock, log })
    this.#makeApp()
  }

  readonly onRequest = async (request: Request): Promise<Response> =>
    this.#receiver instanceof HttpReceiver ? this.#receiver.handle(request) : new Response('', { status: 404 })

  #makeApp(): void {
    const { config, tokens, deps } = this.#options
    const app = createApp({
      receiver: this.#receiver,
      botToken: tokens.bot,
      apiUrl: config.api_url,
      log: deps.log,
      self: () => this.#who,
      onMessage: (body, event) => this.#event(body, event),
      onTokenLost: (code) => this.#onToken(code),
    })
    new Interactions({
      api: this.#api,
      poster: this.#poster,
      clock: deps.clock,
      log: deps.log,
      command: config.slash_command,
      channels: config.channels,
      apiUrl: config.api_url,
      inbound: () => this.#inbound,
    }).register(app)
  }

  async start(inbound: InboundHandler): Promise<void> {
    this.#inbound = inbound
    await new Promise<void>((resolve) => void this.#connect(resolve))
  }

  async #connect(first: () => void): Promise<void> {
    const { clock, log } = this.#options.deps
    const calm = new CalmLog(log, clock)
    try {
      for (let tries = 0; !this.#who; tries++) {
        try {
          await this.#authTest()
        } catch (error) {
          this.#tried = true
          first()
          calm.warn({ reason: messageOf(error) }, 'could not sign in to Slack yet')
          const wait = isTokenCode(codeOf(error)) ? REFUSED_AGAIN_MS : AUTH_BACKOFF_MS[Math.min(tries, 4)]
          await sleep(clock, wait ?? 30_000, this.#life.signal)
        }
      }
      await this.#receiver.start()
      if (this.#receiver instanceof HttpReceiver) void this.#readMissed()
    } catch (error) {
      if (!this.#life.signal.aborted) log.error({ err: error }, LOG.slackNotStarted)
    } finally {
      this.#tried = true
      first()
    }
  }

  async #authTest(): Promise<void> {
    const answer = await this.#api.call('auth.test', {})
    const at = (key: string): string => textIn(answer, key) ?? ''
    this.#who = { team: at('team_id'), botUser: at('user_id'), botId: at('bot_id'), url: at('url') }
    this.#poster.botId = this.#who.botId
  }

  async stop(): Promise<void> {
    await this.#receiver.stop()
    this.#inbound = undefined
    this.#life.abort(new Error('the gateway is stopping'))
  }

  state(): ReturnType<ChannelAdapter['state']> {
    if (this.#refused) return { state: 'failed', reason: SLACK.botTokenRejected(this.#refused) }
    if (!this.#tried) return { state: 'starting' }
    if (!this.#who) return { state: 'degraded', reason: SLACK.notReached }
    return this.#receiver instanceof SocketReceiver ? this.#receiver.state() : { state: 'ready' }
  }

  #onToken(code: string | undefined): void {
    if (code && this.#refused !== code) this.#options.deps.log.error({ code }, LOG.slackTokenRejected)
    this.#refused = code
  }

  #context(team = this.#who?.team ?? ''): InboundContext {
    const { channels, bots } = this.#options.config
    const { botUser = '', botId = '' } = this.#who ?? {}
    return { team, botUser, botId, channels, bots, name: this.#people.name }
  }

  /** Rejects where the handler does: then the event is not acknowledged. */
  async #event(body: Json, event: Json): Promise<void> {
    const inbound = this.#inbound
    if (!inbound) throw new Error('the gateway is stopping')
    const context = this.#context(teamOf(body) ?? this.#who?.team)
    if (!toInbound(event, context)) return
    await this.#people.learn(peopleIn(event))
    const found = toInbound(event, context)
    if (found?.kind === 'deleted') {
      if (!this.#poster.removedByUs(found.ref)) await inbound.deleted(found.ref)
    } else if (found) {
      this.#recipients.note(found.message.location.to, found.message.author)
      await inbound.message(found.message)
    }
  }

  async #readMissed(): Promise<void> {
    const inbound = this.#inbound
    if (!inbound) return
    await this.#readBack.readMissed(
      () => inbound.missedConversations('slack'),
      async (message) => {
        this.#recipients.note(message.location.to, message.author)
        await this.#inbound?.message(message)
      },
    )
  }

  commandHint(words: string): string {
    return `${this.#options.config.slash_command} ${words}`
  }

  readonly isDirect = isDirect

  channelOf(to: Address): string {
    return postTargetOf(to).channel
  }

  replyAddress(location: InboundMessage['location']): Address {
    return location.to
  }

  async openThread({ channel, message }: { channel: string; message: string }): Promise<{ to: Address }> {
    const direct = { platform: 'slack', id: channel, thread: message }
    return { to: isDirect(channel) ? direct : { platform: 'slack', id: `${channel}:${message}` } }
  }

  canvas(to: Address, turn: string, posts: Parameters<ChannelAdapter['canvas']>[2]): SlackCanvas {
    const { clock, log, locks } = this.#options.deps
    return new SlackCanvas(
      {
        api: this.#api,
        poster: this.#poster,
        adapter: this,
        pacer: this.#pacer,
        pace: this.#pace,
        clock,
        log,
        locks,
        life: this.#life.signal,
        streaming: this.#streaming,
        feature: this.#statusLine,
        team: () => this.#who?.team ?? '',
        recipient: (to) => this.#recipients.of(to),
      },
      to,
      turn,
      posts,
    )
  }

  async send(...[to, outgoing, key, onFileId]: Parameters<ChannelAdapter['send']>): Promise<MessageRef> {
    if (outgoing.kind === 'file') return this.#files.send(to, outgoing, onFileId)
    if (outgoing.kind === 'card')
      return this.#poster.post(to, { body: cardBody(outgoing.card), metadata: metadataOf(key) })
    const parts = textParts(outgoing.text).map((text) => ({ body: markdownBody(text), plain: plainBody(text) }))
    if (parts.length === 0) throw new PostRefusedError(REFUSED.empty)
    return this.#poster.postAll(to, key, parts)
  }

  async postEphemeral(to: Address, { text, onlyTo }: EphemeralLine): Promise<void> {
    for (const part of textParts(text)) await this.#poster.postEphemeral(to, onlyTo, markdownBody(part))
  }

  findPost(to: Address, post: Parameters<ChannelAdapter['findPost']>[1]): Promise<MessageRef | undefined> {
    return post.kind === 'file' ? this.#files.find(to, post) : this.#poster.find(to, post)
  }

  async edit(ref: MessageRef, outgoing: Outgoing): Promise<void> {
    if (outgoing.kind === 'file') return
    const text = outgoing.kind === 'text' ? textParts(outgoing.text)[0] : undefined
    if (outgoing.kind === 'text' && text === undefined) throw new PostRefusedError(REFUSED.empty)
    const body = outgoing.kind === 'card' ? cardBody(outgoing.card) : markdownBody(text ?? '')
    await this.#poster.update(ref, body, { tries: 4 })
  }

  remove(ref: MessageRef): Promise<void> {
    return this.#poster.remove(ref)
  }

  filesBefore(card: CardView): readonly number[] {
    cardBody(card) // throws for a card that Slack would not take, before any file is posted
    return filesBefore(card)
  }

  addReaction(ref: MessageRef): Promise<void> {
    return this.#react('reactions.add', ref)
  }

  removeReaction(ref: MessageRef): Promise<void> {
    return this.#react('reactions.remove', ref)
  }

  async #react(method: string, ref: MessageRef): Promise<void> {
    const args = { channel: ref.channel, timestamp: ref.id, name: 'eyes' }
    await this.#api.call(method, args, { priority: 'sign' }).catch((error: unknown) => {
      const code = codeOf(error)
      if (code !== 'already_reacted' && code !== 'no_reaction')
        this.#options.deps.log.debug({ reason: messageOf(error) }, LOG.reactionNotSet)
    })
  }

  fetchMessages(to: Address, range: { limit: number; before?: string }) {
    return this.#readBack.history(to, range)
  }

  download(...args: Parameters<ChannelAdapter['download']>): Promise<Uint8Array> {
    return this.#files.download(...args)
  }

  async archive(): Promise<void> {}

  postedAt({ id }: MessageRef): number {
    return msOf(id)
  }

  permalink(to: Address, ref?: MessageRef): string {
    return permalinkOf(to, ref, this.#who)
  }
}
