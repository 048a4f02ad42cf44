import { afterEach, describe, expect, it } from 'vitest'
import type { DiscordWorld } from '../support/discord-world.ts'
import { until } from '../support/engine.ts'
import type { SlackWorld } from '../support/slack-world.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'
import type { PersonName, World } from '../support/world.ts'

let s: Stage | undefined
afterEach(async () => {
  const current = s
  s = undefined
  if (!current) return
  expect(current.world.violations()).toEqual([])
  expect(current.model.violations).toEqual([])
  expect(current.world.pings()).toEqual([])
  await current.stop()
})

const channelOf = (world: World): string => (world as DiscordWorld | SlackWorld).channel

/** What the platforms differ in for these tests. */
interface Ground {
  readonly bot: string
  /** Another channel, in which everybody is. */
  other(): string
  say(who: PersonName, room: string, text: string): string
  /** Another bot says something; `mention` names us. */
  botSays(room: string, text: string, thread?: string): void
  /** Our messages there, in its threads too, and private lines. */
  ours(room: string): readonly string[]
  /** All that may happen to messages without anybody's writing a new one. */
  noise(room: string, message: string): void
  rename(who: PersonName, name: string): void
}

function discordGround({ sim }: DiscordWorld): Ground {
  const [guild] = [...sim.world.guilds.values()]
  if (!guild) throw new Error('no guild')
  const peer = sim.otherBot('peer', guild)
  const userOf = (who: string) => {
    const user = [...sim.world.users.values()].find((u) => u.username === who)
    if (!user) throw new Error(`no ${who}`)
    return user
  }
  const channel = (id: string) => {
    const found = sim.world.channels.get(id)
    if (!found) throw new Error(`no channel ${id}`)
    return found
  }
  const messageOf = (id: string) => {
    const found = sim.world.messages.get(id)
    if (!found) throw new Error(`no message ${id}`)
    return found
  }
  return {
    bot: peer.id,
    other: () => sim.channel(guild, 'other').id,
    say: (who, room, text) => sim.say(userOf(who), channel(room), `<@${sim.bot.id}> ${text}`).id,
    botSays: (room, text, thread) => void sim.say(peer, channel(thread ?? room), `<@${sim.bot.id}> ${text}`),
    ours: (room) =>
      [room, ...sim.threadsOf(room).map((t) => t.id)].flatMap((id) => sim.botMessages(id).map((m) => m.content)),
    noise(_room, id) {
      const m = messageOf(id)
      sim.editOwn(m, `${m.content} (edited)`)
      sim.addEmbed(m, { title: 'preview', type: 'link' })
      for (const own of sim.botMessages(m.id)) sim.addEmbed(own, { title: 'preview', type: 'link' })
      sim.say(userOf('bob'), channel(m.channelId), '', { type: 7 })
    },
    rename(who, name) {
      userOf(who).globalName = name
    },
  }
}

function slackGround({ sim }: SlackWorld): Ground {
  sim.noise({ ownEvents: true, threadUpdates: true })
  const users = [...sim.world.users.values()]
  const userOf = (who: string) => {
    const user = users.find((u) => u.name === who)
    if (!user) throw new Error(`no ${who}`)
    return user
  }
  const ids = new Map(users.map((u) => [u.name, u.id]))
  const idOf = (who: string): string => ids.get(who) ?? ''
  return {
    bot: 'U0OTHERBOT',
    other: () => sim.channel('other', { members: users }).id,
    say: (who, room, text) => sim.say(idOf(who), room, `${sim.mention} ${text}`).ts,
    botSays: (room, text, thread) =>
      void sim.people.sayAsApp(room, `${sim.mention} ${text}`, thread ? { thread_ts: thread } : {}),
    ours: (room) => [
      ...sim.own(room).map((m) => m.rendered),
      ...sim
        .ephemerals()
        .filter((e) => e.channel === room)
        .map((e) => e.rendered),
    ],
    noise(room, ts) {
      sim.people.edit(room, ts, `${sim.mention} hello (edited)`, { mention: true })
      sim.people.touch(room, ts)
      for (const own of sim.own(room, ts)) sim.people.touch(room, own.ts)
      sim.people.touch(room, ts, { reply_count: 7 })
      sim.people.join(idOf('bob'), room)
      sim.people.notice(room, 'Reminder: something', ts)
    },
    rename(who, name) {
      userOf(who).name = name
    },
  }
}

function groundOf(world: World): Ground {
  return world.name === 'discord' ? discordGround(world as DiscordWorld) : slackGround(world as SlackWorld)
}

describe.each(WORLDS)('places and others on %s', (name) => {
  it('nothing is ever posted in a channel that is not allowed', async () => {
    s = await stage(name, { channel: (w) => `channels = ["${channelOf(w)}"]` })
    const ground = groundOf(s.world)
    const other = ground.other()
    for (let i = 0; i < 40; i++) ground.say('alice', other, `question ${i}`)
    ground.say('stranger', other, 'who are you?')
    ground.say('alice', other, '')
    ground.say('alice', other, 'stop')
    ground.botSays(other, 'hello')
    s.model.script(['allowed here'])
    const c = await s.world.mention('alice', 'hi')
    await s.text(c, 'allowed here')
    expect(ground.ours(other)).toEqual([])
    expect(s.model.completions).toHaveLength(1)
  })

  it('edits, previews, joins, reply counts and other bots begin no turn', async () => {
    s = await stage(name)
    const ground = groundOf(s.world)
    s.model.script(['hello', 'second'])
    const c = await s.world.mention('alice', 'hello')
    await s.text(c, 'hello')
    for (let i = 0; i < 3; i++) ground.noise(channelOf(s.world), c.message)
    ground.botSays(channelOf(s.world), 'hello, friend')
    ground.botSays(channelOf(s.world), 'hello, friend', c.thread ?? c.room)
    await s.world.write(c, 'alice', 'next')
    await s.text(c, 'second')
    expect(said(s.model, 'user')).toEqual(['hello', 'next'])
    expect(s.model.completions).toHaveLength(2)
  })

  it('an allowed bot is cut off after ten turns in a row, also where each would begin a new thread', async () => {
    const at: { ground?: Ground } = {}
    s = await stage(name, {
      channel: (w) => {
        at.ground = groundOf(w)
        return `bots = ["${at.ground.bot}"]`
      },
      toml: () => `[users.peer]\n${name} = ["${at.ground?.bot}"]\n`,
    })
    const { ground, stage: t } = { ground: at.ground, stage: s }
    if (!ground) throw new Error('no ground')
    const room = channelOf(t.world)
    let answers = 0
    t.model.script(() => `answer ${++answers}`)
    for (let i = 0; i < 14; i++) {
      ground.botSays(room, `ping ${i}`)
      t.jump(10_000)
      if (i < 10) await until(() => ground.ours(room).some((m) => m.includes(`answer ${i + 1}`)))
    }
    const notices = (): readonly string[] => ground.ours(room).filter((m) => m.includes('came from bots'))
    await until(() => notices().length > 0)
    expect(answers).toBe(10)
    expect(notices()).toHaveLength(1)
    t.jump(61_000)
    const c = await t.world.mention('alice', 'a person')
    await t.text(c, 'answer 11')
    ground.botSays(room, 'and again')
    await until(() => ground.ours(room).some((m) => m.includes('answer 12')))
  })

  it('names of people are plain words wherever they stand', async () => {
    const nasty = '@everyone **B** `x` <!channel> [y](http://z) '
    s = await stage(name, { toml: '[session]\nspeakers = "linked"\n[approvals]\napprovers = "linked"\n' })
    const ground = groundOf(s.world)
    ground.rename('alice', nasty)
    s.model.script([bash('echo hi'), 'done'])
    const c = await s.world.askByCommand('alice', 'who am I?')
    await s.world.press('alice', c, (await s.card(c)).id, 'approve')
    await s.text(c, 'done')
    const line = ground.ours(channelOf(s.world)).find((m) => m.includes('asks')) ?? ''
    expect(line).toContain('who am I?')
    expect(line).not.toMatch(/(?<!\\)\*\*B(?<!\\)\*\*|(?<!\\)\[y\]\(http/)
  })

  it('words are commands only as a whole, and in a thread without a conversation of ours they touch no other', async () => {
    s = await stage(name)
    s.model.script(['first answer'])
    const mine = await s.world.mention('alice', 'the first')
    await s.text(mine, 'first answer')
    s.model.script(['about the press', 'about the links'])
    const press = await s.world.askByCommand('alice', 'stop the press, how is it done?')
    await s.text(press, 'about the press')
    const links = await s.world.askByCommand('alice', 'link me to the docs of it')
    await s.text(links, 'about the links')
    const before = s.model.completions.length
    const theirs = await s.world.peoplesThread([
      ['alice', 'we talk'],
      ['bob', 'yes'],
    ])
    await s.world.write(theirs, 'alice', 'close', true)
    await until(() =>
      [...(s?.world.private('alice') ?? []), ...(s?.world.texts(theirs) ?? [])].some((t) =>
        t.includes('no open conversation'),
      ),
    )
    expect(s.model.completions).toHaveLength(before)
    s.model.script(['still open'])
    await s.world.write(mine, 'alice', 'and you?')
    await s.text(mine, 'still open')
  })

  it('a long question by command is shown whole and begins one conversation', async () => {
    s = await stage(name)
    const question = Array.from({ length: 700 }, (_, i) => `word${i}`).join(' ')
    s.model.script(['answered', 'and on'])
    const ground = groundOf(s.world)
    await s.world.askByCommand('alice', question).catch(() => undefined)
    await until(() => ground.ours(channelOf(s?.world as World)).some((m) => m.includes('answered')), 10_000)
    const shown = ground.ours(channelOf(s.world)).join(' ')
    expect(shown.match(/word\d+/g)).toEqual(question.split(' '))
    expect(said(s.model, 'user')).toEqual([question])
  })
})
