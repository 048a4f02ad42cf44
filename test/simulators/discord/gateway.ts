import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { asNumber, asObject, asString, isObject, type Json } from './json.ts'
import { INTENT, limit } from './rules.ts'
import type { World } from './world.ts'

export interface Session {
  readonly id: string
  readonly intents: number
  readonly identifiedAt: number
  seq: number
  resumes: number
  connected: boolean
  /** Set once it can no longer be resumed. */
  dead: boolean
}

interface Held extends Session {
  buffer: { s: number; t: string; d: Json }[]
  socket: WebSocket | undefined
  lostAt: number
}

interface Connection {
  held: Held | undefined
  /** Times of what the client sent in the last minute. */
  sends: number[]
}

/** Discord docs: Gateway Close Event Codes. */
const CLOSE = {
  opcode: [4001, 'Unknown opcode'],
  decode: [4002, 'Decode error'],
  notAuthenticated: [4003, 'Not authenticated'],
  authenticated: [4005, 'Already authenticated'],
  rateLimited: [4008, 'Rate limited'],
} satisfies Record<string, [number, string]>

export interface GatewayOptions {
  token: () => string
  /** Intents of the three privileged ones that are switched on. */
  privileged: () => number
  applicationFlags: () => number
  heartbeatMs: number
  resumeWindowMs: number
  url: () => string
}

export type Phase = 'connect' | 'identify' | 'resume'

const PRIVILEGED = INTENT.guildMembers | INTENT.guildPresences | INTENT.messageContent
const LAST_INTENT_BIT = 25

/** Discord docs: Gateway (opcodes, close codes, resuming). JSON encoding, no compression. */
export class Gateway {
  /** Every session there has been, newest last. */
  readonly sessions: Session[] = []
  identifies = 0
  resumes = 0
  heartbeats = 0
  /** New connections are refused during the upgrade. */
  refuseConnections = false
  /** The upgrade is answered with this HTTP status instead. */
  upgradeStatus: number | undefined
  /** Upgrades that were asked for. */
  upgrades = 0
  readonly #held = new Map<string, Held>()
  readonly #wss = new WebSocketServer({ noServer: true })
  readonly #world: World
  readonly #options: GatewayOptions
  readonly #stalled = new WeakSet<WebSocket>()
  #phaseFaults: { phase: Phase; times: number; act: (ws: WebSocket) => void }[] = []

  constructor(world: World, options: GatewayOptions) {
    this.#world = world
    this.#options = options
  }

  attach(server: Server): void {
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.upgrades++
      if (this.refuseConnections) return socket.destroy()
      if (this.upgradeStatus !== undefined)
        return socket.end(`HTTP/1.1 ${this.upgradeStatus} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      this.#wss.handleUpgrade(req, socket, head, (ws) => {
        this.#welcome(ws, new URL(req.url ?? '/', 'http://x'))
      })
    })
  }

  get open(): number {
    return this.#wss.clients.size
  }

  /** Closes every connection with this code, as Discord would. */
  close(code: number, reason = ''): void {
    for (const ws of this.#wss.clients) ws.close(code, reason)
  }

  /** Cuts every connection without a close frame. */
  terminate(): void {
    for (const ws of this.#wss.clients) ws.terminate()
  }

  /** The connections of now stay open, but nothing is answered or sent any more; events are kept for a resume. */
  stall(): void {
    for (const ws of this.#wss.clients) this.#stalled.add(ws)
  }

  /** Op 7: asks every client to reconnect and resume. */
  reconnect(): void {
    for (const ws of this.#wss.clients) this.#send(ws, { op: 7, d: null })
  }

  /** Op 9 to every client; with false its session is gone. */
  invalidate(resumable: boolean): void {
    for (const h of this.#held.values()) {
      if (!h.socket) continue
      this.#send(h.socket, { op: 9, d: resumable })
      if (!resumable) this.#kill(h)
    }
  }

  /** Sessions can no longer be resumed; whoever tries gets op 9 with false. */
  forgetSessions(): void {
    for (const h of this.#held.values()) this.#kill(h)
  }

  /** At the next `times` arrivals of that phase closes with the code instead of going on. */
  closeAt(phase: Phase, code: number, times = 1): void {
    this.#phaseFaults.push({ phase, times, act: (ws) => ws.close(code) })
  }

  /** Answers the next `times` IDENTIFYs or RESUMEs with op 9. */
  invalidateAt(phase: 'identify' | 'resume', resumable: boolean, times = 1): void {
    this.#phaseFaults.push({ phase, times, act: (ws) => this.#send(ws, { op: 9, d: resumable }) })
  }

  /**
   * Sends an event to every session with one of `intents` (0: to all). Sessions without a connection keep it for
   * their resume. `build` gives each session its own form.
   */
  dispatch(t: string, intents: number, build: (session: Session) => Json): void {
    for (const h of this.#held.values()) {
      if (h.dead || (intents !== 0 && (h.intents & intents) === 0)) continue
      this.#push(h, t, build(h))
    }
  }

  async stop(): Promise<void> {
    this.terminate()
    await new Promise<void>((done) => this.#wss.close(() => done()))
  }

  #push(h: Held, t: string, d: Json): void {
    const event = { s: ++h.seq, t, d: JSON.parse(JSON.stringify(d)) as Json }
    h.buffer.push(event)
    if (h.socket) this.#send(h.socket, { op: 0, ...event })
  }

  #send(ws: WebSocket, payload: Json): void {
    if (!this.#stalled.has(ws) && ws.readyState === ws.OPEN) ws.send(JSON.stringify({ s: null, t: null, ...payload }))
  }

  #faultAt(phase: Phase, ws: WebSocket): boolean {
    const fault = this.#phaseFaults.find((f) => f.phase === phase && f.times > 0)
    if (!fault) return false
    fault.times--
    fault.act(ws)
    return true
  }

  #welcome(ws: WebSocket, url: URL): void {
    const state: Connection = { held: undefined, sends: [] }
    ws.on('error', () => {})
    ws.on('close', (code) => {
      if (state.held) this.#lost(state.held, ws, code)
    })
    ws.on('message', (data) => this.#receive(ws, state, String(data)))
    if (url.searchParams.get('v') !== '10') ws.close(4012, 'Invalid API version')
    else if (!this.#faultAt('connect', ws))
      this.#send(ws, { op: 10, d: { heartbeat_interval: this.#options.heartbeatMs, _trace: [] } })
  }

  #lost(h: Held, ws: WebSocket, code: number): void {
    if (h.socket !== ws) return
    h.socket = undefined
    h.connected = false
    h.lostAt = this.#world.clock.now()
    // Gateway docs, Resuming: a client that closes with 1000 or 1001 ends its session.
    if (code === 1000 || code === 1001) this.#kill(h)
  }

  #kill(h: Held): void {
    h.dead = true
    this.#held.delete(h.id)
  }

  #receive(ws: WebSocket, state: Connection, text: string): void {
    if (this.#stalled.has(ws)) return
    const now = Date.now()
    state.sends = [...state.sends.filter((t) => t > now - 60_000), now]
    const fault = state.sends.length > limit('gatewaySends') ? CLOSE.rateLimited : this.#handle(ws, state, text)
    if (fault) ws.close(...fault)
  }

  /** Gives the close code where the payload is against the protocol. */
  #handle(ws: WebSocket, state: Connection, text: string): [number, string] | undefined {
    let payload: unknown
    try {
      payload = JSON.parse(text)
    } catch {
      return CLOSE.decode
    }
    if (!isObject(payload)) return CLOSE.decode
    switch (payload.op) {
      case 1:
        this.heartbeats++
        this.#send(ws, { op: 11 })
        return undefined
      case 2:
      case 6:
        if (state.held) return CLOSE.authenticated
        state.held = payload.op === 2 ? this.#identify(ws, asObject(payload.d)) : this.#resume(ws, asObject(payload.d))
        return undefined
      case 3:
      case 4:
      case 8:
        return state.held ? undefined : CLOSE.notAuthenticated
      default:
        return CLOSE.opcode
    }
  }

  #identify(ws: WebSocket, d: Json): Held | undefined {
    this.identifies++
    if (this.#faultAt('identify', ws)) return undefined
    if (asString(d.token).replace(/^Bot /, '') !== this.#options.token()) {
      ws.close(4004, 'Authentication failed')
      return undefined
    }
    const intents = asNumber(d.intents)
    if (!Number.isInteger(d.intents) || intents < 0 || intents >= 2 ** (LAST_INTENT_BIT + 1)) {
      ws.close(4013, 'Invalid intent(s)')
      return undefined
    }
    if (intents & PRIVILEGED & ~this.#options.privileged()) {
      ws.close(4014, 'Disallowed intent(s)')
      return undefined
    }
    const h: Held = {
      id: Buffer.from(this.#world.id()).toString('hex').padStart(32, '0'),
      intents,
      identifiedAt: this.#world.clock.now(),
      seq: 0,
      resumes: 0,
      connected: true,
      dead: false,
      buffer: [],
      socket: ws,
      lostAt: 0,
    }
    this.#held.set(h.id, h)
    this.sessions.push(h)
    this.#ready(h, d.shard)
    return h
  }

  #ready(h: Held, shard: unknown): void {
    const guilds = [...this.#world.guilds.values()]
    this.#push(h, 'READY', {
      v: 10,
      user: { ...this.#world.userJson(this.#world.bot), verified: true, mfa_enabled: true, email: null, flags: 0 },
      guilds: guilds.map((g) => ({ id: g.id, unavailable: true })),
      session_id: h.id,
      resume_gateway_url: `${this.#options.url()}/resume`,
      ...(Array.isArray(shard) ? { shard } : {}),
      application: { id: this.#world.bot.id, flags: this.#options.applicationFlags() },
    })
    if (h.intents & INTENT.guilds) for (const g of guilds) this.#push(h, 'GUILD_CREATE', this.#world.guildCreateJson(g))
  }

  #resume(ws: WebSocket, d: Json): Held | undefined {
    this.resumes++
    if (this.#faultAt('resume', ws)) return undefined
    if (asString(d.token).replace(/^Bot /, '') !== this.#options.token()) {
      ws.close(4004, 'Authentication failed')
      return undefined
    }
    const h = this.#held.get(asString(d.session_id))
    const late = h && !h.connected && this.#world.clock.now() - h.lostAt > this.#options.resumeWindowMs
    if (!h || late) {
      if (h) this.#kill(h)
      this.#send(ws, { op: 9, d: false })
      return undefined
    }
    const seq = asNumber(d.seq)
    if (seq > h.seq) {
      ws.close(4007, 'Invalid seq')
      return undefined
    }
    h.socket?.terminate()
    h.socket = ws
    h.connected = true
    h.resumes++
    for (const event of h.buffer.filter((e) => e.s > seq)) this.#send(ws, { op: 0, ...event })
    h.buffer = h.buffer.filter((e) => e.s > seq)
    this.#push(h, 'RESUMED', { _trace: [] })
    return h
  }
}
