import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KILL_TOML, KillRuns, PHASES, type Phase, spread } from '../support/kill-runs.ts'
import { type Stage, stage, WORLDS } from '../support/stage.ts'

/** Together at least 60 on each platform; all of them are in test/long. */
const KILLS: Readonly<Record<Phase, number>> = { turn: 3, decision: 3, repost: 12 }

describe.concurrent.each(WORLDS)('on %s', (name) => {
  describe('kill -9 between statements', { concurrent: false }, () => {
    let s: Stage
    let runs: KillRuns
    beforeAll(async () => {
      s = await stage(name, { toml: KILL_TOML })
      runs = new KillRuns(s)
    })
    afterAll(async () => {
      expect(s.world.violations()).toEqual([])
      expect(s.model.violations).toEqual([])
      await s.stop()
    })

    it.each(PHASES)('of a %s', { timeout: 600_000 }, async (phase) => {
      const total = await runs.count(phase)
      const begun = Date.now()
      const faults: string[] = []
      let kills = 0
      for (const at of spread(total, KILLS[phase])) {
        const report = await runs.run(phase, at)
        if (report.killed) kills++
        faults.push(...report.faults.map((fault) => `killed at ${at} of ${total}: ${fault}`))
      }
      const seconds = ((Date.now() - begun) / 1000).toFixed(0)
      process.stdout.write(`${name}, ${phase}: ${total} statements, ${kills} kills, ${seconds} s\n`)
      expect(faults).toEqual([])
      expect(kills).toBeGreaterThan(0)
    })
  })
})
