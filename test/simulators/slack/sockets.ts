import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../../src/util/time.ts'
import type { Attempt, Delivery, Settle, Transport } from './delivery.ts'
import type { RuleValues } from './rules.ts'
import { compact, isJson, type Json } from './world.ts'

export type DisconnectReason = 'warning' | 'refresh_requested' | 'link_disabled' | 'too_many_websockets'

export interface SocketState {
  id: string
  at: number
  /** Dead without being closed: sends nothing, hears nothing. */
  silent: boolean
  open: boolean
  /** Envelopes sent over it. */
  sent: number
  received: Json[]
  pongs: number
  clientPings: number
}

interface Socket extends SocketState {
  ws: WebSocket
  waiting: Map<string, Settle>
  stop: () => void
}

/** The Socket Mode side: tickets, connections and what goes over them. */
export class SocketHub implements Transport {
  /** Which of the open sockets gets a delivery. Default: in turn. */
  choose: ((open: SocketState[]) => SocketState) | undefined
  onConnect: () => void = () => {}
  readonly appId: string
  readonly #clock: Clock
  readonly #rules: RuleValues
  readonly #server = new WebSocketServer({ noServer: true, autoPong: false })
  readonly #tickets = new Set<string>()
  readonly #sockets: Socket[] = []
  #turn = 0

  constructor(appId: string, clock: Clock, rules: RuleValues) {
    this.appId = appId
    this.#clock = clock
    this.#rules = rules
  }

  get all(): readonly SocketState[] {
    return this.#sockets
  }

  get open(): readonly SocketState[] {
    return this.#sockets.filter((socket) => socket.open)
  }

  ticket(): string {
    const ticket = crypto.randomUUID()
    this.#tickets.add(ticket)
    return ticket
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? '/', 'http://sim').searchParams.get('ticket') ?? ''
    if (!this.#tickets.delete(ticket)) {
      socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n')
      return
    }
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#connected(ws))
  }

  #connected(ws: WebSocket): void {
    const id = `ws${this.#sockets.length + 1}`
    const socket: Socket = {
      id,
      ws,
      at: this.#clock.now(),
      silent: false,
      open: true,
      sent: 0,
      received: [],
      pongs: 0,
      clientPings: 0,
      waiting: new Map(),
      stop: () => {},
    }
    const tooMany = this.open.length >= this.#rules.mostSockets
    this.#sockets.push(socket)
    ws.on('message', (data) => this.#received(socket, String(data)))
    ws.on('ping', (data) => {
      socket.clientPings++
      if (!socket.silent) ws.pong(data)
    })
    ws.on('pong', () => {
      socket.pongs++
    })
    ws.on('error', () => {})
    ws.on('close', () => {
      socket.open = false
      socket.stop()
    })
    if (tooMany) {
      this.disconnect('too_many_websockets', id)
      return
    }
    this.#write(socket, {
      type: 'hello',
      num_connections: this.open.length,
      debug_info: { host: 'applink-sim', build_number: 1, approximate_connection_time: 18_060 },
      connection_info: { app_id: this.appId },
    })
    this.#ping(socket)
    this.onConnect()
  }

  #ping(socket: Socket): void {
    socket.stop = this.#clock.after(this.#rules.serverPingMs, () => {
      if (!socket.open) return
      if (!socket.silent) socket.ws.ping(`Ping from applink-sim ${this.#clock.now()}`)
      this.#ping(socket)
    })
  }

  #received(socket: Socket, text: string): void {
    if (socket.silent) return
    let frame: unknown
    try {
      frame = JSON.parse(text)
    } catch {
      return
    }
    if (!isJson(frame)) return
    socket.received.push(frame)
    const envelope = String(frame.envelope_id ?? '')
    const settle = socket.waiting.get(envelope)
    socket.waiting.delete(envelope)
    settle?.('acked', { payload: frame.payload })
  }

  #write(socket: Socket, frame: Json): void {
    if (socket.open && !socket.silent) socket.ws.send(JSON.stringify(frame))
  }

  send(delivery: Delivery, attempt: Attempt, settle: Settle): string | undefined {
    const open = this.#sockets.filter((socket) => socket.open && socket.ws.readyState === socket.ws.OPEN)
    if (open.length === 0) return undefined
    const chosen = this.choose?.(open)
    const socket = open.find((one) => one === chosen) ?? open[this.#turn++ % open.length]
    if (!socket) return undefined
    socket.sent++
    socket.waiting.set(attempt.envelopeId, settle)
    const retry = delivery.kind === 'events_api' ? { retry_attempt: attempt.n, retry_reason: attempt.reason } : {}
    this.#write(
      socket,
      compact({
        type: delivery.kind,
        envelope_id: attempt.envelopeId,
        payload: delivery.payload,
        accepts_response_payload: delivery.acceptsResponse,
        ...retry,
      }),
    )
    return socket.id
  }

  gone(via: string): boolean {
    return this.#sockets.some((socket) => socket.id === via && !socket.open)
  }

  #pick(id: string | undefined): Socket[] {
    return this.#sockets.filter((socket) => socket.open && (id === undefined || socket.id === id))
  }

  /** Sends a disconnect frame; a warned or refreshed socket is closed some seconds later, others at once. */
  disconnect(reason: DisconnectReason, id?: string): void {
    for (const socket of this.#pick(id)) {
      this.#write(socket, { type: 'disconnect', reason, debug_info: { host: 'applink-sim' } })
      const later = reason === 'warning' || reason === 'refresh_requested'
      if (later) this.#clock.after(this.#rules.disconnectWarningMs, () => socket.ws.close(1000))
      else socket.ws.close(1000)
    }
  }

  /** From now on the socket is dead, though it stays open. */
  silence(id?: string): void {
    for (const socket of this.#pick(id)) socket.silent = true
  }

  /** Breaks the connection off. */
  drop(id?: string): void {
    for (const socket of this.#pick(id)) {
      socket.open = false
      socket.ws.terminate()
    }
  }

  /** Any frame, such as an envelope no documentation knows. */
  frame(frame: Json, id?: string): void {
    for (const socket of this.#pick(id)) this.#write(socket, frame)
  }

  stop(): void {
    for (const socket of this.#sockets) {
      socket.stop()
      socket.ws.terminate()
    }
    this.#server.close()
  }
}
