import { Client, Events, Options, Partials, SimpleShardingStrategy, type WebSocketOptions } from 'discord.js'
import type { ChannelState } from '../../src/channel/channel-adapter.ts'
import { DISCORD, DISCORD_CLOSED } from '../../src/copy/platforms.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { intentBits } from './needs.ts'

/** Waits between two tries to begin, ms; the last one repeats. Later losses are the library's to mend. */
const WAITS_MS = [1000, 2000, 5000, 10_000, 30_000, 60_000]
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

  constructor(options: ConnectionOptions) {
    this.#options = options
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
    this.#options.log.error({ reason }, 'Discord is not connected')
    this.#set('failed', reason)
    this.#first.resolve()
  }

  /** Tries until a connection stood once or is refused for good; from then on the library keeps it. */
  async #begin(): Promise<void> {
    const { token, clock, log } = this.#options
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      const attempt = { given: false }
      const client = this.#makeClient(attempt)
      this.#client = client
      try {
        await client.login(token)
        return
      } catch (error) {
        // The library may go on connecting for a client that it has given up: the attempt is then ended at its hello.
        attempt.given = true
        if (this.#stop.signal.aborted || this.#state === 'failed') return
        if (/TokenInvalid/.test(String((error as { code?: unknown }).code))) return this.#fail(DISCORD.wrongToken)
        log.warn({ reason: messageOf(error) }, DISCORD.notReached)
        this.#set(this.#state, messageOf(error))
        this.#first.resolve()
        await sleep(clock, WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 60_000, this.#stop.signal).catch(
          () => undefined,
        )
      }
    }
  }

  #makeClient(attempt: { given: boolean }): Client {
    const { apiUrl, log } = this.#options
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
          return new SimpleShardingStrategy(manager)
        },
      },
    })
    const report = (error: unknown): void =>
      log.warn({ reason: messageOf(error) }, 'the Discord library reports a problem')
    client.on(Events.Error, report)
    client.on(Events.ShardError, report)
    client.on(Events.Warn, report)
    return client
  }

  #listen(manager: Manager, attempt: { given: boolean }): void {
    const events = manager as unknown as ShardEvents
    const over = (): boolean => attempt.given || this.#stop.signal.aborted
    events.on('error', ({ error }) => {
      this.#options.log.warn({ reason: messageOf(error) }, 'Discord connection error')
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
    if (this.#state === 'failed') return
    this.#set(this.#wasReady ? 'degraded' : 'starting', DISCORD.connectionClosed(code))
    this.#first.resolve()
  }
}
