import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { type Answer, ModelSim } from '../simulators/model/index.ts'
import { type DiscordWorld, discordWorld } from '../support/discord-world.ts'
import { GatewayProcess, newDir } from '../support/gateway-process.ts'
import { type SlackWorld, slackWorld } from '../support/slack-world.ts'
import type { Conversation, PersonName, World } from '../support/world.ts'

/** A random number from 0 to 1, the same in every run. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 16807) % 2147483647
    return state / 2147483647
  }
}

/** One gateway between both platforms and a model that breaks now and then. */
export class SoakStage {
  readonly discord: DiscordWorld
  readonly slack: SlackWorld
  readonly model: ModelSim
  readonly dir = newDir()
  readonly conversations: { world: World; c: Conversation; owner: PersonName }[] = []
  gateway!: GatewayProcess
  #skew = 0
  readonly #random: () => number
  /** Whether model and platforms break. */
  breaking = false

  private constructor(discord: DiscordWorld, slack: SlackWorld, model: ModelSim, seed: number) {
    this.discord = discord
    this.slack = slack
    this.model = model
    this.#random = random(seed)
  }

  static async start(seed: number): Promise<SoakStage> {
    const made = new SoakStage(await discordWorld(), await slackWorld(), await ModelSim.start(), seed)
    made.model.script(({ messages }) => {
      // What was said long ago is of no use here.
      made.model.requests.splice(0, Math.max(0, made.model.requests.length - 100))
      return made.#answer(messages)
    })
    await made.startGateway()
    return made
  }

  async startGateway(): Promise<void> {
    const { discord, slack, model, dir } = this
    const onSlack = new Map([...slack.toml.matchAll(/\[users\.(\w+)\]\n.*\n(slack = .*)\n/g)].map((m) => [m[1], m[2]]))
    const people = discord.toml.replace(/\[users\.(\w+)\]\n/g, (head, name) => `${head}${onSlack.get(name)}\n`)
    const toml = `[http]\nport = 0\n[models.main]\nbase_url = "${model.baseUrl}"\nmodel = "sim-model"\napi_key_env = "OPENAI_API_KEY"\n[approvals]\nauto_approve = ["write_file"]\n${slack.toml.replace(/\[users[\s\S]*/, '')}${people}`
    const env = { ...discord.env, ...slack.env, OPENAI_API_KEY: model.key, CLOCK_SKEW: String(this.#skew) }
    this.gateway = await GatewayProcess.start({ dir, toml, env: { ...env, TURNSTONE_LOG_LEVEL: 'warn' } })
  }

  jump(ms: number): void {
    this.#skew += ms
    this.discord.jump(ms)
    this.slack.jump(ms)
    this.gateway.jump(ms)
  }

  query<T = Record<string, unknown>>(sql: string): T[] {
    const db = new Database(`${this.dir}/turnstone.db`, { readonly: true, timeout: 10_000 })
    try {
      return db.prepare(sql).all() as T[]
    } finally {
      db.close()
    }
  }

  /** Accepted messages without an end. */
  open(): number {
    return this.query<{ n: number }>(`select count(*) n from inbox where state in ('queued', 'taken')`)[0]?.n ?? 0
  }

  /** Breaks one thing for a short time. */
  async breakSomething(): Promise<void> {
    const r = this.#random()
    const times = 1 + Math.floor(this.#random() * 3)
    const { discord, slack } = this
    if (r < 0.1) await this.gateway.ask('diskFull', 20 + r * 1000).catch(() => undefined)
    else if (r < 0.25) discord.sim.faults.on({ path: /./, status: 502, times })
    else if (r < 0.35) discord.sim.faults.on({ path: /messages/, drop: true, afterWork: true, times })
    else if (r < 0.5) discord.sim.faults.on({ path: /./, rateLimit: { retryAfter: 1 }, times })
    else if (r < 0.65) slack.sim.faults.on({ method: '*', status: 503, times })
    else if (r < 0.8) slack.sim.faults.on({ method: 'chat.postMessage', dropAfter: true, times })
    else slack.sim.faults.on({ method: '*', retryAfter: 1, times })
  }

  mend(): void {
    this.breaking = false
    this.discord.sim.faults.clear()
    this.slack.sim.faults.clear()
  }

  /** Names every question that has no answer yet; sometimes with a tool before it, sometimes not at all. */
  #answer(messages: readonly Record<string, unknown>[]): Answer {
    const last = messages.findLastIndex((m) => m.role === 'assistant' && m.tool_calls === undefined)
    const now = messages.slice(last + 1)
    const asked = now.filter((m) => m.role === 'user').flatMap((m) => JSON.stringify(m.content).match(/q\d+q/g) ?? [])
    const tag = asked.at(-1) ?? 'q0q'
    const r = this.#random()
    if (this.breaking && r < 0.03) return { http: { status: 500 } }
    if (this.breaking && r < 0.05) return { http: { status: 429, headers: { 'retry-after': '1' } } }
    if (this.breaking && r < 0.08) return { text: `half ${tag}`, chunk: 3, cut: { after: 2, how: 'destroy' } }
    const whole = asked.map((q) => `answer-${q}`).join(' ') || 'nothing was asked'
    if (this.breaking && r < 0.1) return { text: whole, chunk: 4, delayMs: 60 }
    if (now.every((m) => m.role !== 'tool')) {
      const kind = Number(tag.slice(1, -1)) % 50
      if (kind === 0) return { calls: [{ name: 'bash', arguments: { command: `echo ${tag}` } }] }
      if (kind < 5) return { calls: [{ name: 'write_file', arguments: { path: `f${kind}`, content: tag } }] }
    }
    return { text: whole }
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await Promise.all([this.discord.stop(), this.slack.stop(), this.model.stop()])
  }

  /** Looks until it holds while the clocks run fast. */
  async settle(what: string, look: () => boolean, ms: number): Promise<void> {
    for (const end = Date.now() + ms; !look(); ) {
      if (Date.now() > end) throw new Error(`${what}: not within ${ms / 1000} s`)
      await wait(50)
      this.jump(500)
    }
  }
}
