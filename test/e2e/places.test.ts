import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { ModelSim } from '../simulators/model/index.ts'
import { turnstone } from '../support/command-line.ts'
import type { DiscordWorld } from '../support/discord-world.ts'
import { until } from '../support/engine.ts'
import { GatewayProcess } from '../support/gateway-process.ts'
import { type SlackWorld, slackWorld } from '../support/slack-world.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'

let s: Stage | undefined
afterEach(async () => {
  const current = s
  s = undefined
  if (!current) return
  expect(current.world.violations()).toEqual([])
  expect(current.model.violations).toEqual([])
  await current.stop()
})

async function on(name: (typeof WORLDS)[number], toml?: string): Promise<Stage> {
  s = await stage(name, toml === undefined ? {} : { toml })
  return s
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe.each(WORLDS)('people and places on %s', (name) => {
  it('a token links an account once; wrong, revoked and unknown ones get the same answer', async () => {
    const t = await on(name)
    const at = { cwd: t.dir, env: { ...t.world.env, OPENAI_API_KEY: t.model.key } }
    await turnstone(['admin', 'user', 'add', 'newcomer'], at)
    const revoked = (await turnstone(['admin', 'token', 'create', 'newcomer'], at)).out.trim()
    await turnstone(['admin', 'token', 'revoke', 'newcomer'], at)
    const good = (await turnstone(['admin', 'token', 'create', 'newcomer'], at)).out.trim()
    const wrong = [`ts_${'0'.repeat(64)}`, 'nonsense', revoked]
    for (const token of wrong) expect(await t.world.link('stranger', token)).toContain('That token is not valid')
    expect(await t.world.link('stranger', good)).toContain('linked as newcomer')
    t.model.script(['welcome'])
    const c = await t.world.mention('stranger', 'hello')
    await t.text(c, 'welcome')
    expect(t.gateway.output.join('\n')).not.toContain(good)
    await t.world.link('stranger', good)
    expect(await t.world.link('stranger', good)).toContain('Too many attempts')
  })

  it('a mention in a thread that people began brings its last messages along, marked with their authors', async () => {
    const t = await on(name)
    const lines = Array.from({ length: 25 }, (_, i) => [i % 2 ? 'alice' : 'bob', `line number ${i}`] as const)
    const c = await t.world.peoplesThread(lines)
    t.model.script(['I have read it'])
    await t.world.write(c, 'alice', 'what do you think?', true)
    await t.text(c, 'I have read it')
    const [context, question] = said(t.model, 'user')
    expect(context).toContain('line number 24')
    expect(context).not.toContain('line number 3\n')
    expect(context).toMatch(/bob.*: line number 24/)
    expect(question).toBe('what do you think?')
  })

  it('a question by command begins a public conversation', async () => {
    const t = await on(name)
    t.model.script(['here it is', 'and on'])
    const c = await t.world.askByCommand('alice', 'tell me about turnstones')
    await t.text(c, 'here it is')
    await t.world.write(c, 'alice', 'go on')
    await t.text(c, 'and on')
    expect(said(t.model, 'user')).toEqual(['tell me about turnstones', 'go on'])
  })

  it('files are read, shown or named with the reason', async () => {
    const t = await on(name, '[models.main.capabilities]\nsupports_vision = true\n')
    t.model.script(['got them'])
    const c = await t.world.withFiles('alice', 'look at these', [
      { name: '../../notes.txt', bytes: Buffer.from('remember the milk') },
      { name: 'picture.bin', bytes: PNG },
      { name: 'empty.txt', bytes: Buffer.alloc(0) },
      { name: 'blob.txt', bytes: Buffer.from([0, 1, 2, 3]) },
      { name: 'large.txt', bytes: Buffer.alloc(300 * 1024, 'x') },
    ])
    await t.text(c, 'got them')
    const [user] = said(t.model, 'user')
    expect(user).toContain('look at these')
    expect(user).toContain('remember the milk')
    expect(user).toContain(`data:image/png;base64,${PNG.toString('base64')}`)
    expect(user).toMatch(/empty\.txt: is empty/)
    expect(user).toMatch(/blob\.txt: is neither text nor an image/)
    expect(user).toMatch(/large\.txt: is text larger than 256 KB/)
    expect(user).not.toContain('../')
    expect(t.world.texts(c).join('\n')).toMatch(/Not read: .*empty\.txt/)
  })

  it('everybody linked is heard and decides where the operator says so', async () => {
    const t = await on(name, '[session]\nspeakers = "linked"\n[approvals]\napprovers = "linked"\n')
    t.model.script(['hello alice', bash('echo hi'), 'done'])
    const c = await t.world.mention('alice', 'hi')
    await t.text(c, 'hello alice')
    await t.world.write(c, 'bob', 'me too')
    const card = await t.card(c)
    expect(said(t.model, 'user')).toEqual(['alice: hi', 'bob: me too'])
    await t.world.press('bob', c, card.id, 'approve')
    await t.text(c, 'done')
  })
})

describe.each(WORLDS)('rules and limits on %s', (name) => {
  it('policy denies, asks and allows, and says which rule', async () => {
    const rules = [
      '[[policy]]\nname = "reads are free"\neffect = "allow"\nact = "exec"\nmatch = "write_file"\n',
      '[[policy]]\nname = "no-secret-plans"\neffect = "deny"\nact = "write"\nmatch = "/**/plans/**"\n',
      '[[policy]]\nname = "ask-bash"\neffect = "ask"\nact = "exec"\nmatch = "bash"\n',
    ]
    const t = await on(name, rules.join(''))
    const write = (path: string) => ({ calls: [{ name: 'write_file', arguments: { path, content: 'x' } }] })
    t.model.script([write('a.txt'), write('plans/b.txt'), bash('echo ok'), 'finished'])
    const c = await t.world.mention('alice', 'go')
    const card = await t.card(c)
    expect(card.buttons).not.toContain('always')
    expect(card.text).toMatch(/ask\\?-bash/)
    await t.world.press('alice', c, card.id, 'approve')
    await t.text(c, 'finished')
    const results = said(t.model, 'tool')
    expect(results[0]).toContain('Wrote 1 character to')
    expect(results[1]).toContain('Blocked by policy rule "no-secret-plans"')
    expect(results[2]).toBe('ok')
  })

  it('outside the workspace asks each time, without Always allow', async () => {
    const t = await on(name)
    t.model.script([{ calls: [{ name: 'read_file', arguments: { path: '/etc/hostname' } }] }, 'seen'])
    const c = await t.world.mention('alice', 'read it')
    const card = await t.card(c)
    expect(card.buttons).toEqual(['approve', 'reject', 'note'])
    expect(card.text).toMatch(/outside the workspace/)
    await t.world.write(c, 'alice', 'a')
    await t.text(c, 'no *Always allow*').catch(() => t.text(c, 'Always allow'))
    await t.world.write(c, 'alice', 'n, not that one')
    await t.text(c, 'seen')
    expect(said(t.model, 'tool')[0]).toContain('Rejected by alice: not that one')
  })

  it('an open card is denied at its time, and its end is shown', async () => {
    const t = await on(name, '[approvals]\ntimeout = "2h"\n')
    t.model.script([bash('echo late'), 'nobody decided'])
    const c = await t.world.mention('alice', 'go')
    const card = await t.card(c)
    t.jump(2 * 3_600_000 + 1000)
    await t.text(c, 'nobody decided')
    expect(said(t.model, 'tool')[0]).toContain('Nobody decided in time')
    const closed = await until(() => t.world.cards(c).find((x) => x.id === card.id && x.buttons.length === 0))
    expect(closed.text).toMatch(/expired/i)
    expect(await readable(t, c, card.id)).toBe(true)
  })

  it('no secret comes out of a tool, not even from the gateway’s own process', async () => {
    const t = await on(name, '[approvals]\nskip_permissions = true\n')
    t.model.script([bash('env; cat /proc/$PPID/environ 2>&1 | tr "\\0" "\\n"; echo end'), 'looked'])
    const c = await t.world.mention('alice', 'go')
    await t.text(c, 'looked')
    const everything =
      JSON.stringify(t.model.completions.map((r) => r.raw)) + t.world.texts(c).join() + t.gateway.output.join()
    for (const secret of [...Object.values(t.world.env), t.model.key]) expect(everything).not.toContain(secret)
    expect(said(t.model, 'tool')[0]).toContain('end')
  })

  it('more than twenty waiting messages are refused and it is said', async () => {
    const t = await on(name)
    const gate = t.model.gate()
    t.model.script([{ text: 'first', holds: [{ at: 'headers', gate }] }, 'all of them'])
    const c = await t.world.mention('alice', 'begin')
    await gate.reached
    for (let i = 0; i < 21; i++) await t.world.write(c, 'alice', `message ${i}`)
    const refused = (): boolean =>
      [...t.world.private('alice'), ...t.world.texts(c)].some((x) => x.includes('20 messages are already waiting'))
    await until(refused, 10_000)
    gate.release()
    await t.text(c, 'all of them')
    const user = said(t.model, 'user').join('|')
    for (let i = 0; i < 20; i++) expect(user).toContain(`message ${i}`)
    expect(user).not.toContain('message 20')
  })

  it('a locked database loses nothing', async () => {
    const t = await on(name)
    t.model.script(['made it'])
    const other = new Database(join(t.dir, 'turnstone.db'))
    other.exec('begin immediate')
    const c = await t.world.mention('alice', 'while it is locked')
    const before = await t.gateway.ask('statements')
    // Each is an attempt to write, or to see whether it can.
    await until(async () => (await t.gateway.ask('statements')) > before + 20)
    other.exec('commit')
    other.close()
    await t.text(c, 'made it')
    expect(said(t.model, 'user')).toEqual(['while it is locked'])
  })

  it('what was written while the gateway was down is read back and answered once', async () => {
    const t = await on(name)
    t.model.script(['one'])
    const c = await t.world.mention('alice', 'hello')
    await t.text(c, 'one')
    await t.gateway.kill()
    await t.world.write(c, 'alice', 'are you down?')
    t.model.script(['back again'])
    await t.crash()
    await t.text(c, 'back again', 20_000)
    expect(said(t.model, 'user')).toEqual(['hello', 'are you down?'])
    expect(t.world.texts(c).filter((x) => x.includes('back again'))).toHaveLength(1)
  })
})

/** Whether the platform still shows the card. */
async function readable(t: Stage, c: Parameters<Stage['card']>[0], id: string): Promise<boolean> {
  return t.world.cards(c).some((x) => x.id === id)
}

describe('Discord alone', () => {
  it('answers in a forum post, and by replies where no thread may be made', async () => {
    const t = await on('discord')
    const world = t.world as DiscordWorld
    const { sim } = world
    const channel = sim.world.channels.get(world.channel)
    if (!channel) throw new Error('no channel')
    sim.deny(channel, 'CREATE_PUBLIC_THREADS')
    t.model.script(['answered by reply'])
    const c = await world.mention('alice', 'hello')
    const reply = await until(
      () => sim.botMessages(world.channel).find((m) => m.content.includes('answered by reply')),
      10_000,
    )
    expect(JSON.stringify(reply.reference)).toContain(c.message)
    expect(
      sim
        .botMessages(world.channel)
        .map((m) => m.content)
        .join('\n'),
    ).toMatch(/Create Public Threads/i)
  })

  it('archives the thread of a conversation that was closed', async () => {
    const t = await on('discord')
    const { sim } = t.world as DiscordWorld
    t.model.script(['hello'])
    const c = await t.world.mention('alice', 'hi')
    await t.text(c, 'hello')
    await t.world.write(c, 'alice', 'close', true)
    await t.text(c, 'Closed by alice')
    t.jump(3000)
    await until(() => sim.world.channels.get(c.room)?.thread?.archived, 10_000)
  })

  it('is not called by @everyone, and leaves channels alone that are not allowed', async () => {
    const t = await on('discord', '')
    const world = t.world as DiscordWorld
    const { sim } = world
    const alice = [...sim.world.users.values()].find((u) => u.username === 'alice')
    const channel = sim.world.channels.get(world.channel)
    if (!alice || !channel) throw new Error('no world')
    sim.say(alice, channel, '@everyone look here')
    t.model.script(['only this'])
    const c = await world.mention('alice', 'really you')
    await t.text(c, 'only this')
    expect(t.model.completions).toHaveLength(1)
  })
})

describe('Slack alone', () => {
  it('message and app_mention of one message are one, in both orders', async () => {
    const t = await on('slack')
    const { sim, channel } = t.world as SlackWorld
    const alice = [...sim.world.users.values()].find((u) => u.name === 'alice')
    if (!alice) throw new Error('no alice')
    t.model.script('an answer')
    for (let i = 0; i < 10; i++) {
      sim.say(alice.id, channel, `${sim.mention} question ${i}`, {
        gapMs: i % 5,
        order: i % 2 ? 'mention-first' : 'message-first',
      })
    }
    await until(() => sim.own(channel).filter((m) => m.rendered.includes('an answer')).length >= 10, 20_000)
    t.jump(61_000)
    const c = await t.world.mention('alice', 'the last')
    await t.text(c, 'an answer')
    expect(t.model.completions).toHaveLength(11)
    expect(sim.own(channel).filter((m) => m.rendered.includes('an answer'))).toHaveLength(11)
  })

  it('serves its HTTP mode: event, press, command and form, signed and acknowledged in time', async () => {
    const world = await slackWorld()
    const model = await ModelSim.start()
    model.script(['over http', bash('echo x'), 'done'])
    const { TURNSTONE_SLACK_TOKEN = '' } = world.env
    const gateway = await GatewayProcess.start({
      toml: `[http]\nport = 0\n[models.main]\nbase_url = "${model.baseUrl}"\napi_key_env = "OPENAI_API_KEY"\nmodel = "sim-model"\n${world.toml.replace('[channels.slack]', '[channels.slack]\nmode = "http"')}`,
      env: {
        TURNSTONE_SLACK_TOKEN,
        TURNSTONE_SLACK_SIGNING_SECRET: world.sim.signingSecret,
        OPENAI_API_KEY: model.key,
      },
    })
    const hook = world.sim.useHttp({ url: `${gateway.url}/slack/events` })
    await hook.verify()
    const c = await world.mention('alice', 'hello')
    await until(() => world.texts(c).find((x) => x.includes('over http')), 10_000)
    await world.write(c, 'alice', 'run')
    const card = await until(() => world.cards(c).find((x) => x.buttons.length > 0), 10_000)
    expect(await world.command('alice', c, 'help')).toContain('Mention me')
    await world.note('alice', c, card.id, 'approve', 'go on')
    await until(() => world.texts(c).find((x) => x.includes('done')), 10_000)
    expect(world.sim.failures).toEqual([])
    hook.options = { badSignature: true }
    const forged = await hook.post(`${gateway.url}/slack/events`, '{"type":"event_callback"}', 'application/json')
    expect(forged.status).toBe(401)
    const large = await fetch(`${gateway.url}/slack/events`, { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) })
    expect(large.status).toBe(413)
    await gateway.stop()
    await Promise.all([world.stop(), model.stop()])
  })
})
