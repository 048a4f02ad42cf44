import { ModelSim } from '../simulators/model/index.ts'
import { discordWorld } from './discord-world.ts'
import { until } from './engine.ts'
import { GatewayProcess, newDir } from './gateway-process.ts'
import { slackWorld } from './slack-world.ts'
import type { Conversation, SeenCard, World } from './world.ts'

export const WORLDS = ['discord', 'slack'] as const

/** One platform, a model server and the product as a child process between them. */
export interface Stage {
  readonly world: World
  readonly model: ModelSim
  readonly dir: string
  gateway: GatewayProcess
  /** Ends the process as a crash does and starts it again on the same files and with the same clock. */
  crash(meanwhile?: () => void | Promise<void>): Promise<void>
  restart(): Promise<void>
  /** After it has ended: on the same files and with the same clock. */
  start(): Promise<void>
  /** Both clocks: the product's and the platform's. */
  jump(ms: number): void
  /** The open card of a conversation. */
  card(c: Conversation): Promise<SeenCard>
  /** Waits for a text of the bot that holds this. */
  text(c: Conversation, part: string, ms?: number): Promise<string>
  stop(): Promise<void>
}

export async function stage(
  name: (typeof WORLDS)[number],
  more: {
    toml?: string | ((world: World) => string)
    shipped?: boolean
    /** Keys of the channel's table. */
    channel?: (world: World) => string
    /** Keys of the model's table. */
    model?: string
  } = {},
): Promise<Stage> {
  const world: World = name === 'discord' ? await discordWorld() : await slackWorld()
  const model = await ModelSim.start()
  const dir = newDir()
  const tables = world.toml.replace(/^\[channels\.\w+\]\n/, (head) => `${head}${more.channel?.(world) ?? ''}\n`)
  const rest = typeof more.toml === 'function' ? more.toml(world) : (more.toml ?? '')
  const options = {
    dir,
    toml: `[http]\nport = 0\n[models.main]\nbase_url = "${model.baseUrl}"\napi_key_env = "OPENAI_API_KEY"\nmodel = "sim-model"\n${more.model ?? ''}\n${tables}${rest}`,
    env: { ...world.env, OPENAI_API_KEY: model.key },
    shipped: more.shipped ?? false,
  }
  let skew = 0
  const start = (): Promise<GatewayProcess> =>
    GatewayProcess.start({ ...options, env: { ...options.env, CLOCK_SKEW: String(skew) } })
  const made: Stage = {
    world,
    model,
    dir,
    gateway: await start(),
    async crash(meanwhile) {
      await made.gateway.kill()
      await meanwhile?.()
      made.gateway = await start()
    },
    async restart() {
      await made.gateway.stop()
      made.gateway = await start()
    },
    async start() {
      made.gateway = await start()
    },
    jump(ms) {
      skew += ms
      world.jump(ms)
      made.gateway.jump(ms)
    },
    card: (c) => until(() => world.cards(c).find((card) => card.buttons.length > 0), 10_000),
    text: (c, part, ms = 10_000) => until(() => world.texts(c).find((t) => t.includes(part)), ms),
    async stop() {
      await made.gateway.stop()
      await world.stop()
      await model.stop()
    },
  }
  return made
}

/** The texts of the last request's messages of a role. */
export function said(model: ModelSim, role: string, n = -1): string[] {
  const request = model.completions.at(n)
  const messages = (request?.messages ?? []) as unknown as readonly { role: string; content: unknown }[]
  return messages
    .filter((m) => m.role === role)
    .map((m) => (typeof m.content === 'string' ? m.content : JSON.stringify(m.content)))
}

/** An answer of the model that calls bash. */
export function bash(
  command: string,
  text = '',
): { text: string; calls: { name: string; arguments: { command: string } }[] } {
  return { text, calls: [{ name: 'bash', arguments: { command } }] }
}
