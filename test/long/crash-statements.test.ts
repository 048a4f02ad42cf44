import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KILL_TOML, KillRuns, killAt, PHASES } from '../support/kill-runs.ts'
import { type Stage, stage, WORLDS } from '../support/stage.ts'

describe.concurrent.each(WORLDS)('on %s', (name) => {
  describe('kill -9 between every two statements', { concurrent: false }, () => {
    let s: Stage
    beforeAll(async () => {
      s = await stage(name, { toml: KILL_TOML })
    })
    afterAll(async () => {
      expect(s.world.violations()).toEqual([])
      expect(s.model.violations).toEqual([])
      await s.stop()
    })

    it.each(PHASES)('of a %s', async (phase) => {
      const { total, kills, faults } = await killAt(new KillRuns(s), phase)
      expect(faults).toEqual([])
      // The last ones are not reached in every run.
      expect(kills).toBeGreaterThanOrEqual(Math.floor(total * 0.8))
    })
  })
})
