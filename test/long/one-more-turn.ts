import { type Clock, systemClock } from '../../src/util/time.ts'
import { message, startEngine, until } from '../support/engine.ts'
import { FakePlatform } from '../support/fake-adapter.ts'
import { ScriptedModel } from '../support/scripted-model.ts'

/** Run as a process of its own on a database, so that its memory is its own: some turns more, and what one of them took. */
export interface Measured {
  /** To the first post, ms; the lower quartile, since other work on the machine makes single turns slower. */
  readonly firstPostMs: number
  /** Of all threads, per turn, ms. */
  readonly cpuMs: number
  /** The most the process has held, MB. */
  readonly peakMb: number
  /** Messages of the last request. */
  readonly messages: number
}

const WARM_UP = 20
const TURNS = 60
/** Tokens: ten earlier turns of the test fill it. */
const WINDOW = 6000

const [, , file = ''] = process.argv
let ahead = 0
const clock: Clock = { now: () => systemClock.now() + ahead, after: systemClock.after }
const platform = new FakePlatform()
const model = Object.assign(new ScriptedModel(), { contextWindow: WINDOW })
const e = await startEngine({ model, file, platform, clock })
const times: number[] = []
let cpu = process.cpuUsage()
for (let i = 0; i < WARM_UP + TURNS; i++) {
  if (i === WARM_UP) cpu = process.cpuUsage()
  // Nobody may write more than 30 messages a minute.
  ahead += 10_000
  model.steps.push('a short answer')
  const posted = new Promise<void>((resolve) => {
    platform.beforeSend = () => resolve()
  })
  const started = performance.now()
  await e.inbox.message(message('alice', 'one more short question', { thread: 'c1', id: `${process.pid}-${i}` }))
  await posted
  if (i >= WARM_UP) times.push(performance.now() - started)
  await until(() => e.counts.filter((c) => c === 'turns_done').length > i)
  model.requests.splice(0, model.requests.length - 1)
}
const { user, system } = process.cpuUsage(cpu)
const measured: Measured = {
  firstPostMs: times.sort((a, b) => a - b)[TURNS >> 2] ?? 0,
  cpuMs: (user + system) / 1000 / TURNS,
  peakMb: process.resourceUsage().maxRSS / 1024,
  messages: model.requests.at(-1)?.messages.length ?? 0,
}
await e.stop(5000)
process.stdout.write(JSON.stringify(measured))
