import type { AdapterDeps } from '../../src/channel/adapter-deps.ts'
import type {
  Address,
  Attachment,
  ChannelAdapter,
  EphemeralLine,
  HistoryMessage,
  InboundHandler,
  InboundMessage,
  MessageRef,
  Outgoing,
  PendingPost,
  PostLog,
  TurnCanvas,
} from '../../src/channel/channel-adapter.ts'
import type { DiscordConfig } from '../../src/config/config.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import { newId } from '../../src/util/ids.ts'
import { sleep } from '../../src/util/time.ts'
import { EditPace } from '../canvas/edit-pace.ts'
import { Api, codeOf, createRest } from './api.ts'
import { DiscordCanvas } from './canvas.ts'
import { ChannelDirectory, type ChannelInfo, channelInfoOf } from './channel-directory.ts'
import { syncCommands } from './commands.ts'
import { Connection } from './connection.ts'
import { download } from './files.ts'
import { type InboundContext, isThread, type RawMessage } from './inbound.ts'
import { onInteraction, type RawInteraction } from './interactions.ts'
import { CHANNEL_TYPES, TIMES, timeOf } from './limits.ts'
import { channelOf, editOutgoing, findPost, removePost, sendOutgoing } from './posts.ts'
import { Reader, readHistory } from './read-back.ts'
import { openThread } from './threads.ts'

const EYES = encodeURIComponent('👀')
/** Waits between two tries to register the commands, ms. */
const COMMAND_WAITS_MS = [5000, 30_000, 120_000, 600_000]

export interface DiscordOptions {
  readonly config: DiscordConfig
  readonly token: string
  readonly deps: AdapterDeps
}

/** Discord over its gateway and REST API. Nothing is connected before `start`. */
export function createDiscordAdapter(options: DiscordOptions): ChannelAdapter {
  return new DiscordAdapter(options)
}

class DiscordAdapter implements ChannelAdapter {
  readonly platform = 'discord'
  readonly displayName = 'Discord'
  readonly ephemeralLines = false
  readonly readBackDelayMs = 0
  readonly #config: DiscordConfig
  readonly #deps: AdapterDeps
  readonly #api: Api
  readonly #connection: Connection
  readonly #places = new ChannelDirectory()
  readonly #pace: EditPace
  readonly #stop = new AbortController()
  #inbound: InboundHandler | undefined
  #reader: Reader | undefined
  #self = ''
  #registered = false

  constructor({ config, token, deps }: DiscordOptions) {
    this.#config = config
    this.#deps = deps
    this.#pace = new EditPace(deps.clock, TIMES.edit)
    const rest = createRest(config.api_url, token)
    rest.on('rateLimited', ({ route, retryAfter, global }) => {
      deps.log.debug({ route, retryAfter, global }, LOG.discordWait)
    })
    this.#api = new Api(rest)
    this.#connection = new Connection({
      apiUrl: config.api_url.replace(/\/+$/, ''),
      token,
      clock: deps.clock,
      log: deps.log,
      onEvent: (event, data) => this.#onEvent(event, data),
    })
  }

  async start(inbound: InboundHandler): Promise<void> {
    const { clock, log } = this.#deps
    this.#inbound = inbound
    this.#reader = new Reader({
      api: this.#api,
      clock,
      log,
      inbound: this.#guarded(inbound),
      place: (id) => this.#place(id),
      context: () => this.#context(),
    })
    await this.#connection.start()
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the Discord channel is stopping'))
    this.#inbound = undefined
    await this.#connection.stop()
  }

  state(): ReturnType<ChannelAdapter['state']> {
    return this.#connection.state()
  }

  /** After `stop` no handler is called, whatever is still on its way. */
  #guarded(inbound: InboundHandler): InboundHandler {
    const run = <T>(call: () => Promise<T>): Promise<T> =>
      this.#stop.signal.aborted ? Promise.reject(this.#stop.signal.reason) : call()
    return {
      message: (m) => run(() => inbound.message(m)),
      decision: (d) => run(() => inbound.decision(d)),
      command: (c) => run(() => inbound.command(c)),
      deleted: (ref) => run(() => inbound.deleted(ref)),
      missedConversations: (channel) => run(() => inbound.missedConversations(channel)),
    }
  }

  #context(): InboundContext {
    return { self: this.#self, config: this.#config, names: this.#places }
  }

  #onEvent(event: string, data: Record<string, unknown>): void {
    const inbound = this.#inbound
    if (!inbound) return
    this.#places.applyEvent(event, data)
    switch (event) {
      case 'READY':
        this.#onReady(data as unknown as { user: { id: string }; application: { id: string } })
        break
      case 'MESSAGE_CREATE':
        this.#reader?.enqueue(data as unknown as RawMessage)
        break
      case 'MESSAGE_DELETE':
        this.#onDelete(String(data.channel_id), [String(data.id)])
        break
      case 'MESSAGE_DELETE_BULK':
        this.#onDelete(String(data.channel_id), (data.ids as string[] | undefined) ?? [])
        break
      case 'INTERACTION_CREATE':
        void onInteraction(
          {
            api: this.#api,
            config: this.#config,
            clock: this.#deps.clock,
            log: this.#deps.log,
            inbound: this.#guarded(inbound),
            place: (id) => this.#places.get(id),
          },
          data as unknown as RawInteraction,
        )
        break
    }
  }

  #onReady({ user, application }: { user: { id: string }; application: { id: string } }): void {
    this.#self = user.id
    this.#reader?.readMissed()
    if (!this.#registered) void this.#register(application.id)
  }

  async #register(application: string): Promise<void> {
    this.#registered = true
    const { clock, log, commands } = this.#deps
    for (const wait of COMMAND_WAITS_MS) {
      try {
        if (await syncCommands(this.#api, application, commands, log)) log.info(LOG.commandsRegistered)
        return
      } catch (error) {
        if (this.#stop.signal.aborted) return
        log.warn({ reason: messageOf(error) }, LOG.commandsNotRegistered)
        if (codeOf(error) !== undefined) return
        await sleep(clock, wait, this.#stop.signal).catch(() => undefined)
      }
    }
  }

  #onDelete(channel: string, ids: readonly string[]): void {
    for (const id of ids) {
      this.#inbound?.deleted({ platform: 'discord', channel, id }).catch((error: unknown) => {
        this.#deps.log.warn({ reason: messageOf(error), message: id }, LOG.deletionNotHandled)
      })
    }
  }

  async #place(id: string): Promise<ChannelInfo> {
    const known = this.#places.get(id)
    if (known) return known
    const place = channelInfoOf((await this.#api.get(`/channels/${id}`)) as Record<string, unknown>)
    this.#places.keep(place)
    return place
  }

  async #ownId(): Promise<string> {
    if (this.#self === '') this.#self = ((await this.#api.get('/users/@me')) as { id: string }).id
    return this.#self
  }

  commandHint(words: string): string {
    return `/${words}`
  }

  isDirect(channel: string): boolean {
    return this.#places.get(channel)?.type === CHANNEL_TYPES.dm
  }

  channelOf(to: Address): string {
    return channelOf(to)
  }

  replyAddress(location: InboundMessage['location']): Address {
    return location.kind === 'channel' ? { platform: 'discord', id: location.channel } : location.to
  }

  openThread(from: { channel: string; message: string }, title: string): Promise<{ to: Address; notice?: string }> {
    return openThread(this.#api, this.#places, { ...from, title, archiveMinutes: this.#config.archive_minutes })
  }

  canvas(to: Address, turn: string, posts: PostLog): TurnCanvas {
    const { clock, log, locks } = this.#deps
    const post = { adapter: this, locks, clock }
    const deps = { api: this.#api, post, clock, log, pace: this.#pace, life: this.#stop.signal }
    return new DiscordCanvas(deps, to, turn, posts)
  }

  send(to: Address, outgoing: Outgoing, key: string): Promise<MessageRef> {
    return sendOutgoing(this.#api, to, outgoing, key)
  }

  /** Discord has no private lines outside interactions: it is a reply that all can read. */
  async postEphemeral(to: Address, { text, replyTo }: EphemeralLine): Promise<void> {
    const key = `line:${to.id}:${newId()}`
    await sendOutgoing(this.#api, to, { kind: 'text', text, ...(replyTo === undefined ? {} : { replyTo }) }, key)
  }

  async findPost(to: Address, post: PendingPost): Promise<MessageRef | undefined> {
    return findPost(this.#api, await this.#ownId(), to, post)
  }

  edit(ref: MessageRef, outgoing: Outgoing): Promise<void> {
    return editOutgoing(this.#api, ref, outgoing)
  }

  remove(ref: MessageRef): Promise<void> {
    return removePost(this.#api, ref)
  }

  filesBefore(): readonly number[] {
    return []
  }

  addReaction(ref: MessageRef): Promise<void> {
    return this.#react(ref, async (path) => void (await this.#api.put(path)))
  }

  removeReaction(ref: MessageRef): Promise<void> {
    return this.#react(ref, (path) => this.#api.delete(path))
  }

  async #react(ref: MessageRef, change: (path: string) => Promise<void>): Promise<void> {
    try {
      await change(`/channels/${ref.channel}/messages/${ref.id}/reactions/${EYES}/@me`)
    } catch (error) {
      this.#deps.log.debug({ reason: messageOf(error), message: ref.id }, LOG.reactionNotSet)
    }
  }

  async fetchMessages(to: Address, range: { limit: number; before?: string }): Promise<readonly HistoryMessage[]> {
    await this.#ownId()
    return readHistory(this.#api, to, range, this.#context())
  }

  download(file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    return download(file, { apiUrl: this.#config.api_url, maxBytes, signal })
  }

  async archive(to: Address): Promise<void> {
    if (to.replyIn !== undefined) return
    try {
      const place = await this.#place(to.id)
      if (isThread(place.type)) await this.#api.patch(`/channels/${to.id}`, { archived: true })
    } catch (error) {
      // A thread of people's making needs a permission that we do not ask for.
      if (codeOf(error) === undefined) throw error
      this.#deps.log.info({ reason: messageOf(error), thread: to.id }, LOG.threadNotArchived)
    }
  }

  postedAt({ id }: MessageRef): number {
    return timeOf(id)
  }

  permalink(to: Address, ref?: MessageRef): string {
    const channel = ref?.channel ?? channelOf(to)
    const guild = this.#places.get(channel)?.guild ?? '@me'
    const message = ref?.id ?? (to.replyIn === undefined ? undefined : to.id)
    return `https://discord.com/channels/${guild}/${channel}${message === undefined ? '' : `/${message}`}`
  }
}
