import {
  Client,
  Events,
  Options,
  Partials,
  SimpleShardingStrategy,
  type WebSocketOptions,
  WebSocketShardStatus,
} from 'discord.js'
import type { ChannelState } from '../../src/channel/channel-adapter.ts'
import { LOG } from '../../src/copy/log.ts'
import { DISCORD, DISCORD_CLOSED } from '../../src/copy/platforms.ts'
import { CalmLog } from '../../src/util/calm-log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { intentBits } from './needs.ts'

/** Waits before a connection, after none, one, two … that failed, ms; the last one repeats. */
const WAITS_MS = [0, 1000, 2000, 5000, 10_000, 30_000, 60_000]
/** A connection that was up for so long has not failed, ms. */
const STEADY_MS = 60_000
/** `start` waits no longer than this for the first connection; it goes on by itself. */
const FIRST_ATTEMPT_MS = 20_000

export interface ConnectionOptions {
  readonly apiUrl: string
  readonly token: string
  readonly clock: Clock
  readonly log: Log
  /** Must not throw. */
  onEvent(event: string, data: Record<string, unknown>): void
}

/** One client of the library, as long as it is the one in use. */
interface Attempt {
  given: boolean
}

/** The library's manager of gateway connections. Its event names are typed by an enum that discord.js hides. */
type Manager = Parameters<NonNullable<WebSocketOptions['buildStrategy']>>[0]
interface ShardEvents {
  on(event: 'error', run: (e: { error: unknown }) => void): void
  on(event: 'hello', run: () => void): void
  on(event: 'closed', run: (e: { code: number; shardId: number }) => void): void
  on(event: 'ready' | 'resumed', run: (e: { shardId: number }) => void): void
  on(event: 'dispatch', run: (e: { data: { t: string; d: unknown } }) => void): void
}

/** The gateway connection: beginning, keeping, and saying how it is. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #stop = new AbortController()
  readonly #first = Promise.withResolvers<void>()
  #client: Client | undefined
  #state: ChannelState = 'off'
  #reason: string | undefined
  #wasReady = false
  readonly #down = new Set<number>()
  readonly #log: CalmLog
  /** Connections in a row that failed, the one under way among them. */
  #failures = 0
  #upSince = Number.POSITIVE_INFINITY

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#log = new CalmLog(options.log, options.clock)
  }

  state(): { readonly state: ChannelState; readonly reason?: string } {
    return this.#reason === undefined ? { state: this.#state } : { state: this.#state, reason: this.#reason }
  }

  /** Resolves with the first connection, the first failure, or after 20 s. */
  async start(): Promise<void> {
    this.#set('starting')
    const cancel = this.#options.clock.after(FIRST_ATTEMPT_MS, () => this.#first.resolve())
    void this.#begin()
    await this.#first.promise
    cancel()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#first.resolve()
    this.#set('off')
    await this.#client?.destroy().catch(() => undefined)
  }

  #set(state: ChannelState, reason?: string): void {
    this.#state = state
    this.#reason = reason
  }

  #fail(reason: string): void {
    this.#options.log.error({ reason }, LOG.discordDisconnected)
    this.#set('failed', reason)
    this.#first.resolve()
  }

  /** Tries until a connection stood once or is refused for good; from then on the library keeps it. */
  async #begin(): Promise<void> {
    const { token } = this.#options
    while (!this.#stop.signal.aborted) {
      await this.#waitForTurn()
      if (this.#stop.signal.aborted) return
      const attempt: Attempt = { given: false }
      const client = this.#makeClient(attempt)
      this.#client = client
      try {
        await client.login(token)
        return
      } catch (error) {
        attempt.given = true
        await client.destroy().catch(() => undefined)
        if (this.#stop.signal.aborted || this.#state === 'failed') return
        if (/TokenInvalid/.test(String((error as { code?: unknown }).code))) return this.#fail(DISCORD.wrongToken)
        this.#log.warn({ reason: messageOf(error) }, DISCORD.notReached)
        this.#set(this.#state, messageOf(error))
        this.#first.resolve()
      }
    }
  }

  /** Until the next connection may be made, which is counted as failed until it was up for a while; or until the end. */
  async #waitForTurn(): Promise<void> {
    const wait = WAITS_MS[Math.min(this.#failures++, WAITS_MS.length - 1)] ?? 60_000
    if (wait > 0) await sleep(this.#options.clock, wait, this.#stop.signal).catch(() => undefined)
  }

  #makeClient(attempt: Attempt): Client {
    const { apiUrl } = this.#options
    const none = { maxSize: 0 }
    const client = new Client({
      intents: intentBits(),
      partials: [Partials.Channel, Partials.Message],
      // Events are read as they come: a message that is sent again must reach us again.
      makeCache: Options.cacheWithLimits({
        MessageManager: 0,
        ReactionManager: 0,
        PresenceManager: 0,
        VoiceStateManager: 0,
        ThreadMemberManager: 0,
        GuildEmojiManager: 0,
        GuildStickerManager: 0,
        GuildMemberManager: { ...none, keepOverLimit: (member) => member.id === member.client.user.id },
        UserManager: { ...none, keepOverLimit: (user) => user.id === user.client.user.id },
      }),
      rest: { api: apiUrl, retries: 0 },
      ws: {
        buildStrategy: (manager) => {
          this.#listen(manager, attempt)
          this.#pace(manager, attempt)
          return new SimpleShardingStrategy(manager)
        },
      },
    })
    const report = (error: unknown): void => this.#log.warn({ reason: messageOf(error) }, LOG.discordLibrary)
    client.on(Events.Error, report)
    client.on(Events.ShardError, report)
    client.on(Events.Warn, report)
    return client
  }

  /**
   * The library connects again every half second, and goes on for clients that it has given up. It asks for the session
   * of a shard that is idle right before it connects: there it is made to wait, and for ever where it is given up.
   */
  #pace(manager: Manager, attempt: Attempt): void {
    const { retrieveSessionInfo } = manager.options
    let first = true
    manager.options.retrieveSessionInfo = async (shard) => {
      // A manager that was destroyed does not know its shards any more.
      const status = (await manager.fetchStatus()).get(shard)
      if (status !== undefined && status !== WebSocketShardStatus.Idle) return retrieveSessionInfo(shard)
      const over = (): boolean => attempt.given || this.#stop.signal.aborted
      if (!first && !over()) await this.#waitForTurn()
      first = false
      if (over()) await new Promise<never>(() => undefined)
      return retrieveSessionInfo(shard)
    }
  }

  #listen(manager: Manager, attempt: Attempt): void {
    const events = manager as unknown as ShardEvents
    const over = (): boolean => attempt.given || this.#stop.signal.aborted
    events.on('error', ({ error }) => {
      this.#log.warn({ reason: messageOf(error) }, LOG.discordError)
    })
    events.on('hello', () => {
      if (over()) void Promise.resolve(manager.destroy()).catch(() => undefined)
    })
    events.on('closed', ({ code, shardId }) => {
      if (!over()) this.#closed(code, shardId)
    })
    for (const event of ['ready', 'resumed'] as const)
      events.on(event, ({ shardId }) => {
        if (!over()) this.#up(shardId)
      })
    events.on('dispatch', ({ data }) => {
      if (!over()) this.#options.onEvent(data.t, data.d as Record<string, unknown>)
    })
  }

  #up(shard: number): void {
    this.#down.delete(shard)
    if (this.#down.size > 0) return
    this.#wasReady = true
    this.#upSince = this.#options.clock.now()
    this.#set('ready')
    this.#first.resolve()
  }

  #closed(code: number, shard: number): void {
    // After these codes trying again is useless (docs: Gateway Close Event Codes).
    const fatal = DISCORD_CLOSED[code]
    if (fatal !== undefined) {
      this.#fail(fatal)
      return
    }
    this.#down.add(shard)
    if (this.#options.clock.now() - this.#upSince >= STEADY_MS) this.#failures = 0
    this.#upSince = Number.POSITIVE_INFINITY
    if (this.#state === 'failed') return
    this.#set(this.#wasReady ? 'degraded' : 'starting', DISCORD.connectionClosed(code))
    this.#first.resolve()
  }
}
