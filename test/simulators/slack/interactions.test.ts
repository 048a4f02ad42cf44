import { WebClient } from '@slack/web-api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { type Json, SlackSim } from './index.ts'
import { quiet } from './quiet.ts'
import { connectPeer, type Peer, payloadOf } from './socket-peer.ts'

let sim: SlackSim
let clock: ManualClock
let ada: string
let channel: string

beforeEach(async () => {
  clock = new ManualClock(Date.now())
  sim = await SlackSim.start({ clock })
  const user = sim.user('ada')
  ada = user.id
  channel = sim.channel('general', { members: [user] }).id
})
afterEach(async () => {
  await sim.stop()
})

const connect = (ack?: Peer['ack']): Promise<Peer> => connectPeer(sim, ack)

describe('interactions', () => {
  const client = () =>
    new WebClient(sim.botToken, { slackApiUrl: sim.apiUrl, retryConfig: { retries: 0 }, logger: quiet })
  const modal = (title = 'Note') => ({
    type: 'modal' as const,
    title: { type: 'plain_text' as const, text: title },
    submit: { type: 'plain_text' as const, text: 'Send' },
    callback_id: 'note',
    blocks: [
      {
        type: 'input' as const,
        block_id: 'b',
        label: { type: 'plain_text' as const, text: 'Note' },
        element: { type: 'plain_text_input' as const, action_id: 'a' },
      },
    ],
  })
  const card = async () => {
    const answer = await client().chat.postMessage({
      channel,
      text: 'card',
      blocks: [
        {
          type: 'actions',
          block_id: 'x',
          elements: [{ type: 'button', action_id: 'ok', value: 'v', text: { type: 'plain_text', text: 'OK' } }],
        },
      ],
    })
    return answer.ts ?? ''
  }
  const post = (url: string, body: Json) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

  test('press, open a modal, submit it with an error and without', async () => {
    const peer = await connect((frame) => {
      const payload = frame.payload as {
        type?: string
        view?: { state: { values: Record<string, Record<string, Json>> } }
      }
      if (payload.type !== 'view_submission') return undefined
      return payload.view?.state.values.b?.a?.value === 'bad'
        ? { response_action: 'errors', errors: { b: 'no' } }
        : undefined
    })
    const ts = await card()
    const pressed = sim.press(ada, channel, ts, 'ok')
    await pressed.ack
    const frame = peer.frames.find((f) => f.type === 'interactive')
    expect(frame?.payload).toMatchObject({
      type: 'block_actions',
      container: { message_ts: ts },
      actions: [{ action_id: 'ok', value: 'v', block_id: 'x' }],
      message: { ts },
    })
    const web = client()
    const tooLong = await web.views
      .open({ trigger_id: pressed.triggerId, view: modal('x'.repeat(25)) })
      .catch((e) => e.data.error)
    expect(tooLong).toBe('invalid_arguments')
    const { view } = await web.views.open({ trigger_id: pressed.triggerId, view: modal() })
    const id = view?.id ?? ''
    expect(await web.views.open({ trigger_id: pressed.triggerId, view: modal() }).catch((e) => e.data.error)).toBe(
      'exchanged_trigger',
    )
    expect(await web.views.update({ view_id: id, hash: 'old', view: modal() }).catch((e) => e.data.error)).toBe(
      'hash_conflict',
    )
    expect(await sim.submitView(ada, id, { b: { a: 'bad' } }).ack).toMatchObject({ response_action: 'errors' })
    expect(sim.views[0]?.open).toBe(true)
    await sim.submitView(ada, id, { b: { a: 'good' } }).ack
    expect(sim.views[0]?.open).toBe(false)
    expect(() => sim.press(ada, channel, ts, 'other')).toThrow('no live element')
  })

  test('a trigger lives three seconds; a press without an ack times out', async () => {
    await connect(false)
    const pressed = sim.press(ada, channel, await card(), 'ok')
    await clock.advance(3001)
    await pressed.ack
    expect(pressed.delivery).toMatchObject({ state: 'failed', error: 'operation_timed_out' })
    expect(pressed.delivery.attempts).toHaveLength(1)
    const error = await client()
      .views.open({ trigger_id: pressed.triggerId, view: modal() })
      .catch((e) => e.data.error)
    expect(error).toBe('expired_trigger_id')
  })

  test('slash command: ack text is private; its response_url serves five times', async () => {
    await connect(() => ({ text: 'got it' }))
    const command = sim.slash(ada, channel, 'status')
    expect(await command.ack).toEqual({ text: 'got it' })
    const url = command.responseUrl ?? ''
    expect((await post(url, { text: 'all see', response_type: 'in_channel' })).status).toBe(200)
    for (let i = 0; i < 4; i++) await post(url, { text: `more ${i}` })
    expect((await post(url, { text: 'six' })).status).toBe(404)
    expect(sim.ephemerals(ada).map((line) => line.rendered)).toEqual(['got it', 'more 0', 'more 1', 'more 2', 'more 3'])
    expect(sim.own(channel).map((m) => m.rendered)).toEqual(['all see'])
    const later = sim.slash(ada, channel, 'x')
    await clock.advance(1_800_001)
    expect((await post(later.responseUrl ?? '', { text: 'late' })).status).toBe(404)
  })

  test('views: push up to three, update and clear by ack, home, close with notice', async () => {
    const peer = await connect((frame) =>
      payloadOf(frame).type === 'view_submission' ? { response_action: 'clear' } : undefined,
    )
    const web = client()
    const ts = await card()
    const trigger_id = (): string => sim.press(ada, channel, ts, 'ok').triggerId
    const { view } = await web.views.open({ trigger_id: trigger_id(), view: modal() })
    await web.views.push({ trigger_id: trigger_id(), view: modal() })
    await web.views.push({ trigger_id: trigger_id(), view: modal() })
    const full = await web.views.push({ trigger_id: trigger_id(), view: modal() }).catch((e) => e.data.error)
    expect(full).toBe('push_limit_reached')
    const updated = await web.views.update({ view_id: view?.id ?? '', hash: view?.hash ?? '', view: modal('New') })
    expect(updated.view?.hash).not.toBe(view?.hash)
    await sim.submitView(ada, sim.views[2]?.id ?? '', { b: { a: 'x' } }).ack
    expect(sim.views.map((one) => one.open)).toEqual([false, false, false])
    await web.views.publish({ user_id: ada, view: { type: 'home', blocks: [{ type: 'divider' }] } })
    expect(sim.views[3]?.view.type).toBe('home')
    await web.views.open({ trigger_id: trigger_id(), view: { ...modal(), notify_on_close: true } })
    await sim.interactions.closeView(ada, sim.views[4]?.id ?? '')?.ack
    expect(payloadOf(peer.frames.at(-1)).type).toBe('view_closed')
  })

  test('agent sessions are off until switched on; the stop button needs its subscription', async () => {
    const web = client()
    const { ts } = sim.say(ada, channel, 'hi')
    const set = () =>
      web.apiCall('agents.sessions.setStatus', { channel_id: channel, thread_ts: ts, status: 'processing' })
    expect(await set().catch((e) => e.data.error)).toBe('feature_disabled')
    sim.features.agents = true
    expect(await set()).not.toHaveProperty('warning')
    sim.subscriptions.delete('agent_session_stopped')
    expect(await set()).toMatchObject({ warning: 'missing_agent_session_stopped_event_subscription' })
  })

  test('an acknowledged event can come once more', async () => {
    const peer = await connect()
    const [delivery] = sim.say(ada, channel, 'hi').deliveries
    await delivery?.done
    if (delivery) sim.redeliver(delivery)
    await expect.poll(() => peer.events().length).toBe(2)
    const [a, b] = peer.events()
    expect(payloadOf(b).event_id).toBe(payloadOf(a).event_id)
    expect(b?.retry_attempt).toBe(1)
  })

  test('replace_original over a response_url', async () => {
    await connect()
    const ts = await card()
    const pressed = sim.press(ada, channel, ts, 'ok')
    await post(pressed.responseUrl ?? '', { replace_original: true, text: 'decided' })
    expect(sim.own(channel)[0]).toMatchObject({ rendered: 'decided', buttons: [] })
  })
})
