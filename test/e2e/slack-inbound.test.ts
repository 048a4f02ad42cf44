import { afterEach, describe, expect, test } from 'vitest'
import { Bench } from './slack-support.ts'

let bench: Bench
afterEach(() => bench.stop())

const texts = (): string[] => bench.inbound.messages.map((m) => m.text)

describe('what people write', () => {
  test('message and app_mention of one message are one, in either order', async () => {
    bench = await Bench.start()
    const { sim, ada, room } = bench
    expect(bench.adapter.state().state).toBe('ready')
    for (let i = 0; i < 10; i++)
      sim.say(ada, room, `${sim.mention} hello ${i}`, { order: i % 2 ? 'mention-first' : 'message-first' })
    await expect.poll(() => bench.inbound.messages.length).toBe(10)
    await expect.poll(() => sim.deliveries.every((d) => d.state === 'acked')).toBe(true)
    const first = bench.inbound.messages.find((m) => m.text === 'hello 0')
    expect(first).toMatchObject({
      addressed: 'mention',
      location: { kind: 'channel', channel: room },
      author: { name: 'ada' },
    })
    expect(first?.location.to.id).toBe(`${room}:${first?.ref.id}`)
    expect(first?.key).toBe(`slack:${sim.world.team.id}:${room}:${first?.ref.id}`)
  })

  test('entities, names, links, files, threads and direct messages', async () => {
    bench = await Bench.start()
    const { sim, ada, room } = bench
    const bob = sim.user('bob')
    const root = sim.say(bob.id, room, 'people talk').ts
    sim.say(ada, room, `${sim.mention} a && b <c> @bob #general https://x.y/z?a=1&b=2`, { thread_ts: root })
    await expect.poll(texts).toEqual(['a && b <c> @bob #general https://x.y/z?a=1&b=2'])
    expect(bench.inbound.messages[0]).toMatchObject({
      addressed: 'mention',
      replyTo: root,
      location: { kind: 'conversation', to: { id: `${room}:${root}` }, startedByPeople: true },
    })
    sim.say(ada, room, 'plain reply', { thread_ts: root })
    const im = sim.im(ada).id
    const dm = sim.say(ada, im, '', {
      files: [
        { name: 'a.txt', bytes: 'hi' },
        { name: 'b.png', bytes: 'x' },
      ],
    }).ts
    await expect.poll(() => bench.inbound.messages.length).toBe(3)
    expect(bench.inbound.messages[1]).toMatchObject({ addressed: 'thread', text: 'plain reply' })
    expect(bench.inbound.messages[2]).toMatchObject({
      addressed: 'direct',
      location: { kind: 'conversation', to: { platform: 'slack', id: im, thread: dm } },
      attachments: [{ name: 'a.txt', size: 2 }, { name: 'b.png' }],
    })
  })

  test('ours, bots, notices, edits, previews and other channels are not heard; a deletion is told', async () => {
    bench = await Bench.start({ config: { bots: ['B0OTHER'] } })
    const { sim, ada, room } = bench
    const root = sim.say(ada, room, `${sim.mention} one`).ts
    await expect.poll(texts).toEqual(['one'])
    const ref = await bench.adapter.send(
      { platform: 'slack', id: `${room}:${root}` },
      { kind: 'text', text: 'ours' },
      'k',
      async () => {},
    )
    sim.people.notice(room, 'Slack says', root)
    sim.people.edit(room, root, `${sim.mention} one!`, { mention: true })
    sim.people.touch(room, root)
    sim.people.sayAsApp(room, 'bot says', { thread_ts: root })
    await expect.poll(texts).toEqual(['one', 'bot says'])
    sim.people.delete(room, ref.id)
    await expect.poll(() => bench.inbound.removed).toEqual([ref])
    const second = await bench.adapter.send(
      { platform: 'slack', id: `${room}:${root}` },
      { kind: 'text', text: 'ours' },
      'k2',
      async () => {},
    )
    await bench.adapter.remove(second)
    await bench.adapter.remove(second)
    await expect.poll(() => sim.deliveries.every((d) => d.state === 'acked')).toBe(true)
    expect(bench.inbound.removed).toEqual([ref])
    expect(bench.inbound.messages.map((m) => m.author.bot)).toEqual([false, true])
  })

  test('an allow-list of channels leaves direct messages open', async () => {
    bench = await Bench.start({ config: { channels: ['C0NONE'] } })
    const { sim, ada, room } = bench
    sim.say(ada, room, `${sim.mention} no`)
    sim.say(ada, sim.im(ada).id, 'yes')
    await expect.poll(texts).toEqual(['yes'])
  })
})

describe('delivery', () => {
  test('what cannot be stored is not acknowledged, and comes again', async () => {
    bench = await Bench.start()
    let tries = 0
    bench.inbound.onMessage = async () => {
      if (++tries < 2) throw new Error('disk full')
    }
    const said = bench.sim.say(bench.ada, bench.sim.im(bench.ada).id, 'keep me')
    await expect.poll(texts, { timeout: 8000 }).toEqual(['keep me'])
    await expect.poll(() => said.deliveries[0]?.state).toBe('acked')
    expect(said.deliveries[0]?.attempts.length).toBeGreaterThan(1)
    bench.sim.redeliver(said.deliveries[0] as never)
    await expect.poll(() => said.deliveries[0]?.attempts.every((a) => a.outcome)).toBe(true)
    expect(texts()).toEqual(['keep me'])
  })

  test('app_rate_limited is acknowledged; a refreshed socket leaves no gap', async () => {
    bench = await Bench.start()
    const { sim, ada } = bench
    const limited = sim.appRateLimited()
    await expect.poll(() => limited.state).toBe('acked')
    sim.sockets.disconnect('refresh_requested')
    sim.say(ada, sim.im(ada).id, 'during')
    await expect.poll(() => sim.sockets.all.length).toBe(2)
    sim.say(ada, sim.im(ada).id, 'after')
    await expect.poll(texts).toEqual(['during', 'after'])
    expect(bench.adapter.state().state).toBe('ready')
    await expect.poll(() => sim.sockets.open.length, { timeout: 5000 }).toBe(1)
    expect(bench.adapter.state().state).toBe('ready')
  })

  test('a silent socket is noticed, replaced, and what was written meanwhile is read back', async () => {
    bench = await Bench.start({ factor: 40 })
    const { sim, ada } = bench
    const im = sim.im(ada).id
    bench.inbound.places = [{ to: { platform: 'slack', id: im }, after: bench.clock.now() }]
    sim.sockets.silence()
    sim.say(ada, im, 'heard late')
    await expect.poll(texts, { timeout: 10_000 }).toEqual(['heard late'])
    await expect.poll(() => bench.adapter.state().state).toBe('ready')
  })

  test('a broken connection and a failing reopen are survived', async () => {
    bench = await Bench.start()
    const { sim, ada } = bench
    sim.faults.on({ method: 'apps.connections.open', times: 2, status: 503 })
    sim.sockets.drop()
    await expect.poll(() => bench.adapter.state().state).toBe('degraded')
    await expect.poll(() => bench.adapter.state().state, { timeout: 5000 }).toBe('ready')
    sim.say(ada, sim.im(ada).id, 'back')
    await expect.poll(texts).toEqual(['back'])
  })

  test('missed threads are read back, oldest first', async () => {
    bench = await Bench.start({ begin: false })
    const { sim, ada, room } = bench
    const root = sim.say(ada, room, `${sim.mention} begin`).ts
    const since = bench.clock.now()
    const im = sim.im(ada).id
    const dm = sim.say(ada, im, 'dm root').ts
    for (const text of ['one', 'two']) sim.say(ada, room, text, { thread_ts: root })
    sim.say(ada, im, 'dm reply', { thread_ts: dm })
    bench.inbound.places = [
      { to: { platform: 'slack', id: `${room}:${root}` }, after: since - 1 },
      { to: { platform: 'slack', id: im }, after: since - 1 },
    ]
    await bench.adapter.start(bench.inbound)
    await expect.poll(() => texts().includes('two') && texts().includes('dm reply')).toBe(true)
    expect(texts().filter((t) => t === 'one' || t === 'two')).toEqual(['one', 'two'])
    const reply = bench.inbound.messages.find((m) => m.text === 'dm reply')
    expect(reply?.location.to).toEqual({ platform: 'slack', id: im, thread: dm })
  })
})

describe('what only the operator can cure', () => {
  test('a revoked bot token, at start and later', async () => {
    bench = await Bench.start({ begin: false })
    bench.sim.revoke('bot')
    await bench.adapter.start(bench.inbound)
    expect(bench.adapter.state()).toEqual({
      state: 'failed',
      reason: expect.stringContaining('Slack rejected the bot token (token_revoked)'),
    })
  })

  test('a wrong app token and a switched-off Socket Mode', async () => {
    bench = await Bench.start({ begin: false })
    bench.sim.revoke('app', true)
    await bench.adapter.start(bench.inbound)
    expect(bench.adapter.state()).toEqual({
      state: 'failed',
      reason: expect.stringContaining('Slack rejected the app token (invalid_auth)'),
    })
  })

  test('link_disabled', async () => {
    bench = await Bench.start()
    bench.sim.features.socketMode = false
    bench.sim.sockets.disconnect('link_disabled')
    await expect
      .poll(() => bench.adapter.state())
      .toEqual({ state: 'failed', reason: 'Socket Mode is off; turn it on in the app settings' })
  })
})

test('a quiet connection is kept by its pings, over a sleep of the machine too', async () => {
  bench = await Bench.start()
  const { sim, ada } = bench
  for (let i = 0; i < 5; i++) await new Promise((r) => bench.clock.after(11_000, () => r(undefined)))
  const { now } = bench.clock
  Object.assign(bench.clock, { now: () => now() + 3_600_000 })
  await new Promise((r) => bench.clock.after(15_000, () => r(undefined)))
  expect(sim.sockets.all.length).toBe(1)
  expect(sim.sockets.all[0]?.clientPings).toBeGreaterThan(2)
  sim.say(ada, sim.im(ada).id, 'still here')
  await expect.poll(texts).toEqual(['still here'])
}, 30_000)
