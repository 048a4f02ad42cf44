import { customIds, DiscordSim, type SimChannel, type SimMessage, type SimUser } from '../simulators/discord/index.ts'
import { until } from './engine.ts'
import { SkewedClock } from './skewed-clock.ts'
import { type Button, type Conversation, type PersonName, peopleToml, type SeenCard, type World } from './world.ts'

export interface DiscordWorld extends World {
  readonly sim: DiscordSim
}

/** How long people see that somebody types, ms. */
const TYPING = 10_000

const VERB: Readonly<Record<Button, string>> = { approve: 'approve', always: 'always', reject: 'reject', note: 'note' }

export async function discordWorld(): Promise<DiscordWorld> {
  const clock = new SkewedClock()
  const sim = await DiscordSim.start({ clock })
  sim.rateLimits.enabled = false
  const guild = sim.guild('acme')
  const channel = sim.channel(guild, 'general')
  const people = Object.fromEntries(
    (['alice', 'bob', 'root', 'stranger'] as const).map((name) => [name, sim.user(name, guild)]),
  ) as Record<PersonName, SimUser>
  const roomOf = (id: string): SimChannel => {
    const found = sim.world.channels.get(id)
    if (!found) throw new Error(`no channel ${id}`)
    return found
  }
  const conversation = (m: SimMessage): Conversation => ({ room: m.id, message: m.id })
  const card = (m: SimMessage): SeenCard => ({ id: m.id, text: m.content, buttons: buttonsOf(m), files: filesOf(m) })
  const isCard = (m: SimMessage): boolean => everyId(m).length > 0
  const own = (c: Conversation): SimMessage[] => sim.botMessages(c.room)
  const customIdOf = (id: string, button: Button): string => {
    const message = [...sim.world.messages.values()].find((m) => m.id === id)
    const found = message && everyId(message).find((i) => i.startsWith(`ts:${VERB[button]}:`))
    if (!found) throw new Error(`no button ${button} on ${id}`)
    return found
  }
  return {
    name: 'discord',
    sim,
    channel: channel.id,
    env: { TURNSTONE_DISCORD_TOKEN: sim.token },
    toml: `[channels.discord]\napi_url = "${sim.apiUrl}"\n${peopleToml('discord', (name) => people[name].id)}`,
    async mention(who, text) {
      return conversation(sim.say(people[who], channel, `<@${sim.bot.id}> ${text}`))
    },
    async write(c, who, text, mention = false) {
      await until(() => sim.world.channels.has(c.room))
      return sim.say(people[who], roomOf(c.room), mention ? `<@${sim.bot.id}> ${text}` : text).id
    },
    async direct(who, text) {
      const dm = sim.dm(people[who])
      return { room: dm.id, message: sim.say(people[who], dm, text).id }
    },
    async withFiles(who, text, files) {
      return conversation(sim.say(people[who], channel, `<@${sim.bot.id}> ${text}`, { files: [...files] }))
    },
    async peoplesThread(lines) {
      const [[first, line] = ['alice', 'first'] as const, ...rest] = lines
      const root = sim.say(people[first], channel, line)
      const thread = sim.startThread(people[first], channel, 'a thread', { from: root })
      for (const [who, text] of rest) sim.say(people[who], thread, text)
      return { room: thread.id, message: root.id }
    },
    async link(who, token) {
      const opened = sim.command(people[who], channel, 'link', {})
      const outcome = await opened.outcome
      if (outcome.kind !== 'modal') throw new Error(`no form but ${outcome.kind}`)
      const sent = sim.submitModal(opened, { token })
      await sent.outcome
      return until(() => [sent.shown?.content ?? '', ...sent.followups.map((m) => m.content)].join('').trim())
    },
    async askByCommand(who, question) {
      await until(() => sim.commands.list('').length > 0)
      const ran = sim.command(people[who], channel, 'ask', { prompt: question })
      await ran.outcome
      const thread = await until(() => sim.threadsOf(channel.id).find((t) => t.name.startsWith(question.slice(0, 20))))
      return { room: thread.id, message: thread.id }
    },
    async redeliver(id) {
      sim.redeliver(id)
    },
    texts: (c) =>
      own(c)
        .filter((m) => !isCard(m))
        .map((m) => m.content),
    everSaid: (c) =>
      own(c).flatMap((m) => [m.content, ...m.versions.map((v) => JSON.stringify(v)), ...filesOf(m).map((f) => f.text)]),
    lines: () => sim.botMessages(channel.id).map((m) => m.content),
    cards: (c) => own(c).filter(isCard).map(card),
    async press(who, _c, id, button) {
      const { kind } = await sim.press(people[who], id, customIdOf(id, button)).outcome
      if (kind === 'failed') throw new Error('the press was not acknowledged in time')
    },
    async note(who, _c, id, choice, text) {
      const pressed = sim.press(people[who], id, customIdOf(id, 'note'))
      const outcome = await pressed.outcome
      if (outcome.kind !== 'modal') throw new Error(`no modal but ${outcome.kind}`)
      const sent = await sim.submitModal(pressed, { choice, note: text }).outcome
      if (sent.kind === 'failed') throw new Error('the form was not acknowledged in time')
    },
    async command(who, c, words) {
      const [name = '', ...rest] = words.split(' ')
      const options = optionsOf(name, rest.join(' '))
      const ran = sim.command(people[who], c ? roomOf(c.room) : channel, name, options)
      if ((await ran.outcome).kind === 'failed') throw new Error('the command was not acknowledged in time')
      const said = (): string => [ran.shown?.content ?? '', ...ran.followups.map((m) => m.content)].join('\n').trim()
      return until(said)
    },
    private: (who) => sim.ephemerals(people[who].id).map((m) => m.content),
    signs: (_c, id) => [...(sim.world.messages.get(id)?.reactions.keys() ?? [])],
    filesIn: (c) => own(c).flatMap((m) => m.attachments).length,
    atWork: (c) => (sim.typing(c.room).some((at) => at > clock.now() - TYPING) ? ['typing'] : []),
    losePost: (skip = 0) =>
      sim.faults.on({ method: 'POST', path: /\/messages$/, afterWork: true, hang: true, skip }).off,
    hangEdits: () => sim.faults.on({ method: 'PATCH', path: /\/messages\//, hang: true, times: 1000 }).off,
    hangUnmark: () => sim.faults.on({ method: 'DELETE', path: /\/reactions\//, hang: true }).off,
    async deleteMessage(_c, id) {
      const message = sim.world.messages.get(id)
      if (message) sim.deleteMessage(message)
    },
    pings: () =>
      [...sim.world.messages.values()]
        .filter((m) => m.authorId === sim.bot.id)
        .flatMap((m) => [...(m.pinged.everyone ? ['everyone'] : []), ...m.pinged.users, ...m.pinged.roles]),
    violations: () => sim.specViolations,
    jump: (ms) => clock.jump(ms),
    stop: () => sim.stop(),
  }
}

function optionsOf(name: string, rest: string): Record<string, string> {
  if (!rest) return {}
  const [first = '', ...more] = rest.split(' ')
  if (name === 'ask') return { prompt: rest }
  if (name === 'approvals' && first === 'revoke') return { revoke: more.join(' ') }
  return { name: rest }
}

function everyId(m: SimMessage): string[] {
  return [...customIds(m), ...m.versions.flatMap((v) => customIds({ ...m, components: v.components }))]
}

function buttonsOf(m: SimMessage): Button[] {
  return customIds(m).flatMap((id) => {
    const verb = /^ts:(\w+):/.exec(id)?.[1]
    return verb === 'approve' || verb === 'always' || verb === 'reject' || verb === 'note' ? [verb] : []
  })
}

function filesOf(m: SimMessage): { name: string; text: string }[] {
  return m.attachments.map((a) => ({ name: a.filename, text: Buffer.from(a.bytes).toString('utf8') }))
}
