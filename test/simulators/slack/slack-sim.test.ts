import { WebClient } from '@slack/web-api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { type Json, SlackSim } from './index.ts'
import { quiet } from './quiet.ts'

let sim: SlackSim
let clock: ManualClock
let client: WebClient
let ada: string
let channel: string

beforeEach(async () => {
  clock = new ManualClock()
  sim = await SlackSim.start({ clock })
  client = new WebClient(sim.botToken, {
    slackApiUrl: sim.apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: quiet,
  })
  const user = sim.user('ada')
  ada = user.id
  channel = sim.channel('general', { members: [user] }).id
})
afterEach(() => sim.stop())

/** The error code of a refused call. */
async function code(call: Promise<unknown>): Promise<unknown> {
  const error = (await call.then(
    () => undefined,
    (e: unknown) => e,
  )) as { data?: Json; code?: string; statusCode?: number } | undefined
  return error && (error.data?.error ?? error.statusCode ?? error.code)
}

const root = (text = 'hello') => sim.say(ada, channel, text).ts
const section = (text: string) => ({ type: 'section' as const, text: { type: 'mrkdwn' as const, text } })

describe('tokens and scopes', () => {
  test('auth.test, wrong, revoked and missing', async () => {
    expect(await client.auth.test()).toMatchObject({ user_id: sim.bot.userId, bot_id: sim.bot.botId })
    expect(await code(new WebClient('xoxb-no', { slackApiUrl: sim.apiUrl }).auth.test())).toBe('invalid_auth')
    expect(await code(new WebClient(undefined, { slackApiUrl: sim.apiUrl }).auth.test())).toBe('not_authed')
    expect(await code(client.apps.connections.open())).toBe('not_allowed_token_type')
    sim.setScopes(['channels:read'])
    const refused = await client.chat.postMessage({ channel, text: 'x' }).catch((e) => e.data)
    expect(refused).toMatchObject({ error: 'missing_scope', needed: 'chat:write', provided: 'channels:read' })
    sim.revoke()
    expect(await code(client.auth.test())).toBe('token_revoked')
  })
})

describe('posting', () => {
  test('text, markdown, metadata, thread', async () => {
    const ts = root()
    const metadata = { event_type: 'turn', event_payload: { key: 'k1' } }
    await client.chat.postMessage({ channel, thread_ts: ts, text: 'a &amp; <!channel> <@U1X>', metadata })
    await client.chat.postMessage({ channel, thread_ts: ts, markdown_text: '**bold**' })
    const [first, second] = sim.own(channel, ts)
    expect(first).toMatchObject({
      rendered: 'a & <!channel> <@U1X>',
      metadata,
      pinged: ['!channel', '@U1X'],
      threadTs: ts,
    })
    expect(second).toMatchObject({ rendered: '**bold**', markdown: '**bold**', pinged: [] })
    const seen = await client.conversations.replies({ channel, ts, include_all_metadata: true })
    expect(seen.messages?.[1]?.metadata).toEqual(metadata)
    const without = await client.conversations.replies({ channel, ts })
    expect(without.messages?.[1]?.metadata).toBeUndefined()
  })

  test('refusals', async () => {
    sim.limits.on = false
    const post = (more: Json) => code(client.chat.postMessage({ channel, ...more } as never))
    expect(await post({ text: '' })).toBe('no_text')
    expect(await post({ markdown_text: 'x', text: 'y' })).toBe('markdown_text_conflict')
    expect(await post({ markdown_text: 'x'.repeat(12_001) })).toBe('msg_too_long')
    expect(await post({ text: 'x', thread_ts: '1700000000.000001' })).toBe('thread_not_found')
    expect(await post({ text: 'x', thread_ts: 'x' })).toBe('invalid_thread_ts')
    const reply = sim.say(ada, channel, 're', { thread_ts: root() }).ts
    expect(await post({ text: 'x', thread_ts: reply })).toBe('invalid_thread_ts')
    expect(await post({ text: 'x', channel: 'C404' })).toBe('channel_not_found')
    expect(await post({ text: 'x', channel: sim.channel('out', { bot: false }).id })).toBe('not_in_channel')
    expect(await post({ text: 'x', channel: sim.channel('secret', { bot: false, kind: 'private' }).id })).toBe(
      'channel_not_found',
    )
    sim.world.channel(channel).archived = true
    expect(await post({ text: 'x' })).toBe('is_archived')
  })

  test('a too long text is cut with a warning', async () => {
    const answer = await client.chat.postMessage({ channel, text: 'x'.repeat(40_001) })
    expect(answer.response_metadata?.warnings).toContain('message_truncated')
    expect(sim.own(channel)[0]?.text).toHaveLength(40_000)
  })

  test('block rules', async () => {
    const blocks = async (list: unknown[]) => {
      clock.advance(10_000)
      const error = await client.chat.postMessage({ channel, text: 'x', blocks: list as never }).catch((e) => e.data)
      return [error?.error, error?.response_metadata?.messages?.join() ?? '']
    }
    const button = (text: string, id: string) => ({ type: 'button', text: { type: 'plain_text', text }, action_id: id })
    const actions = (...elements: unknown[]) => ({ type: 'actions', elements })
    const cell = { type: 'raw_text', text: 'a' }
    expect((await blocks([section('x'.repeat(3000)), actions(button('ok', 'a'))]))[0]).toBeUndefined()
    expect(await blocks([section('x'.repeat(3001))])).toEqual([
      'invalid_blocks',
      expect.stringContaining('/blocks/0/text/text'),
    ])
    expect((await blocks([section('')]))[0]).toBe('invalid_blocks')
    expect((await blocks(Array.from({ length: 51 }, () => ({ type: 'divider' }))))[0]).toBe('msg_blocks_too_many')
    expect((await blocks([actions(button('x'.repeat(76), 'a'))]))[0]).toBe('invalid_blocks')
    expect((await blocks([actions(button('x', 'a'.repeat(256)))]))[0]).toBe('invalid_blocks')
    expect((await blocks([actions(button('x', 'a'), button('y', 'a'))]))[0]).toBe('invalid_blocks')
    expect(
      (
        await blocks([
          { type: 'markdown', text: 'x'.repeat(7000) },
          { type: 'markdown', text: 'x'.repeat(7000) },
        ])
      )[0],
    ).toBe('invalid_blocks')
    expect(
      (
        await blocks([
          { type: 'table', rows: [[cell]] },
          { type: 'table', rows: [[cell]] },
        ])
      )[1],
    ).toContain('only_one_table_allowed')
    expect((await blocks([{ type: 'table', rows: [Array.from({ length: 21 }, () => cell)] }]))[0]).toBe(
      'invalid_blocks',
    )
    expect((await blocks([{ type: 'table', rows: Array.from({ length: 101 }, () => [cell]) }]))[0]).toBe(
      'invalid_blocks',
    )
    expect((await blocks([{ type: 'nonsense' }]))[0]).toBe('invalid_blocks')
  })

  test('update and delete', async () => {
    const { ts = '' } = await client.chat.postMessage({
      channel,
      text: 'one',
      blocks: [section('one')],
      metadata: { event_type: 'a', event_payload: {} },
    })
    await client.chat.update({ channel, ts, text: 'two' })
    expect(sim.own(channel)[0]).toMatchObject({
      rendered: 'two',
      metadata: { event_type: 'a' },
      versions: [{ text: 'one' }],
      edited: true,
    })
    expect(await code(client.chat.update({ channel, ts, text: 'x'.repeat(4001) }))).toBe('msg_too_long')
    expect(await code(client.chat.update({ channel, ts: root(), text: 'x' }))).toBe('cant_update_message')
    expect(await code(client.chat.update({ channel, ts: '1700000000.000001', text: 'x' }))).toBe('message_not_found')
    await client.chat.update({ channel, ts, text: 'two', metadata: {} as never })
    expect(sim.own(channel)[0]?.metadata).toBeUndefined()
    await client.chat.delete({ channel, ts })
    expect(sim.own(channel)).toEqual([])
  })

  test('ephemeral, reactions, conversations', async () => {
    await client.chat.postEphemeral({ channel, user: ada, text: 'psst' })
    expect(sim.ephemerals(ada).map((line) => line.rendered)).toEqual(['psst'])
    expect(await code(client.chat.postEphemeral({ channel, user: sim.user('eve').id, text: 'x' }))).toBe(
      'user_not_in_channel',
    )
    const timestamp = root()
    await client.reactions.add({ channel, timestamp, name: 'eyes' })
    expect(await code(client.reactions.add({ channel, timestamp, name: 'eyes' }))).toBe('already_reacted')
    await client.reactions.remove({ channel, timestamp, name: 'eyes' })
    expect(await code(client.reactions.remove({ channel, timestamp, name: 'eyes' }))).toBe('no_reaction')
    const opened = await client.conversations.open({ users: ada })
    expect(opened.channel?.id).toBe(sim.im(ada).id)
    expect((await client.conversations.members({ channel })).members).toContain(ada)
    expect((await client.users.info({ user: ada })).user?.name).toBe('ada')
    await client.assistant.threads.setStatus({ channel_id: channel, thread_ts: timestamp, status: 'thinks' })
    expect(sim.status(channel, timestamp)).toBe('thinks')
    await client.chat.postMessage({ channel, thread_ts: timestamp, text: 'done' })
    expect(sim.status(channel, timestamp)).toBe('')
  })

  test('replies: range, pages, order', async () => {
    const ts = root()
    const all = [1, 2, 3, 4].map((n) => sim.say(ada, channel, `r${n}`, { thread_ts: ts }).ts)
    const texts = async (more: Json) => {
      const answer = await client.conversations.replies({ channel, ts, ...more } as never)
      return [answer.messages?.map((m) => m.text), answer.response_metadata?.next_cursor] as const
    }
    expect((await texts({ oldest: all[1] }))[0]).toEqual(['hello', 'r3', 'r4'])
    expect((await texts({ oldest: all[1], latest: all[2], inclusive: true }))[0]).toEqual(['hello', 'r2', 'r3'])
    const [page, cursor] = await texts({ limit: 2 })
    expect(page).toEqual(['hello', 'r1'])
    expect((await texts({ limit: 2, cursor }))[0]).toEqual(['r2', 'r3'])
    expect((await client.conversations.history({ channel })).messages?.map((m) => m.text)).toEqual(['hello'])
  })
})

describe('streams', () => {
  const to = () => ({ recipient_user_id: ada, recipient_team_id: sim.world.team.id })

  test('start, append, stop with blocks and metadata', async () => {
    const thread_ts = root()
    expect(await code(client.chat.startStream({ channel, thread_ts, markdown_text: 'x' }))).toBe(
      'missing_recipient_user_id',
    )
    const { ts = '' } = await client.chat.startStream({ channel, thread_ts, markdown_text: 'Hello ', ...to() })
    await client.chat.appendStream({ channel, ts, markdown_text: 'world' })
    expect(await code(client.chat.appendStream({ channel, ts, markdown_text: 'x'.repeat(12_001) }))).toBe(
      'msg_too_long',
    )
    expect(await code(client.chat.update({ channel, ts, text: 'x' }))).toBe('streaming_state_conflict')
    const open = await client.conversations.replies({ channel, ts: thread_ts })
    expect(open.messages?.[1]).toMatchObject({ streaming_state: 'in_progress' })
    await client.chat.stopStream({
      channel,
      ts,
      markdown_text: '!',
      blocks: [section('more')],
      metadata: { event_type: 'a', event_payload: {} },
    })
    expect(sim.own(channel)[0]).toMatchObject({
      rendered: 'Hello world!\nmore',
      stream: { state: 'completed' },
      metadata: { event_type: 'a' },
    })
    expect(await code(client.chat.appendStream({ channel, ts, markdown_text: 'x' }))).toBe(
      'message_not_in_streaming_state',
    )
    await client.chat.update({ channel, ts, text: 'whole' })
    expect(sim.own(channel)[0]?.rendered).toBe('whole')
  })

  test('idle and total time, the stop button, switched off', async () => {
    const dm = sim.im(ada).id
    const thread_ts = sim.say(ada, dm, 'hi').ts
    const start = async () =>
      (await client.chat.startStream({ channel: dm, thread_ts, markdown_text: 'x' } as never)).ts ?? ''
    const append = (ts: string) => code(client.chat.appendStream({ channel: dm, ts, markdown_text: 'y' }))
    const idle = await start()
    await clock.advance(180_000)
    expect(await append(idle)).toBe('message_not_in_streaming_state')
    const long = await start()
    for (let i = 0; i < 4; i++) {
      await clock.advance(60_000)
      expect(await append(long)).toBeUndefined()
    }
    await clock.advance(60_000)
    expect(await append(long)).toBe('message_not_in_streaming_state')
    expect(sim.own(dm).at(-1)?.stream?.state).toBe('errored')
    const stopped = await start()
    sim.people.stopSession(ada, dm, thread_ts)
    expect(await append(stopped)).toBe('stopped_by_user')
    sim.features.streaming = 'unknown_method'
    expect(await code(start())).toBe('unknown_method')
  })
})

describe('files', () => {
  test('upload in three steps; the share shows later', async () => {
    const thread_ts = root()
    const up = await client.files.getUploadURLExternal({ filename: 'a.txt', length: 5 })
    await fetch(up.upload_url ?? '', { method: 'POST', body: 'hello' })
    const files = [{ id: up.file_id ?? '', title: 'A' }] as [{ id: string; title: string }]
    await client.files.completeUploadExternal({ files, channel_id: channel, thread_ts, initial_comment: 'see' })
    const shares = async () => (await client.files.info({ file: up.file_id ?? '' })).file?.shares
    expect(await shares()).toEqual({})
    await clock.advance(500)
    expect(await shares()).toMatchObject({ public: { [channel]: [{ thread_ts }] } })
    expect(sim.own(channel, thread_ts)[0]?.files[0]?.bytes.toString()).toBe('hello')
    await client.filesUploadV2({ channel_id: channel, thread_ts, filename: 'b.txt', file: Buffer.from('multi') })
    await clock.advance(500)
    expect(sim.own(channel, thread_ts)[1]?.files[0]?.bytes.toString()).toBe('multi')
  })

  test('url_private wants the token and the scope', async () => {
    const { message } = sim.say(ada, channel, 'look', { files: [{ name: 'a.png', bytes: 'PNG' }] })
    const url = String(sim.world.fileWire(message.files[0] as never, sim.filesUrl).url_private)
    const get = (headers: Record<string, string>) => fetch(url, { headers, redirect: 'manual' })
    expect((await get({})).status).toBe(302)
    const authorization = `Bearer ${sim.botToken}`
    const good = await get({ authorization })
    expect([good.headers.get('content-type'), await good.text()]).toEqual(['image/png', 'PNG'])
    sim.setScopes([])
    expect((await get({ authorization })).headers.get('content-type')).toContain('text/html')
  })
})

describe('limits and faults', () => {
  test('a tier runs out and comes back', async () => {
    sim.limits.perMinute.set('auth.test', 2)
    await client.auth.test()
    await client.auth.test()
    expect(await client.auth.test().catch((e) => e.retryAfter)).toBe(60)
    await clock.advance(60_000)
    await client.auth.test()
    for (let i = 0; i < 5; i++) await client.chat.postMessage({ channel, text: 'x' })
    expect(await client.chat.postMessage({ channel, text: 'x' }).catch((e) => e.retryAfter)).toBe(1)
    sim.limits.on = false
    await client.chat.postMessage({ channel, text: 'x' })
  })

  test('faults', async () => {
    const post = () => client.chat.postMessage({ channel, text: 'x' })
    sim.faults.on({ method: 'chat.postMessage', times: 1, status: 503 })
    expect(await code(post())).toBe(503)
    sim.faults.on({ method: 'chat.postMessage', times: 1, error: 'fatal_error' })
    expect(await code(post())).toBe('fatal_error')
    sim.faults.on({ method: 'chat.postMessage', times: 1, retryAfter: 7 })
    expect(await post().catch((e) => e.retryAfter)).toBe(7)
    expect(sim.own(channel)).toHaveLength(0)
    sim.faults.on({ method: 'chat.postMessage', times: 1, dropAfter: true })
    expect(await code(post())).toBe('slack_webapi_request_error')
    expect(sim.own(channel)).toHaveLength(1)
    sim.faults.on({ method: 'chat.postMessage', times: 1, delayAfterMs: 5000 })
    const late = post()
    await expect.poll(() => sim.own(channel).length).toBe(2)
    await clock.advance(5000)
    expect((await late).ok).toBe(true)
    expect(sim.callsOf('chat.postMessage').map((call) => call.status)).toEqual([503, 200, 429, 200, 200])
  })
})
