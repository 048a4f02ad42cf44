import { type SeenMessage, SlackSim } from '../simulators/slack/index.ts'
import { until } from './engine.ts'
import { SkewedClock } from './skewed-clock.ts'
import { type Button, type Conversation, type PersonName, peopleToml, type SeenCard, type World } from './world.ts'

export interface SlackWorld extends World {
  readonly sim: SlackSim
}

export async function slackWorld(): Promise<SlackWorld> {
  const clock = new SkewedClock()
  const sim = await SlackSim.start({ clock })
  sim.limits.on = false
  const users = (['alice', 'bob', 'root', 'stranger'] as const).map((name) => sim.user(name))
  const people = Object.fromEntries(users.map((u) => [u.name, u.id])) as Record<PersonName, string>
  const channel = sim.channel('general', { members: users }).id
  const own = (c: Conversation): SeenMessage[] => sim.own(c.room, c.thread)
  const isCard = (m: SeenMessage): boolean =>
    m.rendered.includes('· turn') && (m.buttons.length > 0 || m.versions.length > 0)
  const said = new Map<string, ReturnType<SlackSim['say']>>()
  const say: SlackSim['say'] = (...args) => {
    const made = sim.say(...args)
    said.set(made.ts, made)
    return made
  }
  const actionOf = (button: Button): string => `ts:${button}`
  return {
    name: 'slack',
    sim,
    channel,
    env: { TURNSTONE_SLACK_TOKEN: sim.botToken, TURNSTONE_SLACK_APP_TOKEN: sim.appToken },
    toml: `[channels.slack]\napi_url = "${sim.apiUrl}"\n${peopleToml('slack', (name) => people[name])}`,
    async mention(who, text) {
      const { ts } = say(people[who], channel, `${sim.mention} ${text}`)
      return { room: channel, thread: ts, message: ts }
    },
    async write(c, who, text, mention = false) {
      const options = c.thread === undefined ? {} : { thread_ts: c.thread }
      return say(people[who], c.room, mention ? `${sim.mention} ${text}` : text, options).ts
    },
    async direct(who, text) {
      const room = sim.im(people[who]).id
      const { ts } = say(people[who], room, text)
      return { room, thread: ts, message: ts }
    },
    async withFiles(who, text, files) {
      const { ts } = say(people[who], channel, `${sim.mention} ${text}`, { files: [...files] })
      return { room: channel, thread: ts, message: ts }
    },
    async peoplesThread(lines) {
      const [[first, line] = ['alice', 'first'] as const, ...rest] = lines
      const { ts } = say(people[first], channel, line)
      for (const [who, text] of rest) say(people[who], channel, text, { thread_ts: ts })
      return { room: channel, thread: ts, message: ts }
    },
    async link(who, token) {
      const before = sim.views.length
      await sim.slash(people[who], channel, 'link').ack
      const view = await until(() => sim.views[before])
      const seen = sim.ephemerals(people[who]).length
      await sim.submitView(people[who], view.id, { token: { token } }).ack
      return until(() => sim.ephemerals(people[who])[seen]?.rendered)
    },
    async askByCommand(who, question) {
      await sim.slash(people[who], channel, question).ack
      const line = await until(() => sim.own(channel).find((m) => m.rendered.includes(question)))
      return { room: channel, thread: line.ts, message: line.ts }
    },
    async redeliver(id) {
      for (const delivery of said.get(id)?.deliveries ?? []) sim.redeliver(delivery)
    },
    texts: (c) =>
      own(c)
        .filter((m) => !isCard(m))
        .map((m) => m.rendered),
    everSaid: (c) =>
      own(c).flatMap((m) => [
        m.rendered,
        JSON.stringify(m.blocks),
        JSON.stringify(m.versions),
        ...m.files.map((f) => f.bytes.toString()),
      ]),
    lines: () =>
      sim
        .own(channel)
        .filter((m) => m.threadTs === undefined)
        .map((m) => m.rendered),
    cards: (c) =>
      own(c)
        .filter(isCard)
        .map((m) => cardOf(m, own(c))),
    async press(who, c, id, button) {
      const pressed = sim.press(people[who], c.room, id, actionOf(button))
      await pressed.ack
      if (pressed.delivery.state === 'failed')
        throw new Error(`the press was not acknowledged: ${pressed.delivery.error}`)
    },
    async note(who, c, id, choice, text) {
      const before = sim.views.length
      sim.press(people[who], c.room, id, actionOf('note'))
      const view = await until(() => sim.views[before])
      const chosen = { type: 'radio_buttons', selected_option: { value: choice } }
      const sent = sim.submitView(people[who], view.id, { choice: { choice: chosen }, note: { note: text } })
      await sent.ack
    },
    async command(who, c, words) {
      const seen = new Set(sim.ephemerals(people[who]).map((l) => l.ts))
      const posted = new Set(sim.messages(c?.room ?? channel).map((m) => m.ts))
      await sim.slash(people[who], c?.room ?? channel, words).ack
      return until(() => {
        const privately = sim.ephemerals(people[who]).find((l) => !seen.has(l.ts))
        const publicly = sim.messages(c?.room ?? channel).find((m) => !posted.has(m.ts) && m.own)
        return privately?.rendered ?? publicly?.rendered
      })
    },
    private: (who) => sim.ephemerals(people[who]).map((l) => l.rendered),
    signs: (c, id) => Object.keys(sim.messages(c.room).find((m) => m.ts === id)?.reactions ?? {}),
    filesIn: (c) => own(c).flatMap((m) => m.files).length,
    atWork: (c) => {
      const status = sim.status(c.room, c.thread ?? c.message)
      return [
        ...(status ? [status] : []),
        ...own(c).flatMap((m) => (m.stream?.state === 'in_progress' ? ['stream'] : [])),
      ]
    },
    losePost: (skip = 0) => {
      let seen = 0
      const when = (): boolean => seen++ === skip
      const ends = ['chat.postMessage', 'chat.startStream', 'files.completeUploadExternal'].map((method) =>
        sim.faults.on({ method, hangAfter: true, when }),
      )
      return () => {
        for (const end of ends) end()
      }
    },
    hangEdits: () => sim.faults.on({ method: 'chat.update', hang: true }),
    hangUnmark: () => sim.faults.on({ method: 'reactions.remove', hang: true, times: 1 }),
    async deleteMessage(c, id) {
      sim.people.delete(c.room, id)
    },
    pings: () => [...sim.world.channels.values()].flatMap((c) => sim.own(c.id).flatMap((m) => m.pinged)),
    violations: () => [],
    jump: (ms) => clock.jump(ms),
    stop: () => sim.stop(),
  }
}

/** On Slack long payloads are messages with a file before the card. */
function cardOf(m: SeenMessage, all: readonly SeenMessage[]): SeenCard {
  const buttons = m.buttons.flatMap((b): Button[] => {
    const verb = /^ts:(approve|always|reject|note)$/.exec(b.actionId)?.[1]
    return verb ? [verb as Button] : []
  })
  const files = all
    .filter((x) => x.files.length > 0 && Number(x.ts) < Number(m.ts))
    .flatMap((x) => x.files.map((f) => ({ name: f.name, text: f.bytes.toString('utf8') })))
  return { id: m.ts, text: m.rendered, buttons, files }
}
