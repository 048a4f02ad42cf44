import { WebClient } from '@slack/web-api'
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import type { Json, SlackSim } from './index.ts'
import { isJson } from './world.ts'

export interface Peer {
  ws: WebSocket
  frames: Json[]
  events(): Json[]
  ack: boolean | ((frame: Json) => Json | undefined)
  pings: number
}

/** A bare Socket Mode client; says what it acks, and with which payload. */
export async function connectPeer(sim: SlackSim, ack: Peer['ack'] = true): Promise<Peer> {
  const { url } = (await new WebClient(sim.appToken, { slackApiUrl: sim.apiUrl }).apps.connections.open()) as {
    url: string
  }
  const ws = new WebSocket(url)
  const peer: Peer = { ws, frames: [], events: () => peer.frames.filter((f) => f.type === 'events_api'), ack, pings: 0 }
  ws.on('ping', () => {
    peer.pings++
  })
  ws.on('error', () => {})
  ws.on('message', (data) => {
    const frame = JSON.parse(String(data)) as Json
    peer.frames.push(frame)
    if (!frame.envelope_id || peer.ack === false) return
    const payload = typeof peer.ack === 'function' ? peer.ack(frame) : undefined
    ws.send(JSON.stringify({ envelope_id: frame.envelope_id, ...(payload ? { payload } : {}) }))
  })
  await expect.poll(() => peer.frames[0]?.type).toBe('hello')
  return peer
}

export function payloadOf(frame: Json | undefined): Json {
  return isJson(frame?.payload) ? frame.payload : {}
}

export function inner(frame: Json | undefined): Json {
  const { event } = payloadOf(frame)
  return isJson(event) ? event : {}
}
