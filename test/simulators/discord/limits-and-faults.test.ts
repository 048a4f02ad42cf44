import { describe, expect, test } from 'vitest'
import { allowViolations, ann, channel, code, login, makeClient, post, sim } from './bare-bot.ts'

describe('limits of messages', () => {
  const row = (...components: object[]): object => ({ type: 1, components })
  const press = (id: string, label = 'l'): object => ({ type: 2, style: 1, custom_id: id, label })
  const text = (content: string): object => ({ type: 10, content })
  const V2 = 1 << 15
  const cases: [string, object, number][] = [
    ['content over 2000', { content: 'x'.repeat(2001) }, 50035],
    ['empty', { content: ' \n ' }, 50006],
    ['11 embeds', { embeds: Array(11).fill({ title: 't' }) }, 50035],
    ['embeds over 6000', { embeds: [{ description: 'x'.repeat(4000) }, { description: 'x'.repeat(2001) }] }, 50035],
    ['field value over 1024', { embeds: [{ fields: [{ name: 'n', value: 'x'.repeat(1025) }] }] }, 50035],
    ['6 rows', { content: 'c', components: Array.from({ length: 6 }, (_, i) => row(press(`${i}`))) }, 50035],
    ['6 buttons', { content: 'c', components: [row(...Array.from({ length: 6 }, (_, i) => press(`${i}`)))] }, 50035],
    ['label over 80', { content: 'c', components: [row(press('a', 'x'.repeat(81)))] }, 50035],
    ['custom_id over 100', { content: 'c', components: [row(press('x'.repeat(101)))] }, 50035],
    ['custom_id twice', { content: 'c', components: [row(press('a'), press('a'))] }, 50035],
    ['V2 with content', { content: 'c', flags: V2, components: [text('t')] }, 50035],
    ['V2 text over 4000', { flags: V2, components: [text('x'.repeat(2500)), text('x'.repeat(1501))] }, 50035],
    ['41 V2 components', { flags: V2, components: Array.from({ length: 41 }, (_, i) => text(`${i}`)) }, 50035],
    ['V2 without its flag', { components: [text('t')] }, 50035],
    ['nonce over 25', { content: 'c', nonce: 'x'.repeat(26) }, 50035],
    ['parse and users', { content: 'c', allowed_mentions: { parse: ['users'], users: ['1'] } }, 50035],
    ['unknown reply target', { content: 'c', message_reference: { message_id: '100000000000000000' } }, 50035],
  ]
  test.each(cases)('%s', async (_, body, expected) => {
    allowViolations()
    const client = makeClient()
    client.rest.setToken(sim.token)
    expect(await code(post(client, body))).toBe(expected)
    expect(sim.messages(channel.id)).toEqual([])
  })

  test('what fits is taken', async () => {
    const client = makeClient()
    client.rest.setToken(sim.token)
    await post(client, { content: 'x'.repeat(2000) })
    await post(client, {
      flags: V2,
      components: [{ type: 17, components: [text('x'.repeat(4000)), row(press('x'.repeat(100), 'x'.repeat(80)))] }],
    })
    await post(client, {
      content: 'c',
      message_reference: { message_id: '100000000000000000', fail_if_not_exists: false },
    })
    expect(sim.messages(channel.id)).toHaveLength(3)
  })

  test('files: ten, and ten MiB each', async () => {
    allowViolations()
    const client = makeClient()
    client.rest.setToken(sim.token)
    const send = (n: number, size: number): Promise<unknown> =>
      client.rest.post(`/channels/${channel.id}/messages`, {
        body: { attachments: Array.from({ length: n }, (_, id) => ({ id, filename: `${id}` })) },
        files: Array.from({ length: n }, (_, id) => ({ name: `${id}`, data: Buffer.alloc(size) })),
      })
    expect(await code(send(11, 1))).toBe(50035)
    expect(await code(send(1, 10 * 1024 * 1024 + 1))).toBe(40005)
    sim.deny(channel, 'ATTACH_FILES')
    expect(await code(send(1, 1))).toBe(50013)
  })

  test('other codes', async () => {
    const client = makeClient()
    client.rest.setToken(sim.token)
    const theirs = sim.say(ann, channel, 'x')
    const path = `/channels/${channel.id}/messages` as const
    expect(await code(client.rest.patch(`${path}/${theirs.id}`, { body: { content: 'y' } }))).toBe(50005)
    expect(await code(client.rest.delete(`${path}/${theirs.id}`))).toBe(50013)
    expect(await code(client.rest.get(`${path}/100000000000000000`))).toBe(10008)
    expect(await code(client.rest.get('/channels/100000000000000000'))).toBe(10003)
    sim.deleteChannel(channel)
    expect(await code(post(client, { content: 'x' }))).toBe(10003)
  })
})

describe('faults and rate limits', () => {
  test('the budget of a channel gives 429 with headers, and the client waits for it', async () => {
    const client = await login()
    sim.rateLimits.enabled = true
    sim.rateLimits.set('POST /channels/:id/messages', { limit: 2, windowMs: 300 })
    const raw = (): Promise<Response> =>
      fetch(`${sim.apiUrl}/v10/channels/${channel.id}/messages`, {
        method: 'POST',
        headers: { authorization: `Bot ${sim.token}`, 'content-type': 'application/json' },
        body: '{"content":"raw"}',
      })
    const [a, , c] = [await raw(), await raw(), await raw()]
    expect([a.headers.get('x-ratelimit-limit'), a.headers.get('x-ratelimit-remaining')]).toEqual(['2', '1'])
    expect(c.status).toBe(429)
    expect(await c.json()).toMatchObject({ global: false, message: 'You are being rate limited.' })
    expect(sim.rateLimits.invalidRequests).toBe(1)
    await post(client, { content: 'waits' })
    expect(sim.messages(channel.id).at(-1)?.content).toBe('waits')
  })

  test('an injected 429 and a 5xx are tried again', async () => {
    const client = await login()
    const limited = sim.faults.on({ method: 'POST', path: /\/messages$/, rateLimit: { retryAfter: 0.05 } })
    await post(client, { content: 'a' })
    const broken = sim.faults.on({ method: 'POST', path: /\/messages$/, status: 502, times: 2 })
    await post(client, { content: 'b' })
    expect([limited.hits, broken.hits]).toEqual([1, 2])
    expect(sim.messages(channel.id).map((m) => m.content)).toEqual(['a', 'b'])
    expect(sim.requestsTo('POST', /\/messages$/).map((r) => r.status)).toEqual([429, 200, 502, 502, 200])
  })

  test('an answer that is lost after the work leaves the message, and a nonce makes the repeat harmless', async () => {
    const client = await login({ rest: { retries: 0 } })
    const send = (nonce?: string): Promise<unknown> =>
      post(client, { content: nonce ?? 'plain', ...(nonce ? { nonce, enforce_nonce: true } : {}) })
    sim.faults.on({ method: 'POST', path: /\/messages$/, afterWork: true, drop: true, times: 2 })
    await expect(send('k')).rejects.toThrow()
    await expect(send()).rejects.toThrow()
    await send('k')
    await send()
    expect(sim.messages(channel.id).map((m) => m.content)).toEqual(['k', 'plain', 'plain'])
  })

  test('a held answer is repeated by the client after its timeout', async () => {
    const client = await login({ rest: { timeout: 80 } })
    sim.faults.on({ method: 'POST', path: /\/messages$/, afterWork: true, delay: 300 })
    await post(client, { content: 'n', nonce: 'n', enforce_nonce: true })
    expect(sim.requestsTo('POST', /\/messages$/)).toHaveLength(2)
    expect(sim.messages(channel.id)).toHaveLength(1)
  })

  test('a wrong token is 401', async () => {
    const client = makeClient()
    client.rest.setToken('wrong')
    expect(await code(client.rest.get('/users/@me')).catch((e: Error) => e.message)).toBe(0)
    expect(sim.rateLimits.invalidRequests).toBe(1)
  })
})
