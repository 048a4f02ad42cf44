import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { App, HTTPReceiver } from '@slack/bolt'
import { WebClient } from '@slack/web-api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ManualClock } from '../../support/manual-clock.ts'
import { type Json, SlackSim } from './index.ts'
import { quiet } from './quiet.ts'
import { connectPeer, inner, type Peer, payloadOf } from './socket-peer.ts'

let sim: SlackSim
let clock: ManualClock
let ada: string
let channel: string
const cleanups: (() => unknown)[] = []

beforeEach(async () => {
  clock = new ManualClock(Date.now())
  sim = await SlackSim.start({ clock })
  const user = sim.user('ada')
  ada = user.id
  channel = sim.channel('general', { members: [user] }).id
})
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean()
  await sim.stop()
})

const connect = (ack?: Peer['ack']): Promise<Peer> => connectPeer(sim, ack)

describe('Socket Mode', () => {
  test('a mention comes as two events with one ts, in either order', async () => {
    const peer = await connect()
    const said = sim.say(ada, channel, `${sim.mention} a < b && https://x.test/?a=1&b=2`)
    await Promise.all(said.deliveries.map((d) => d.done))
    expect(peer.events().map((f) => inner(f).type)).toEqual(['message', 'app_mention'])
    const [a, b] = peer.events()
    expect(inner(a)).toMatchObject({
      ts: said.ts,
      channel_type: 'channel',
      user: ada,
      text: `<@${sim.bot.userId}> a &lt; b &amp;&amp; <https://x.test/?a=1&amp;b=2>`,
    })
    expect(inner(b).ts).toBe(said.ts)
    expect(payloadOf(a).event_id).not.toBe(payloadOf(b).event_id)
    expect(a).toMatchObject({ retry_attempt: 0, retry_reason: '', accepts_response_payload: false })
    sim.say(ada, channel, `${sim.mention} x`, { order: 'mention-first', gapMs: 5 })
    await clock.advance(5)
    await expect
      .poll(() =>
        peer
          .events()
          .map((f) => inner(f).type)
          .slice(2),
      )
      .toEqual(['app_mention', 'message'])
    sim.say(ada, sim.im(ada).id, `${sim.mention} hi`)
    await expect.poll(() => peer.events().length).toBe(5)
    expect(inner(peer.events()[4])).toMatchObject({ type: 'message', channel_type: 'im' })
  })

  test('no event without membership', async () => {
    const said = sim.say(ada, sim.channel('out', { bot: false }).id, `${sim.mention} hi`)
    expect(said.deliveries).toEqual([])
  })

  test('no ack: again at once, after a minute, after five', async () => {
    const peer = await connect(false)
    const [delivery] = sim.say(ada, channel, 'hi').deliveries
    await clock.advance(3000)
    await clock.advance(3000 + 60_000)
    await clock.advance(3000 + 300_000)
    await expect.poll(() => peer.events().map((f) => f.retry_attempt)).toEqual([0, 1, 2, 3])
    expect(peer.events()[1]?.retry_reason).toBe('timeout')
    await clock.advance(3000)
    expect(delivery).toMatchObject({ state: 'failed', error: 'operation_timed_out' })
    expect(sim.failures).toHaveLength(1)
  })

  test('what came without a socket, and what had no ack, goes to the next one', async () => {
    sim.say(ada, channel, 'early')
    const first = await connect(false)
    await expect.poll(() => first.events().length).toBe(1)
    first.ws.close()
    await expect.poll(() => sim.sockets.open.length).toBe(0)
    const second = await connect()
    await expect.poll(() => second.events().map((f) => [inner(f).text, f.retry_attempt])).toEqual([['early', 2]])
    await expect.poll(() => sim.deliveries[0]?.state).toBe('acked')
  })

  test('several sockets, disconnect frames, silence, pings, too many', async () => {
    const [a, b] = [await connect(), await connect()]
    sim.say(ada, channel, 'one')
    sim.say(ada, channel, 'two')
    await expect.poll(() => [a.events().length, b.events().length]).toEqual([1, 1])
    sim.sockets.disconnect('warning', 'ws1')
    await expect.poll(() => a.frames.at(-1)).toMatchObject({ type: 'disconnect', reason: 'warning' })
    expect(a.ws.readyState).toBe(WebSocket.OPEN)
    await clock.advance(10_000)
    await expect.poll(() => a.ws.readyState).toBe(WebSocket.CLOSED)
    await clock.advance(20_000)
    await expect.poll(() => b.pings).toBe(1)
    sim.sockets.silence()
    sim.say(ada, channel, 'lost')
    await clock.advance(60_000)
    expect([b.events().length, b.pings, b.ws.readyState]).toEqual([1, 1, WebSocket.OPEN])
    sim.rules.mostSockets = 1
    const url = (await new WebClient(sim.appToken, { slackApiUrl: sim.apiUrl }).apps.connections.open()).url ?? ''
    const ws = new WebSocket(url)
    const frame = await new Promise((resolve) => ws.once('message', (data) => resolve(JSON.parse(String(data)))))
    expect(frame).toMatchObject({ type: 'disconnect', reason: 'too_many_websockets' })
  })

  test('app_rate_limited has no inner event; a ticket works once', async () => {
    const peer = await connect()
    sim.appRateLimited()
    await expect.poll(() => peer.events().length).toBe(1)
    expect(peer.events()[0]?.payload).not.toHaveProperty('event')
    const again = new WebSocket(peer.ws.url)
    const failed = await new Promise((resolve) => again.once('error', resolve))
    expect(String(failed)).toContain('401')
  })

  test('edits, deletions, other apps, notices, files, reply counts', async () => {
    const peer = await connect()
    const { ts } = sim.say(ada, channel, 'first')
    sim.people.edit(channel, ts, 'second')
    sim.people.touch(channel, ts)
    sim.people.sayAsApp(channel, `<@${sim.bot.userId}> beep`)
    sim.people.notice(channel, 'You can also…')
    sim.say(ada, channel, 'see', { files: [{ name: 'a.png', bytes: 'x' }] })
    sim.say(ada, channel, 'reply', { thread_ts: ts, broadcast: true })
    sim.people.delete(channel, ts)
    await expect.poll(() => peer.events().length).toBe(10)
    const events = peer.events().map(inner)
    expect(events.map((e) => e.subtype ?? e.type)).toEqual([
      'message',
      'message_changed',
      'message_changed',
      'message',
      'app_mention',
      'message',
      'file_share',
      'thread_broadcast',
      'message_changed',
      'message_deleted',
    ])
    expect(events[1]).toMatchObject({ hidden: true, message: { text: 'second' }, previous_message: { text: 'first' } })
    const touched = events[2] as { message: Json; previous_message: Json }
    expect(touched.message.text).toBe(touched.previous_message.text)
    expect(events[3]).toMatchObject({ bot_id: 'B0OTHER' })
    expect(events[5]).toMatchObject({ user: 'USLACK' })
    expect(events[5]).not.toHaveProperty('bot_id')
    expect(events[6]).toMatchObject({ files: [{ name: 'a.png', mimetype: 'image/png' }] })
    expect(events[7]).toMatchObject({ thread_ts: ts, parent_user_id: ada, root: { ts } })
    expect(events[8]).toMatchObject({ message: { reply_count: 1 } })
  })
})

describe('HTTP mode', () => {
  async function app() {
    const receiver = new HTTPReceiver({ signingSecret: sim.signingSecret, port: 0, logger: quiet })
    const made = new App({
      token: sim.botToken,
      receiver,
      clientOptions: { slackApiUrl: sim.apiUrl },
      convoStore: false,
      logger: quiet,
    })
    const server = await made.start(0)
    cleanups.push(() => made.stop())
    const { port } = (server as unknown as { address(): AddressInfo }).address()
    return { made, hook: sim.useHttp({ url: `http://127.0.0.1:${port}/slack/events` }) }
  }

  test('Bolt takes events, commands and buttons; the challenge is echoed', async () => {
    const { made, hook } = await app()
    made.event('app_mention', async ({ event, say }) => {
      await say({ text: 'hi', thread_ts: event.ts })
    })
    made.command('/turnstone', async ({ ack, command }) => ack(`you said ${command.text}`))
    const actions: string[] = []
    made.action('ok', async ({ ack, body }) => {
      await ack()
      actions.push(body.user.id)
    })
    expect(await hook.verify()).toBe(true)
    const said = sim.say(ada, channel, `${sim.mention} hello`)
    await Promise.all(said.deliveries.map((d) => d.done))
    await expect.poll(() => sim.own(channel, said.ts).map((m) => m.text)).toEqual(['hi'])
    expect(await sim.slash(ada, channel, 'a & b').ack).toBe('you said a & b')
    const blocks = [
      {
        type: 'actions' as const,
        elements: [{ type: 'button' as const, action_id: 'ok', text: { type: 'plain_text' as const, text: 'OK' } }],
      },
    ]
    const { ts = '' } = await made.client.chat.postMessage({ channel, text: 'x', blocks })
    await sim.press(ada, channel, ts, 'ok').ack
    expect(actions).toEqual([ada])
  })

  test('a bad signature and an old timestamp are refused by Bolt', async () => {
    const { hook } = await app()
    hook.options = { badSignature: true }
    expect(await hook.verify()).toBe(false)
    hook.options = { timestampShift: -301 }
    expect(await hook.verify()).toBe(false)
    hook.options = {}
    expect(await hook.verify()).toBe(true)
  })

  test('retries carry number and reason; x-slack-no-retry ends them', async () => {
    const seen: (string | undefined)[] = []
    let noRetry = false
    const server = createServer((request, response) => {
      request.resume()
      seen.push([request.headers['x-slack-retry-num'], request.headers['x-slack-retry-reason']].join())
      response.writeHead(500, noRetry ? { 'x-slack-no-retry': '1' } : {}).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => server.close())
    sim.useHttp({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` })
    sim.say(ada, channel, 'hi')
    await expect.poll(() => sim.deliveries[0]?.attempts[0]?.outcome).toBe('http_error')
    await clock.advance(0)
    await expect.poll(() => seen).toEqual([',', '1,http_error'])
    await expect.poll(() => sim.deliveries[0]?.attempts[1]?.outcome).toBe('http_error')
    await clock.advance(60_000)
    await expect.poll(() => seen.length).toBe(3)
    noRetry = true
    sim.say(ada, channel, 'again')
    await expect.poll(() => sim.deliveries[1]?.state).toBe('failed')
    expect(sim.deliveries[1]?.attempts).toHaveLength(1)
  })
})
