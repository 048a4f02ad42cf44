import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { random, SoakStage } from './soak-stage.ts'

/** 10 minutes; `SOAK_MINUTES` makes it shorter, to try it. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 10)
const MESSAGES = MINUTES * 1000
const WORKSTREAMS = 200
/** A person may write 30 messages a minute, and there are three; some come late and together, ms. */
const PACE_MS = 1000
/** Accepted messages that wait for their end at once. */
const MOST_OPEN = 40
const PEOPLE = ['alice', 'bob', 'root'] as const
/** Tables that grow with what people write; what is kept and for how long is in docs/operating.md. */
const GROWING = ['inbox', 'turns', 'journal', 'posts', 'usage', 'seen', 'audit', 'approvals']
/** Tables that do not. */
const STEADY = ['workstreams', 'jobs', 'grants', 'blobs', 'links', 'users']
/** Files that the model may write in each workstream. */
const FILES = 4

const rnd = random(11)
let s: SoakStage
let sent = 0

beforeAll(async () => {
  s = await SoakStage.start(7)
})
afterAll(async () => {
  await s.stop()
})

const say = (line: string): boolean => process.stdout.write(`${line}\n`)

async function ask(): Promise<void> {
  const at = s.conversations[Math.floor(rnd() * s.conversations.length)]
  if (!at) throw new Error('there is no conversation')
  sent++
  s.jump(PACE_MS)
  await at.world.write(at.c, at.owner, `q${sent}q`)
}

/** Who waits for a decision gets one. */
async function decide(): Promise<void> {
  const open = new Set(
    s
      .query<{ address: string }>(
        `select w.address from approvals a join workstreams w on w.id = a.ws_id where a.state = 'open' and a.card_up_to_date = 1`,
      )
      .map((r) => r.address),
  )
  for (const { world, c } of s.conversations) {
    if (!open.has(c.thread === undefined ? c.room : c.thread) && ![...open].some((a) => a.includes(c.message))) continue
    s.jump(PACE_MS)
    await world.write(c, 'root', 'y')
  }
}

/** Writes and breaks things; `each` is called between two messages, false ends it. */
async function talk(each: () => Promise<boolean> | boolean): Promise<void> {
  s.breaking = true
  for (let n = 1; await each(); n++) {
    await ask()
    if (n % 15 === 0) await s.breakSomething()
    if (n % 50 === 0) await decide()
    await wait(1)
    for (let waited = 0; s.open() >= MOST_OPEN && waited < 200; waited++) {
      s.jump(100)
      await wait(10)
      if (waited % 50 === 49) await decide()
    }
  }
  s.mend()
}

/**
 * A first mention that comes between two connections is not sent again by Discord: then the person says it once more.
 */
async function begin(i: number): Promise<void> {
  const world = i % 2 === 0 ? s.discord : s.slack
  const owner = PEOPLE[i % 3] ?? 'alice'
  for (let tries = 0; ; tries++) {
    s.jump(PACE_MS)
    const c = await world.mention(owner, `q${++sent}q`)
    const accepted = (): boolean => s.query('select 1 from inbox').length > i
    try {
      await s.settle(`conversation ${i + 1}`, accepted, 15_000)
      s.conversations.push({ world, owner, c })
      break
    } catch (error) {
      if (tries === 3) throw error
    }
  }
  if (i % 10 === 9) await over()
}

async function over(): Promise<void> {
  let next = 0
  const done = (): boolean => {
    if (Date.now() > next) {
      next = Date.now() + 2000
      void decide()
    }
    return s.open() === 0 && s.query('select 1 from jobs').length === 0
  }
  await s.settle('every accepted message has its end and no job is left', done, 240_000).catch((error: unknown) => {
    const left = s.query(
      `select i.id, i.text, i.state, t.state as turn, t.tries from inbox i left join turns t on t.id = i.turn_id where i.state in ('queued', 'taken') limit 10`,
    )
    throw new Error(`${error}: ${JSON.stringify(left)} ${JSON.stringify(s.query('select * from jobs limit 10'))}`)
  })
}

const rows = (tables: readonly string[]): Map<string, number> =>
  new Map(tables.map((t) => [t, s.query<{ n: number }>(`select count(*) n from ${t}`)[0]?.n ?? 0]))

async function measured(): Promise<{ at: number; heap: number; rss: number; rows: Map<string, number> }> {
  await over()
  const heap = (await s.gateway.ask('memory')) / 1e6
  const rss = (await s.gateway.ask('rss')) / 1e6
  const found = { at: sent, heap, rss, rows: rows([...GROWING, ...STEADY, 'files_read']) }
  say(`after ${sent} messages: ${heap.toFixed(1)} MB in use, ${rss.toFixed(0)} MB resident`)
  say(`  rows: ${[...found.rows].map(([t, n]) => `${t} ${n}`).join(', ')}`)
  return found
}

it(`a soak of ${MINUTES} minutes over ${WORKSTREAMS} conversations: every accepted message has its end, nothing grows without a bound`, async () => {
  const begun = Date.now()
  for (let i = 0; i < WORKSTREAMS; i++) await begin(i)
  await over()
  // Without a restart, for the memory.
  await talk(() => sent < MESSAGES / 5)
  const early = await measured()
  await talk(() => sent < MESSAGES)
  const late = await measured()
  let starts = 0
  let next = Date.now() + 5000
  const end = Math.max(begun + MINUTES * 60_000, Date.now() + 30_000)
  await talk(async () => {
    if (Date.now() > next) {
      if (++starts % 2 === 0) await s.gateway.stop()
      else await s.gateway.kill()
      await s.startGateway()
      next = Date.now() + 3000 + rnd() * 6000
    }
    return Date.now() < end
  })
  await over()
  say(`${sent} messages, ${starts} restarts, ${((Date.now() - begun) / 60_000).toFixed(1)} minutes`)
  expect(twice(), 'answered twice or never').toEqual([])
  const states = new Map(
    s
      .query<{ state: string; n: number }>('select state, count(*) n from inbox group by state')
      .map((r) => [r.state, r.n]),
  )
  say(`messages: ${[...states].map(([state, n]) => `${state} ${n}`).join(', ')}`)
  expect((states.get('done') ?? 0) / (late.rows.get('inbox') ?? 1), 'answered').toBeGreaterThan(0.8)
  expect(s.query(`select id from turns where state in ('running', 'parked')`)).toEqual([])
  expect(s.query('select key from posts where ref is null')).toEqual([])
  expect(starts).toBeGreaterThan(0)
  expect(late.heap).toBeLessThan(early.heap * 1.25)
  for (const table of GROWING) {
    const [before, after] = [early.rows.get(table) ?? 0, late.rows.get(table) ?? 0]
    expect(after / late.at, `${table}: rows for each message`).toBeLessThan((before / early.at) * 1.25 + 0.1)
  }
  for (const table of STEADY)
    expect(late.rows.get(table) ?? 0, table).toBeLessThan((early.rows.get(table) ?? 0) * 1.5 + 50)
  expect(late.rows.get('workstreams')).toBeLessThan(WORKSTREAMS * 1.1)
  expect(late.rows.get('files_read')).toBeLessThanOrEqual(WORKSTREAMS * 1.1 * FILES)
})

/** Accepted questions that do not have exactly one answer, those of failed turns left out. */
function twice(): string[] {
  const said = new Map<string, number>()
  for (const { world, c } of s.conversations) {
    for (const tag of world
      .texts(c)
      .join('\n')
      .match(/answer-q\d+q/g) ?? [])
      said.set(tag, (said.get(tag) ?? 0) + 1)
  }
  const accepted = s.query<{ text: string; state: string }>(`select text, state from inbox where state = 'done'`)
  say(`${accepted.length} answered, ${rows(['inbox']).get('inbox')} accepted, ${sent} sent`)
  return accepted.flatMap(({ text }) => {
    const tag = /q\d+q/.exec(text)?.[0]
    const times = tag === undefined ? 1 : (said.get(`answer-${tag}`) ?? 0)
    return times === 1 ? [] : [`${tag}: ${times}`]
  })
}
