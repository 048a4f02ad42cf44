import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { ModelRequest } from '../simulators/model/index.ts'
import { until } from './engine.ts'
import { linesOf, soon } from './recovery.ts'
import { bash, type Stage, said } from './stage.ts'
import type { Conversation } from './world.ts'

/**
 * What is cut: a turn with a step that asks nobody and one that asks, up to its card; the decision, up to the answer; the
 * card's second post after somebody deleted it.
 */
export const PHASES = ['turn', 'decision', 'repost'] as const
export type Phase = (typeof PHASES)[number]

export const KILL_TOML = '[approvals]\nauto_approve = ["write_file"]\n'

/** How long a person waits before they press again, ms. */
const PRESS_AGAIN_MS = 1500
/** After what can be seen has come, statements may still follow for so long, ms. */
const SETTLE_MS = 150

/** One run: what was said and done in it. */
export interface RunReport {
  /** Whether the process was killed at its statement; there may be fewer statements than last time. */
  readonly killed: boolean
  /** Statements of the phase where it was not killed. */
  readonly statements: number
  /** What is not as it must be. */
  readonly faults: readonly string[]
}

/** Runs conversations on a stage and kills its process at statements of theirs. */
export class KillRuns {
  readonly #s: Stage
  /** What each phase's conversation looks like when nothing is killed. */
  readonly #undisturbed = new Map<Phase, readonly string[]>()
  #next = 0
  constructor(s: Stage) {
    this.#s = s
    s.model.script(answer)
  }

  get platform(): string {
    return this.#s.world.name
  }

  /** Without a kill; how many statements the phase has. */
  async count(phase: Phase): Promise<number> {
    const counts: number[] = []
    // Twice: the regular look at everything may fall into one of them.
    for (let i = 0; i < 2; i++) {
      const { statements, faults } = await this.run(phase, Number.MAX_SAFE_INTEGER)
      if (faults.length > 0) throw new Error(`without a kill: ${faults.join('; ')}`)
      counts.push(statements)
    }
    return Math.min(...counts)
  }

  /** Kills before the `at`th statement of the phase, from 1, starts again, and looks at everything. */
  async run(phase: Phase, at: number): Promise<RunReport> {
    const s = this.#s
    const tag = `${phase}-${this.#next++}-`
    s.jump(20_000)
    const conversation = await this.#perform(phase, tag, at)
    const { killed, statements } = conversation
    let c = conversation.c
    try {
      if (killed) {
        await s.start()
        // What was begun before is old enough to be looked for.
        s.jump(11_000)
        c = await this.#accepted(c, tag)
      }
      await this.#toTheEnd(c, tag)
      return { killed, statements, faults: await this.#faults(phase, c, tag) }
    } catch (error) {
      const state = [`texts ${JSON.stringify(s.world.texts(c))}`, `cards ${JSON.stringify(s.world.cards(c))}`]
      return { killed, statements, faults: [String(error), ...state, ...this.#rows(tag)] }
    }
  }

  /** In real time first: a jump makes work that is not the phase's own. */
  async #see<T>(look: () => T): Promise<NonNullable<T>> {
    return until(look, 1500).catch(() => soon(this.#s, look))
  }

  async #perform(
    phase: Phase,
    tag: string,
    at: number,
  ): Promise<{ c: Conversation; killed: boolean; statements: number }> {
    const s = this.#s
    if (phase === 'turn') await s.gateway.ask('arm', at)
    const c = await s.world.mention('alice', tag)
    const open = (): string | undefined => s.world.cards(c).find((card) => card.buttons.length > 0)?.id
    const ended = (): boolean => s.gateway.ended
    if (phase === 'turn') {
      await this.#see(() => ended() || open())
    } else {
      const card = await this.#see(open)
      await this.#quiet()
      await s.gateway.ask('arm', at)
      if (phase === 'decision') {
        await s.world.press('alice', c, card, 'approve').catch(() => undefined)
        await this.#see(() => ended() || s.world.texts(c).some((t) => t.includes(`answer-${tag}`)))
      } else {
        await s.world.deleteMessage(c, card)
        await this.#see(() => ended() || (open() !== undefined && open() !== card))
      }
    }
    const statements = await this.#quiet()
    if (s.gateway.ended) return { c, killed: true, statements }
    await s.gateway.ask('arm', Number.MAX_SAFE_INTEGER)
    return { c, killed: false, statements }
  }

  /** Waits until it asks the database nothing more, or has ended; how many statements it was since it was armed. */
  async #quiet(): Promise<number> {
    let last = -1
    for (let quiet = 0; quiet < SETTLE_MS; quiet += 25) {
      const now = await this.#s.gateway.ask('statements').catch(() => undefined)
      if (now === undefined) break
      if (now !== last) quiet = 0
      last = now
      await wait(25)
    }
    if (last < 0) await this.#s.gateway.exited()
    return last
  }

  /** A message that was not stored is sent again by the platform, or else by the person. */
  async #accepted(c: Conversation, tag: string): Promise<Conversation> {
    const s = this.#s
    // While a database is recovered it answers nobody: that is no answer.
    const look = (): boolean | undefined => {
      try {
        return this.#query(`select 1 from inbox where text like '%${tag}%'`).length > 0
      } catch {
        return undefined
      }
    }
    await until(() => look() !== undefined)
    // What was missed in many conversations is read no faster than Discord's 50 requests a second.
    const found = await soon(s, look, s.world.name === 'slack' ? 15_000 : 3000).catch(() => false)
    if (found) return c
    if (s.world.name === 'slack') throw new Error('the message was not sent again')
    return s.world.mention('alice', tag)
  }

  /** A person presses while there are buttons; until the answer stands there and everything is over. */
  async #toTheEnd(c: Conversation, tag: string): Promise<void> {
    const s = this.#s
    let pressed = 0
    await soon(
      s,
      async () => {
        const card = s.world.cards(c).find((x) => x.buttons.length > 0)
        if (card && Date.now() - pressed > PRESS_AGAIN_MS) {
          pressed = Date.now()
          await s.world.press('alice', c, card.id, 'approve').catch(() => undefined)
        }
        return s.world.texts(c).some((t) => t.includes(`answer-${tag}`))
      },
      20_000,
    )
    await soon(s, () => this.#rows(tag).length === 0)
    await soon(
      s,
      () => s.world.signs(c, c.message).length === 0 && s.world.cards(c).every((x) => x.buttons.length === 0),
    )
  }

  /** What is not over in the database. */
  #rows(tag: string): string[] {
    const left = (what: string, sql: string): string[] =>
      this.#query(sql).map((row) => `left over: ${what} ${JSON.stringify(row)}`)
    return [
      ...left('inbox', `select text, state from inbox where state not in ('done', 'failed') and text like '%${tag}%'`),
      ...left('turn', `select id, state, tries from turns where state in ('running', 'parked')`),
      ...left('job', 'select key, state, attempt from jobs'),
      ...left(
        'approval',
        `select id, state, card_up_to_date from approvals where state = 'open' or card_up_to_date = 0`,
      ),
      ...left('post', 'select key, at from posts where ref is null'),
    ]
  }

  async #faults(phase: Phase, c: Conversation, tag: string): Promise<string[]> {
    const s = this.#s
    const faults = this.#rows(tag)
    const is = (what: string, found: unknown, wanted: unknown): void => {
      if (JSON.stringify(found) === JSON.stringify(wanted)) return
      faults.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
    }
    const texts = s.world.texts(c)
    const plain = texts.map((t) => plainOf(t, tag))
    if (!this.#undisturbed.has(phase)) this.#undisturbed.set(phase, plain)
    is('texts', plain, this.#undisturbed.get(phase))
    is('answers', texts.join('\n').split(`answer-${tag}`).length - 1, 1)
    is('cards', s.world.cards(c).length, 1)
    const results = said(s.model, 'tool')
    const unknown = (results.at(-1) ?? '').includes('Its outcome is unknown')
    const ran = linesOf(s, 'approved').filter((line) => line === tag).length
    if (!(ran === 1 || (unknown && ran === 0))) faults.push(`the approved call ran ${ran} times`)
    if (!unknown) is('the last result', results.at(-1), `did ${tag}`)
    is('results', results.length, phase === 'turn' ? 2 : 1)
    is('messages that the model got', said(s.model, 'user').length, 1)
    is('ends of turns', this.#query(`select state from turns where state != 'done'`), [])
    return faults
  }

  #query(sql: string): unknown[] {
    const db = new Database(join(this.#s.dir, 'turnstone.db'), { readonly: true, timeout: 5000 })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
}

/** What a conversation says whoever was killed: without its name and without lines that say what was cut short. */
function plainOf(text: string, tag: string): string {
  return text
    .replaceAll(tag, '#')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('Interrupted by a restart') && !/`|✅|⚠|❓|❌/u.test(line))
    .join('\n')
}

/** By what the conversation holds, so that a request that is made again gets the same answer. */
function answer({ messages }: ModelRequest) {
  const from = messages.findLastIndex((m) => m.role === 'user')
  const tag = /(?:turn|decision|repost)-\d+-/.exec(JSON.stringify(messages[from]?.content))?.[0] ?? ''
  const done = messages.slice(from + 1).filter((m) => m.role === 'tool').length
  const steps = [
    ...(tag.startsWith('turn')
      ? [{ text: `before-${tag}`, calls: [{ name: 'write_file', arguments: { path: `${tag}file`, content: tag } }] }]
      : []),
    bash(`echo ${tag} >> approved; echo did ${tag}`, `middle-${tag}`),
  ]
  return steps[done] ?? { text: `answer-${tag}` }
}

/** At most `most` of the statements from 1 to `total`, spread evenly. */
function spread(total: number, most: number): number[] {
  const n = Math.min(total, most)
  return Array.from({ length: n }, (_, i) => Math.round(1 + (i * (total - 1)) / Math.max(1, n - 1)))
}

/** Kills at `most` statements of a phase at most, and prints what that came to. */
export async function killAt(
  runs: KillRuns,
  phase: Phase,
  most = Number.POSITIVE_INFINITY,
): Promise<{ total: number; kills: number; faults: string[] }> {
  const total = await runs.count(phase)
  const begun = Date.now()
  const faults: string[] = []
  let kills = 0
  for (const at of spread(total, most)) {
    let report = await runs.run(phase, at)
    // Not every run has as many statements as the first.
    if (!report.killed) report = await runs.run(phase, report.statements - 1)
    if (report.killed) kills++
    faults.push(...report.faults.map((fault) => `killed at ${at} of ${total}: ${fault}`))
  }
  const minutes = ((Date.now() - begun) / 60_000).toFixed(1)
  process.stdout.write(`${runs.platform}, ${phase}: ${total} statements, ${kills} kills, ${minutes} minutes\n`)
  return { total, kills, faults }
}
