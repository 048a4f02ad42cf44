import { afterAll, describe, expect, it } from 'vitest'
import { jobRows } from './support/loop-rows-jobs.ts'
import { textRows } from './support/loop-rows-text.ts'
import { TOOL_ROWS, toolRows } from './support/loop-rows-tools.ts'
import { block, measure } from './support/loop-stops.ts'
import { toolBench } from './support/tool-bench.ts'

// Every tool, parser, renderer, splitter, redactor and diff must be in one of the tables: nothing that is worked on
// may keep the event loop from a /stop, a press, a heartbeat or a signal for more than 50 ms.

describe('the event loop', () => {
  const seen: { name: string; ms: number; limit: number }[] = []
  afterAll(() => {
    const worst = seen.toSorted((a, b) => b.ms / b.limit - a.ms / a.limit)
    const rows = worst.map(({ name, ms, limit }) => `${ms.toFixed(1).padStart(8)} of ${limit.toFixed(0)} ms  ${name}`)
    console.log(`Longest stops of the event loop:\n${rows.join('\n')}`)
  })

  it.each([...textRows(), ...jobRows(), ...toolRows()])('$name', async ({ name, make }) => {
    const { ms, limit } = await measure(make)
    seen.push({ name, ms, limit })
    expect(ms).toBeLessThanOrEqual(limit)
  })
})

describe('the measuring', () => {
  it('sees a stop of 300 ms, and none where nothing runs', async () => {
    expect(await measure(() => () => block(300))).toMatchObject({ ok: false })
    expect(await measure(() => () => undefined)).toMatchObject({ ok: true })
  })

  it('sees a stop in the middle of other work', async () => {
    const work = async () => {
      for (let n = 0; n < 10; n++) {
        if (n === 5) block(300)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    expect((await measure(() => work)).ms).toBeGreaterThanOrEqual(290)
  })

  it('has rows for every tool of the catalogue', () => {
    const names = toolBench().all.map((tool) => tool.spec.name)
    expect(names.filter((name) => !TOOL_ROWS[name]?.length)).toEqual([])
  })
})
