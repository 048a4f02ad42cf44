import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { App, Receiver } from '@slack/bolt'
import type { ChannelState } from '../../src/channel/channel-adapter.ts'
import { LOG } from '../../src/copy/log.ts'
import { SLACK } from '../../src/copy/platforms.ts'
import { CalmLog } from '../../src/util/calm-log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { SocketConnection } from './connection.ts'
import { codeOf, isTokenCode, SlackRefusedError, SlackUnclearError } from './errors.ts'
import { isJson, type Json, objectIn, textIn } from './json.ts'

/** Waits before a further attempt to connect, ms; the last one repeats. */
const BACKOFF_MS = [500, 1000, 2000, 5000, 10_000, 30_000]
/** A connection that was up for so long has not failed, ms. */
const STEADY_MS = 60_000
/** After a refusal that only the operator can cure, ms: Slack is asked again now and then. */
const REFUSED_AGAIN_MS = 300_000
/** A socket that Slack replaces is kept for what it still delivers, ms. Slack closes it after about 10 s. */
const RETIRE_MS = 15_000
/** Handlers still running at stop are waited for so long, ms. */
const DRAIN_MS = 3000

export interface SocketDeps {
  /** apps.connections.open: the address of one connection. */
  readonly open: () => Promise<string>
  readonly clock: Clock
  readonly log: Log
  /** A connection is up and none was before: something may have been missed. */
  readonly onUp: () => void
}

/**
 * Socket Mode as Bolt's receiver. Keeps one connection, opens the next before the old one ends, and tries for ever. An
 * event is acknowledged only when its listeners are done; one that failed is not, so that Slack repeats it.
 */
export class SocketReceiver implements Receiver {
  readonly #deps: SocketDeps
  readonly #log: CalmLog
  readonly #life = new AbortController()
  readonly #sockets = new Set<SocketConnection>()
  readonly #running = new Set<Promise<void>>()
  #app: App | undefined
  #connecting = false
  #upSince = 0
  /** Connections in a row that ended soon. */
  #short = 0
  #state: { state: ChannelState; reason?: string } = { state: 'starting' }

  constructor(deps: SocketDeps) {
    this.#deps = deps
    this.#log = new CalmLog(deps.log, deps.clock)
  }

  init(app: App): void {
    this.#app = app
  }

  state(): { state: ChannelState; reason?: string } {
    return this.#isUp() ? { state: 'ready' } : this.#state
  }

  /** Resolves when the first attempt is done. */
  async start(): Promise<void> {
    subscribe('undici:websocket:ping', this.#onFrame)
    subscribe('undici:websocket:pong', this.#onFrame)
    await new Promise<void>((resolve) => void this.#connect(resolve))
  }

  async stop(): Promise<void> {
    this.#life.abort(new Error('stopped'))
    unsubscribe('undici:websocket:ping', this.#onFrame)
    unsubscribe('undici:websocket:pong', this.#onFrame)
    const waited = new Promise<void>((done) => void this.#deps.clock.after(DRAIN_MS, done))
    await Promise.race([Promise.allSettled(this.#running), waited])
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  readonly #onFrame = (message: unknown): void => {
    const of = isJson(message) ? message.websocket : undefined
    for (const socket of this.#sockets) if (socket.is(of)) socket.alive()
  }

  #isUp(): boolean {
    return [...this.#sockets].some((s) => s.ready)
  }

  /** Before the next attempt, ms: connections that end again soon after they were up are failed attempts too. */
  #waitAfterLoss(): number {
    this.#short = this.#deps.clock.now() - this.#upSince < STEADY_MS ? this.#short + 1 : 0
    return this.#short <= 1 ? 0 : backoff(this.#short - 2)
  }

  /** One attempt after another until a connection is up; at most one such loop. */
  async #connect(first: () => void = () => {}, waitMs = 0): Promise<void> {
    if (this.#connecting) return
    this.#connecting = true
    try {
      if (waitMs > 0) await sleep(this.#deps.clock, waitMs, this.#life.signal)
      for (let tries = 0; !this.#life.signal.aborted; tries++) {
        const wait = await this.#attempt(tries)
        first()
        if (wait === undefined) return
        await sleep(this.#deps.clock, wait, this.#life.signal)
      }
    } catch {
      // stopped
    } finally {
      this.#connecting = false
      first()
    }
  }

  /** Undefined where a connection is up, else how long to wait. */
  async #attempt(tries: number): Promise<number | undefined> {
    const { clock, log } = this.#deps
    const socket = new SocketConnection(clock, {
      frame: (frame) => this.#frame(socket, frame),
      closed: () => this.#closed(socket),
    })
    try {
      const url = await this.#deps.open()
      const before = this.#isUp()
      this.#sockets.add(socket)
      await socket.connect(url)
      this.#state = { state: 'degraded', reason: SLACK.noConnection }
      this.#upSince = clock.now()
      log.info(LOG.slackConnected)
      if (!before) this.#deps.onUp()
      return undefined
    } catch (error) {
      this.#sockets.delete(socket)
      socket.destroy()
      const code = codeOf(error)
      if (error instanceof SlackRefusedError || isTokenCode(code)) {
        this.#fail(SLACK.appTokenRejected(code ?? messageOf(error)))
        return REFUSED_AGAIN_MS
      }
      if (this.#state.state !== 'failed') this.#state = { state: 'degraded', reason: SLACK.noConnection }
      this.#log.warn({ reason: messageOf(error) }, LOG.slackNotConnected)
      const asked = error instanceof SlackUnclearError ? error.retryAfterMs : undefined
      return asked ?? backoff(tries)
    }
  }

  #fail(reason: string): void {
    if (this.#state.reason !== reason) this.#deps.log.error({ reason }, LOG.slackStaysOff)
    this.#state = { state: 'failed', reason }
  }

  #closed(socket: SocketConnection): void {
    this.#sockets.delete(socket)
    if (this.#life.signal.aborted || this.#isUp() || this.#state.state === 'failed') return
    this.#log.warn({}, LOG.slackEnded)
    void this.#connect(undefined, this.#waitAfterLoss())
  }

  #frame(socket: SocketConnection, frame: Json): void {
    if (frame.type === 'disconnect') {
      this.#disconnect(socket, textIn(frame, 'reason') ?? '')
      return
    }
    const envelope = textIn(frame, 'envelope_id')
    if (!envelope || this.#life.signal.aborted) return
    const work = this.#envelope(socket, envelope, frame)
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  #disconnect(socket: SocketConnection, reason: string): void {
    const { clock, log } = this.#deps
    log.info({ reason }, LOG.slackClosing)
    if (reason === 'link_disabled') {
      this.#fail(SLACK.socketModeOff)
      for (const one of this.#sockets) one.destroy()
      this.#sockets.clear()
      clock.after(REFUSED_AGAIN_MS, () => void this.#connect())
      return
    }
    if (reason === 'too_many_websockets') {
      socket.destroy()
      this.#sockets.delete(socket)
      this.#state = { state: 'degraded', reason: SLACK.tooManyConnections }
      clock.after(30_000, () => void this.#connect())
      return
    }
    clock.after(RETIRE_MS, () => socket.destroy())
    void this.#connect()
  }

  async #envelope(socket: SocketConnection, envelope: string, frame: Json): Promise<void> {
    const { log } = this.#deps
    const app = this.#app
    const body = objectIn(frame, 'payload')
    let acked = false
    const ack = async (answer?: unknown): Promise<void> => {
      if (acked) return
      acked = true
      const payload = typeof answer === 'string' ? { text: answer } : answer
      socket.send({ envelope_id: envelope, ...(isJson(payload) ? { payload } : {}) })
    }
    const isEvent = frame.type === 'events_api'
    try {
      if (isEvent && !isJson(body.event)) log.warn({ type: body.type }, LOG.slackHoldsBack)
      else
        await app?.processEvent({
          body,
          ack: isEvent ? async () => {} : ack,
          retryNum: Number(frame.retry_attempt) || 0,
          retryReason: textIn(frame, 'retry_reason') ?? '',
        })
      await ack()
    } catch (error) {
      log.warn({ reason: messageOf(error), type: frame.type }, LOG.slackEnvelopeFailed)
      if (!isEvent) await ack()
    }
  }
}

function backoff(tries: number): number {
  return BACKOFF_MS[Math.min(tries, BACKOFF_MS.length - 1)] ?? 30_000
}
