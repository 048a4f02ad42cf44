import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { discordWorld } from '../support/discord-world.ts'
import { until } from '../support/engine.ts'
import { GatewayProcess, newDir } from '../support/gateway-process.ts'
import { slackWorld } from '../support/slack-world.ts'
import type { Button, Conversation, SeenCard, World } from '../support/world.ts'
import type { Checks } from './checks.ts'

const PATIENCE = 20_000
const LABELS: Readonly<Record<Button, string>> = {
  approve: 'Approve',
  always: 'Always allow',
  reject: 'Reject',
  note: 'Note…',
}

interface Scene {
  readonly world: World
  readonly checks: Checks
  readonly conversation: Conversation
  /** How many of the bot's messages were told. */
  told: number
}

/** Plays the conversation on one platform. Rejects where something that must come does not. */
export async function play(
  platform: 'discord' | 'slack',
  checks: Checks,
  { sabotage }: { sabotage: boolean },
): Promise<void> {
  checks.heading(`${platform}: simulated server, real client library, demo model`)
  const world: World = platform === 'discord' ? await discordWorld() : await slackWorld()
  const dir = newDir()
  const options = { dir, toml: `[http]\nport = 0\n${world.toml}`, env: world.env, shipped: true }
  let gateway = await GatewayProcess.start(options)
  try {
    const { body } = await gateway.health()
    const channels = body.channels as Record<string, string>
    checks.check(`/health says that ${platform} is ready`, channels[platform] === 'ready', JSON.stringify(channels))
    const scene = await mention(world, checks)
    await approved(scene, sabotage)
    await refused(scene)
    await always(scene)
    await openCard(scene)
    checks.says('(restart)', 'the gateway is stopped and started again while the card is open')
    const stopped = await gateway.stop()
    checks.check(
      'it stops with exit code 0 within 8 s',
      stopped.code === 0 && stopped.ms < 8000,
      JSON.stringify(stopped),
    )
    gateway = await GatewayProcess.start(options)
    await pressedAfterRestart(scene, dir)
    await strangers(scene)
    checks.check('nobody was pinged', world.pings().length === 0, world.pings().join())
    checks.check('every request fits the platform’s own description', world.violations().length === 0)
  } finally {
    await gateway.stop()
    await world.stop()
  }
}

async function mention(world: World, checks: Checks): Promise<Scene> {
  checks.says('alice', '@turnstone hello')
  const conversation = await world.mention('alice', 'hello')
  const scene: Scene = { world, checks, conversation, told: 0 }
  const text = await answer(scene, 'demo model')
  checks.check('a mention is answered in its own thread by the demo model', text.includes('demo model'))
  return scene
}

async function approved(scene: Scene, sabotage: boolean): Promise<void> {
  const card = await ask(scene, 'run echo hello from bash')
  scene.checks.check('the card shows the command', card.text.includes('echo hello from bash'))
  scene.checks.check('it has all four buttons', card.buttons.length === 4, card.buttons.join())
  await press(scene, card, sabotage ? 'reject' : 'approve')
  const text = await answer(scene, 'returned')
  scene.checks.check(
    'the approved command has run',
    text.includes('hello from bash') && !text.includes('not run'),
    text,
  )
  const closed = await until(
    () => scene.world.cards(scene.conversation).find((c) => c.id === card.id && c.buttons.length === 0),
    PATIENCE,
  )
  scene.checks.check('the card says who decided, and its buttons are gone', closed.text.includes('alice'), closed.text)
}

async function refused(scene: Scene): Promise<void> {
  const card = await ask(scene, 'run echo never')
  await press(scene, card, 'reject')
  const text = await answer(scene, 'returned', 'Rejected by alice')
  scene.checks.check('a refused call is not run, and the model is told', text.includes('It was not run'), text)
}

async function always(scene: Scene): Promise<void> {
  const card = await ask(scene, 'run echo one')
  await press(scene, card, 'always')
  await answer(scene, 'returned', 'one')
  const before = scene.world.cards(scene.conversation).length
  await write(scene, 'run echo two')
  await answer(scene, 'returned', 'two')
  const after = scene.world.cards(scene.conversation).length
  scene.checks.check('after Always allow the next command runs without a card', before === after)
}

async function openCard(scene: Scene): Promise<void> {
  const card = await ask(scene, 'write notes.txt: kept over a restart')
  scene.checks.check('another tool still asks', card.text.includes('notes.txt'), card.text)
}

async function pressedAfterRestart(scene: Scene, dir: string): Promise<void> {
  const card = await until(() => scene.world.cards(scene.conversation).find((c) => c.buttons.length > 0), PATIENCE)
  await press(scene, card, 'approve')
  await answer(scene, 'returned', 'Wrote')
  const written = readFileSync(join(dir, 'workspace/notes.txt'), 'utf8')
  scene.checks.check(
    'the card from before the restart still works, and the file is written',
    written === 'kept over a restart',
  )
  const answers = scene.world.texts(scene.conversation).filter((t) => t.includes('returned'))
  scene.checks.check(
    'each of the five answers appears exactly once',
    answers.length === 5 && new Set(answers).size === 5,
  )
}

async function strangers(scene: Scene): Promise<void> {
  const { world, checks } = scene
  checks.says('stranger', '@turnstone let me in')
  const c = await world.mention('stranger', 'let me in')
  const all = (): readonly string[] => [...world.private('stranger'), ...world.lines(), ...world.texts(c)]
  const told = await until(() => all().find((t) => t.includes('not linked yet')), PATIENCE)
  checks.says('turnstone', `(${world.name === 'slack' ? 'to stranger alone' : 'a reply'}) ${told}`)
  checks.check(
    'people who are not linked are told how to link, and nothing else',
    !all().some((t) => t.includes('demo model')),
  )
}

async function write(scene: Scene, text: string): Promise<void> {
  scene.checks.says('alice', text)
  await scene.world.write(scene.conversation, 'alice', text)
}

async function ask(scene: Scene, text: string): Promise<SeenCard> {
  await write(scene, text)
  const card = await until(() => scene.world.cards(scene.conversation).find((c) => c.buttons.length > 0), PATIENCE)
  scene.checks.says('turnstone', `${card.text}\n[${card.buttons.map((b) => LABELS[b]).join('] [')}]`)
  return card
}

async function press(scene: Scene, card: SeenCard, button: Button): Promise<void> {
  scene.checks.says('alice', `(presses ${LABELS[button]})`)
  await scene.world.press('alice', scene.conversation, card.id, button)
}

/** The next message that holds all of this and was not told yet. */
async function answer(scene: Scene, ...parts: string[]): Promise<string> {
  const { world, conversation } = scene
  const look = (): string | undefined =>
    world
      .texts(conversation)
      .slice(scene.told)
      .find((t) => parts.every((p) => t.includes(p)))
  const text = await until(look, PATIENCE)
  scene.told = world.texts(conversation).length
  scene.checks.says('turnstone', text)
  return text
}
