import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KILL_TOML, KillRuns, killAt, PHASES, type Phase } from '../support/kill-runs.ts'
import { type Stage, stage, WORLDS } from '../support/stage.ts'

/** So many statements of each are cut; all of them are in test/long. */
const CUTS: Readonly<Record<Phase, number>> = { turn: 27, decision: 21, repost: 15 }
/** Together 60 on each platform. A run may be over before it comes to its statement. */
const LEAST: Readonly<Record<Phase, number>> = { turn: 26, decision: 20, repost: 14 }

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

    it.each(PHASES)('of a %s', { timeout: 900_000 }, async (phase) => {
      const { kills, faults } = await killAt(runs, phase, CUTS[phase])
      expect(faults).toEqual([])
      expect(kills).toBeGreaterThanOrEqual(LEAST[phase])
    })
  })
})
