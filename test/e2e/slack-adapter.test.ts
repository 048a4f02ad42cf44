import { afterEach, describe, expect, test } from 'vitest'
import { checkSlack } from '../../channels/slack/check.ts'
import { SLACK_NEEDS, slackManifest } from '../../channels/slack/needs.ts'
import type { CardView } from '../../src/channel/card.ts'
import type { Address, Outgoing, PendingPost } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import { sha256 } from '../../src/util/ids.ts'
import { Bench } from './slack-support.ts'

let bench: Bench
afterEach(() => bench?.stop())

const forever = new AbortController().signal
const noNote = async (): Promise<void> => {}

function place(): Address {
  const { sim, ada, room } = bench
  return { platform: 'slack', id: `${room}:${sim.say(ada, room, 'root').ts}` }
}

function card(more: Partial<CardView> = {}, payload = 'rm -rf "$X" ``` <b>\u202e'): CardView {
  const call = {
    tool: 'bash',
    header: 'remove <@U123> & more',
    payload: { filename: 'bash.sh', text: payload, sha256: sha256(payload), bytes: Buffer.byteLength(payload) },
    label: 'bash:rm',
    because: 'rule no-deletes',
    warning: 'outside the workspace',
  }
  return { approval: 'a1b2c3', turn: 'abcd', calls: [call], always: true, state: { kind: 'open' }, ...more }
}

const pending = (key: string, kind: PendingPost['kind'], more: Partial<PendingPost> = {}): PendingPost => ({
  key,
  kind,
  at: bench.clock.now() - 1000,
  text: '',
  owned: new Set(),
  ...more,
})

describe('send, find, edit, remove', () => {
  test('text: posted with its key, found, edited, removed; private lines; long ones split', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    const ref = await bench.adapter.send(to, { kind: 'text', text: '**hi** & <!here>' }, 'k1', noNote)
    expect(bench.sim.own(room, root)[0]).toMatchObject({ rendered: '**hi** & < !here>', pinged: [], threadTs: root })
    expect(await bench.adapter.findPost(to, pending('k1', 'text'))).toEqual(ref)
    expect(await bench.adapter.findPost(to, pending('k2', 'text'))).toBeUndefined()
    await bench.adapter.edit(ref, { kind: 'text', text: 'changed' })
    expect(bench.sim.own(room, root)[0]?.rendered).toBe('changed')
    expect(bench.sim.own(room, root)[0]?.metadata).toMatchObject({ event_payload: { key: 'k1' } })
    await bench.adapter.postEphemeral(to, { text: 'psst', onlyTo: bench.ada })
    expect(bench.sim.ephemerals(bench.ada)).toMatchObject([{ rendered: 'psst', threadTs: root }])
    await bench.adapter.remove(ref)
    await bench.adapter.remove(ref)
    await bench.adapter.edit(ref, { kind: 'text', text: 'nobody sees it' })
    const long = Array.from({ length: 4000 }, (_, i) => `w${i}`).join(' ')
    await bench.adapter.send(to, { kind: 'text', text: long }, 'k3', noNote)
    const posted = bench.sim.own(room, root).map((m) => m.rendered)
    expect(posted.join(' ').replace(/\s+/g, ' ')).toBe(long)
    expect(posted.every((m) => m.length <= 12_000)).toBe(true)
    await expect(bench.adapter.send(to, { kind: 'text', text: ' \n' }, 'k4', noNote)).rejects.toThrow(PostRefusedError)
  })

  test('a long text whose second half was lost is completed, not doubled', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    const text = Array.from({ length: 4000 }, (_, i) => `w${i}`).join(' ')
    const { faults } = bench.sim
    faults.on({ method: 'chat.postMessage', skip: 1, times: 1, status: 503 })
    faults.on({ method: 'chat.postMessage', skip: 1, times: 1, dropAfter: true })
    await post(to, { kind: 'text', text }, 'long')
    const posted = bench.sim.own(room, root).map((m) => m.rendered)
    expect(posted.join(' ').replace(/\s+/g, ' ')).toBe(text)
  })

  test('direct messages to a person, and refusals in plain words', async () => {
    bench = await Bench.start()
    const { sim, ada, room } = bench
    const ref = await bench.adapter.send({ platform: 'slack', id: ada }, { kind: 'text', text: 'hello' }, 'd1', noNote)
    expect(ref.channel).toBe(sim.im(ada).id)
    expect(await bench.adapter.findPost({ platform: 'slack', id: ada }, pending('d1', 'text'))).toEqual(ref)
    sim.people.leave(sim.bot.userId, room)
    const refused = bench.adapter.send({ platform: 'slack', id: room }, { kind: 'text', text: 'x' }, 'd2', noNote)
    await expect(refused).rejects.toThrow('The app is not a member of this channel.')
    sim.setScopes(['im:write'])
    const scope = bench.adapter.send({ platform: 'slack', id: ada }, { kind: 'text', text: 'x' }, 'd3', noNote)
    await expect(scope).rejects.toThrow('The Slack app lacks the scope chat:write.')
    sim.faults.on({ method: 'chat.postMessage', times: 1, retryAfter: 7 })
    const limited = bench.adapter.send({ platform: 'slack', id: ada }, { kind: 'text', text: 'x' }, 'd4', noNote)
    await expect(limited).rejects.toMatchObject({ retryAfterMs: 7000 })
    sim.revoke()
    const revoked = bench.adapter.send({ platform: 'slack', id: ada }, { kind: 'text', text: 'x' }, 'd5', noNote)
    await expect(revoked).rejects.not.toBeInstanceOf(PostRefusedError)
    expect(bench.adapter.state().state).toBe('failed')
  })

  test('files: noted before they are completed, found by their shares, posted once over a lost answer', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    bench.sim.faults.on({ method: 'files.completeUploadExternal', times: 1, dropAfter: true })
    const ref = await post(to, { kind: 'file', name: 'a.sh', content: 'echo ü', comment: 'all of it <!here>' }, 'f1')
    const [message] = bench.sim.own(room, root)
    expect(bench.sim.own(room, root).length).toBe(1)
    expect(message?.ts).toBe(ref.id)
    expect(message?.files[0]?.bytes.toString()).toBe('echo ü')
    expect(message?.pinged).toEqual([])
  })

  test('history, links, marks, open', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    bench.sim.say(bench.ada, room, 'a &amp; b', { thread_ts: root, raw: true })
    await bench.adapter.send(to, { kind: 'text', text: 'mine' }, 'h1', noNote)
    const last = bench.sim.say(bench.ada, room, 'last', { thread_ts: root }).ts
    const lines = await bench.adapter.fetchMessages(to, { limit: 2, before: last })
    expect(lines.map((l) => [l.author.name, l.own, l.text])).toEqual([
      ['ada', false, 'a & b'],
      ['turnstone', true, 'mine'],
    ])
    const ref = { platform: 'slack' as const, channel: room, id: last }
    expect(bench.adapter.permalink(to, ref)).toBe(
      `https://sim.slack.com/archives/${room}/p${last.replace('.', '')}?thread_ts=${root}&cid=${room}`,
    )
    await bench.adapter.addReaction(ref)
    await bench.adapter.addReaction(ref)
    expect(bench.sim.messages(room, root).at(-1)?.reactions).toHaveProperty('eyes')
    await bench.adapter.removeReaction(ref)
    await bench.adapter.removeReaction(ref)
    expect(bench.sim.messages(room, root).at(-1)?.reactions).toEqual({})
    expect(await bench.adapter.openThread({ channel: 'D1', message: '1.2' }, '')).toEqual({
      to: { platform: 'slack', id: 'D1', thread: '1.2' },
    })
  })

  test('downloads: only from Slack, no login page, no more than allowed', async () => {
    bench = await Bench.start()
    const { sim, ada } = bench
    sim.say(ada, sim.im(ada).id, 'see', { files: [{ name: 'a.png', bytes: 'PNG!' }] })
    await expect.poll(() => bench.inbound.messages.length).toBe(1)
    const [file] = bench.inbound.messages[0]?.attachments ?? []
    if (!file) throw new Error('no file')
    expect(Buffer.from(await bench.adapter.download(file, 10, forever)).toString()).toBe('PNG!')
    await expect(bench.adapter.download(file, 3, forever)).rejects.toThrow('larger than 3 bytes')
    sim.faults.on({ method: 'files.download', times: 1, html: true })
    await expect(bench.adapter.download(file, 10, forever)).rejects.toThrow('could not be read')
    const elsewhere = { ...file, url: 'http://127.0.0.1:9/x' }
    await expect(bench.adapter.download(elsewhere, 10, forever)).rejects.toThrow('could not be read')
    sim.revoke()
    await expect(bench.adapter.download(file, 10, forever)).rejects.toThrow('could not be read')
  })
})

/** As the gateway posts: once, over any fault. */
async function post(to: Address, outgoing: Outgoing, key: string) {
  const { adapter, posts, clock } = bench
  const tools = { adapter, posts, clock, locks: createLocalLocks() }
  const { kind } = outgoing
  const send = (note: (mark: string) => Promise<void>) => adapter.send(to, outgoing, key, note)
  return (await postOnce(tools, { key, to, kind, text: kind === 'text' ? outgoing.text : '', send }, forever)).ref
}

describe('cards', () => {
  test('show what will run, ping nobody, close without buttons, are found by their approval', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    const ref = await bench.adapter.send(to, { kind: 'card', card: card() }, 'approval:a1b2c3', noNote)
    const [seen] = bench.sim.own(room, root)
    expect(seen?.rendered).toContain('rm -rf "$X" ``` <b>⟨U+202E⟩')
    for (const part of ['bash:rm', 'rule no-deletes', 'outside the workspace']) expect(seen?.rendered).toContain(part)
    expect(seen?.blocks.filter((b) => b.type === 'rich_text').length).toBe(1)
    expect(seen?.buttons.map((b) => [b.actionId, b.text, b.value])).toEqual([
      ['ts:approve', 'Approve', 'a1b2c3'],
      ['ts:always', 'Always allow', 'a1b2c3'],
      ['ts:reject', 'Reject', 'a1b2c3'],
      ['ts:note', 'Note…', 'a1b2c3'],
    ])
    expect(await bench.adapter.findPost(to, pending('approval:a1b2c3#9', 'card'))).toEqual(ref)
    const owned = new Set([ref.id])
    expect(await bench.adapter.findPost(to, pending('approval:a1b2c3#9', 'card', { owned }))).toBeUndefined()
    const state = { kind: 'closed', outcome: 'rejected', by: 'ada <!here>', note: 'not *now*\nlater' } as const
    await bench.adapter.edit(ref, { kind: 'card', card: card({ state }) })
    const [closed] = bench.sim.own(room, root)
    expect(closed?.buttons).toEqual([])
    expect(closed?.rendered).toContain('Rejected* by ada < !here>')
    expect(closed?.rendered).toContain('not *now*\n> later')
    expect(closed?.pinged).toEqual([])
  })

  test('a long payload is a file before the card; what cannot be shown is refused', async () => {
    bench = await Bench.start()
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    const long = 'x'.repeat(5000)
    expect(bench.adapter.filesBefore(card())).toEqual([])
    expect(bench.adapter.filesBefore(card({}, long))).toEqual([0])
    expect(bench.adapter.filesBefore(card({}, 'echo "<!channel>"'))).toEqual([0])
    await bench.adapter.send(to, { kind: 'card', card: card({}, long) }, 'approval:a1b2c3', noNote)
    const [seen] = bench.sim.own(room, root)
    expect(seen?.rendered).toContain(sha256(long))
    expect(seen?.rendered).toContain('5000 bytes')
    const [call] = card().calls
    const many = card({ calls: Array.from({ length: 60 }, () => call).filter((c) => c !== undefined) })
    await expect(bench.adapter.send(to, { kind: 'card', card: many }, 'approval:b', noNote)).rejects.toThrow(
      'unshowable',
    )
  })
})

describe('buttons, modals, commands', () => {
  async function posted() {
    const to = place()
    const [room = '', root = ''] = to.id.split(':')
    const ref = await bench.adapter.send(to, { kind: 'card', card: card() }, 'approval:a1b2c3', noNote)
    return { room, root, ref }
  }

  test('T1: a press is committed, then acknowledged, after 2 s in any case; its receipt is private; a failing store says so', async () => {
    bench = await Bench.start()
    const { room, root, ref } = await posted()
    let release: () => void = () => {}
    const gate = new Promise<void>((r) => {
      release = r
    })
    bench.inbound.onDecision = async () => {
      await gate
      return { effective: false, text: 'Only ada may decide.' }
    }
    const press = bench.sim.press(bench.ada, room, ref.id, 'ts:reject')
    await expect.poll(() => bench.inbound.decisions.length).toBe(1)
    expect(press.delivery.state).not.toBe('acked')
    await press.ack
    expect(press.delivery.state).toBe('acked')
    expect(bench.inbound.decisions).toMatchObject([{ approval: 'a1b2c3', action: 'reject', by: { id: bench.ada } }])
    release()
    await expect
      .poll(() => bench.sim.ephemerals(bench.ada))
      .toMatchObject([{ rendered: 'Only ada may decide.', threadTs: root }])
    bench.inbound.onDecision = async () => {
      throw new Error('disk full')
    }
    await bench.sim.press(bench.ada, room, ref.id, 'ts:approve').ack
    await expect.poll(() => bench.sim.ephemerals(bench.ada).length).toBe(2)
    expect(bench.sim.ephemerals(bench.ada)[1]?.rendered).toContain('nothing was changed')
  })

  test('a note: the form opens, asks for both, and is handed over', async () => {
    bench = await Bench.start()
    const { room, ref } = await posted()
    await bench.sim.press(bench.ada, room, ref.id, 'ts:note').ack
    await expect.poll(() => bench.sim.views.length).toBe(1)
    const id = bench.sim.views[0]?.id ?? ''
    const empty = bench.sim.submitView(bench.ada, id, { note: { note: ' ' } })
    expect(await empty.ack).toMatchObject({
      response_action: 'errors',
      errors: { choice: 'Choose Approve or Reject.' },
    })
    const choice = { choice: { type: 'radio_buttons', selected_option: { value: 'approve' } } }
    const sent = bench.sim.submitView(bench.ada, id, { choice, note: { note: 'be careful' } })
    await sent.ack
    await expect
      .poll(() => bench.inbound.decisions)
      .toMatchObject([{ action: 'approve', note: 'be careful', approval: 'a1b2c3' }])
    expect(bench.sim.failures).toEqual([])
    bench.sim.faults.on({ method: 'views.open', times: 1, error: 'expired_trigger_id' })
    await bench.sim.press(bench.ada, room, ref.id, 'ts:note').ack
    await expect.poll(() => bench.sim.ephemerals(bench.ada)[0]?.rendered).toContain('press again')
  })

  test('the slash command: words, link with and without token, long and public answers', async () => {
    bench = await Bench.start()
    const { sim, ada, room } = bench
    const long = Array.from({ length: 4000 }, (_, i) => `w${i}`).join(' ')
    bench.inbound.onCommand = async (c) =>
      c.args.text === 'stop'
        ? { text: 'Stopped.', private: false }
        : { text: c.name === 'link' ? 'linked' : long, private: true }
    const used = sim.slash(ada, room, 'status')
    await used.ack
    await expect
      .poll(() => bench.inbound.commands)
      .toMatchObject([{ name: 'words', args: { text: 'status' }, channel: room, key: used.triggerId }])
    await expect
      .poll(() =>
        sim
          .ephemerals(ada)
          .map((e) => e.rendered)
          .join(' ')
          .replace(/\s+/g, ' '),
      )
      .toBe(long)
    await sim.slash(ada, room, 'stop').ack
    await expect.poll(() => sim.own(room).map((m) => m.rendered)).toEqual(['Stopped.'])
    await sim.slash(ada, room, 'link ts_abc').ack
    await expect.poll(() => bench.inbound.commands.at(-1)).toMatchObject({ name: 'link', args: { token: 'ts_abc' } })
    await sim.slash(ada, room, 'link').ack
    await expect.poll(() => sim.views.length).toBe(1)
    await sim.submitView(ada, sim.views[0]?.id ?? '', { token: { token: ' ts_def ' } }).ack
    await expect.poll(() => bench.inbound.commands.at(-1)).toMatchObject({ name: 'link', args: { token: 'ts_def' } })
    await expect.poll(() => sim.ephemerals(ada).at(-1)?.rendered).toBe('linked')
    expect(bench.inbound.commands.length).toBe(4)
  })
})

describe('http mode', () => {
  async function served() {
    bench = await Bench.start({ config: { mode: 'http' } })
    const { createServer } = await import('node:http')
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const headers = Object.entries(request.headers).map(([k, v]): [string, string] => [k, String(v)])
      const body = new Uint8Array(Buffer.concat(parts))
      const answer = await bench.onRequest(new Request('http://x/slack/events', { method: 'POST', headers, body }))
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    })
    await new Promise<void>((r) => server.listen(0, '127.0.0.1', r))
    const { port } = server.address() as { port: number }
    const hook = bench.sim.useHttp({ url: `http://127.0.0.1:${port}/slack/events` })
    return { hook, url: `http://127.0.0.1:${port}/slack/events`, close: () => server.close() }
  }

  test('events, presses, commands, modals; what is not signed or is old is refused', async () => {
    const { hook, url, close } = await served()
    const { sim, ada, room } = bench
    expect(bench.adapter.state().state).toBe('ready')
    expect(await hook.verify()).toBe(true)
    sim.say(ada, sim.im(ada).id, 'over http')
    await expect.poll(() => bench.inbound.messages.map((m) => m.text)).toEqual(['over http'])
    const ref = await bench.adapter.send(
      { platform: 'slack', id: room },
      { kind: 'card', card: card() },
      'approval:a1b2c3',
      noNote,
    )
    await sim.press(ada, room, ref.id, 'ts:note').ack
    await expect.poll(() => sim.views.length).toBe(1)
    const id = sim.views[0]?.id ?? ''
    expect(await sim.submitView(ada, id, {}).ack).toMatchObject({ response_action: 'errors' })
    await sim.slash(ada, room, 'status').ack
    await expect.poll(() => bench.inbound.commands.length).toBe(1)
    expect(sim.appRateLimited()).toBeTruthy()
    const body = JSON.stringify({ type: 'event_callback', event: {} })
    expect((await hook.post(url, body, 'application/json')).status).toBe(200)
    hook.options = { badSignature: true }
    expect((await hook.post(url, body, 'application/json')).status).toBe(401)
    hook.options = { timestampShift: -400 }
    expect((await hook.post(url, body, 'application/json')).status).toBe(401)
    hook.options = {}
    expect((await hook.post(url, 'x'.repeat(1_100_000), 'application/json')).status).toBe(413)
    bench.inbound.onMessage = async () => {
      throw new Error('disk full')
    }
    const lost = sim.say(ada, sim.im(ada).id, 'lost')
    await expect.poll(() => lost.deliveries[0]?.attempts[0]?.status).toBe(500)
    close()
  })
})

describe('for the operator', () => {
  test('doctor: tokens, scopes, Socket Mode', async () => {
    bench = await Bench.start({ begin: false })
    const { sim, config } = bench
    const tokens = { bot: sim.botToken, app: sim.appToken }
    expect((await checkSlack(config, tokens)).map((c) => c.status)).toEqual(['ok', 'ok', 'ok'])
    sim.setScopes(['chat:write'])
    const [, scopes] = await checkSlack(config, tokens)
    expect(scopes).toMatchObject({ status: 'fail', name: 'slack scopes' })
    expect(scopes?.detail).toContain('app_mentions:read')
    sim.revoke('app')
    sim.revoke('bot')
    expect((await checkSlack(config, tokens)).map((c) => c.status)).toEqual(['fail', 'fail'])
    expect((await checkSlack({ ...config, mode: 'http' }, tokens)).at(-1)?.status).toBe('fail')
  })

  test('the scopes of the manifest are enough, and are what is used', async () => {
    bench = await Bench.start({ sim: { scopes: [...SLACK_NEEDS.botScopes] } })
    const manifest = slackManifest(bench.config, 'https://x.example/')
    expect(JSON.stringify(manifest)).not.toContain('request_url')
    const http = JSON.stringify(slackManifest({ ...bench.config, mode: 'http' }, 'https://x.example/'))
    expect(http).toContain('https://x.example/slack/events')
    const to = place()
    await bench.adapter.send(to, { kind: 'file', name: 'a', content: 'x', comment: '' }, 'f', noNote)
    await bench.adapter.addReaction({ platform: 'slack', channel: bench.room, id: to.id.split(':')[1] ?? '' })
    await bench.adapter.fetchMessages(to, { limit: 5 })
    expect(bench.sim.calls.filter((c) => c.error === 'missing_scope')).toEqual([])
  })
})
