import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SlackSim } from '../simulators/slack/index.ts'
import { until } from '../support/engine.ts'
import { type Stage, said, stage } from '../support/stage.ts'
import { Bench } from './slack-support.ts'

describe('what merely helps on slack', () => {
  let s: Stage
  beforeAll(async () => {
    s = await stage('slack')
  })
  afterAll(async () => {
    await s.stop()
  })

  it('S8 a thread that Slack lets us read only after a minute is answered without it, and a line says so', async () => {
    const sim = (s.world as unknown as { sim: SlackSim }).sim
    const c = await s.world.peoplesThread([
      ['alice', 'the deploy is red'],
      ['bob', 'since noon'],
    ])
    const off = sim.faults.on({ method: 'conversations.replies', retryAfter: 60 })
    s.model.script(['here is my answer'])
    const begun = Date.now()
    await s.world.write(c, 'alice', 'what do you think?', true)
    const text = await s.text(c, 'here is my answer', 10_000)
    expect(Date.now() - begun).toBeLessThan(6000)
    expect(text).toContain('could not read the earlier messages')
    expect(said(s.model, 'user').join()).not.toContain('since noon')
    off()
  })
})

describe('the connection to slack', () => {
  it('N2 is tried one attempt at a time with growing waits, and the log says the same thing once a minute', async () => {
    const bench = await Bench.start({ begin: false })
    const off = bench.sim.faults.on({ method: 'apps.connections.open', error: 'internal_error' })
    const begun = bench.clock.now()
    await bench.adapter.start(bench.inbound)
    const opens = () => bench.sim.callsOf('apps.connections.open').length
    await until(() => opens() >= 6)
    const minutes = Math.floor((bench.clock.now() - begun) / 60_000) + 1
    expect(bench.lines.filter((l) => l.includes('could not connect to Slack yet')).length).toBeLessThanOrEqual(minutes)
    off()
    await until(() => bench.adapter.state().state === 'ready')
    expect(bench.sim.sockets.open).toHaveLength(1)
    // One that is cut as soon as it is up waits longer each time, too.
    const before = opens()
    const from = bench.clock.now()
    await until(() => {
      if (bench.sim.sockets.open.length > 0) bench.sim.sockets.drop()
      return bench.clock.now() - from > 10_000
    })
    expect(opens() - before).toBeLessThanOrEqual(7)
    await bench.stop()
  })
})
