import { Agent, ping, WebSocket } from 'undici'
import { SLACK } from '../../src/copy/platforms.ts'
import type { Clock } from '../../src/util/time.ts'
import { isJson, type Json } from './json.ts'

/** A connection that is not up by then is given up, ms. */
const HELLO_WITHIN_MS = 15_000
/**
 * A ping of ours so often, ms; after so many in a row without any frame the connection is dead, whatever TCP says.
 * Pings are counted, not time: after a machine's sleep or a corrected clock a healthy connection is asked first.
 */
const PING_EVERY_MS = 10_000
const MAX_UNANSWERED_PINGS = 3

export interface SocketEvents {
  frame(frame: Json): void
  /** It was up and is no more; once. */
  closed(): void
}

/** One WebSocket to Slack: up from `hello` on, watched by pings. */
export class SocketConnection {
  readonly #clock: Clock
  readonly #events: SocketEvents
  readonly #agent = new Agent()
  #ws: WebSocket | undefined
  #unanswered = 0
  #up = false
  #ended = false
  #cancel: () => void = () => {}
  #onEnd: () => void = () => {}

  constructor(clock: Clock, events: SocketEvents) {
    this.#clock = clock
    this.#events = events
  }

  get ready(): boolean {
    return this.#up && !this.#ended
  }

  is(ws: unknown): boolean {
    return ws !== undefined && ws === this.#ws
  }

  /** Something was heard. */
  alive(): void {
    this.#unanswered = 0
  }

  /** Resolves at `hello`; rejects where the connection fails or says nothing. */
  connect(url: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const ws = new WebSocket(url, { dispatcher: this.#agent })
      this.#ws = ws
      this.alive()
      const giveUp = (why: string): void => {
        cancel()
        reject(new Error(why))
        this.#end()
      }
      const cancel = this.#clock.after(HELLO_WITHIN_MS, () => giveUp(SLACK.noHello))
      this.#onEnd = () => reject(new Error('the connection was ended'))
      ws.addEventListener('error', () => giveUp('the connection failed'))
      ws.addEventListener('close', () => giveUp('the connection was closed'))
      ws.addEventListener('message', ({ data }) => {
        this.alive()
        const frame = parse(data)
        if (!frame || this.#ended) return
        if (frame.type === 'hello') {
          cancel()
          this.#up = true
          this.#watch()
          resolve()
        } else this.#events.frame(frame)
      })
    })
  }

  /** What cannot be sent is lost: Slack repeats what has no acknowledgement. */
  send(frame: Json): void {
    if (this.#ws?.readyState === WebSocket.OPEN) this.#ws.send(JSON.stringify(frame))
  }

  destroy(): void {
    this.#end()
  }

  #watch(): void {
    this.#cancel = this.#clock.after(PING_EVERY_MS, () => {
      if (this.#ended) return
      if (this.#unanswered >= MAX_UNANSWERED_PINGS) return this.#end()
      this.#unanswered++
      if (this.#ws?.readyState === WebSocket.OPEN) ping(this.#ws)
      this.#watch()
    })
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#cancel()
    this.#onEnd()
    const up = this.#up
    if (this.#ws && this.#ws.readyState < WebSocket.CLOSING) this.#ws.close()
    void this.#agent.destroy().catch(() => {})
    if (up) this.#events.closed()
  }
}

function parse(data: unknown): Json | undefined {
  try {
    const value: unknown = JSON.parse(String(data))
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}
