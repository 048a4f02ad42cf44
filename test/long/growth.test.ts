import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { openStore } from '../../src/store/store.ts'
import { findOpenWorkstream } from '../../src/workstream/workstreams.ts'
import { message, startEngine, until } from '../support/engine.ts'
import { fillTurns } from '../support/fill.ts'
import { ScriptedModel } from '../support/scripted-model.ts'
import type { Measured } from './one-more-turn.ts'

const EARLIER = [10, 1000, 10_000, 100_000]
/** Characters of a question, and of an answer. */
const CHARS = 1000

const folder = mkdtempSync(join(tmpdir(), 'growth-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The best of three: other work on the machine makes a run slower, nothing makes it faster. */
async function measure(file: string): Promise<Measured> {
  const runs: Measured[] = []
  for (let i = 0; i < 3; i++) {
    const script = join(import.meta.dirname, 'one-more-turn.ts')
    const args = ['--max-semi-space-size=2', script, file]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    runs.push(JSON.parse(stdout) as Measured)
  }
  const least = (of: (m: Measured) => number): number => Math.min(...runs.map(of))
  return {
    firstPostMs: least((m) => m.firstPostMs),
    cpuMs: least((m) => m.cpuMs),
    peakMb: least((m) => m.peakMb),
    messages: least((m) => m.messages),
  }
}

it('G1 E3a one more turn costs the same after 10, 1,000, 10,000 and 100,000 earlier turns', async () => {
  const file = join(folder, 'growth.db')
  const first = await startEngine({ model: new ScriptedModel('hi'), file })
  await first.inbox.message(message('alice', 'hello', { id: 'c1' }))
  await until(() => first.counts.includes('turns_done'))
  await first.stop(5000)
  const results: Measured[] = []
  for (const [i, turns] of EARLIER.entries()) {
    const store = await openStore(file)
    const workstream = await findOpenWorkstream(store.db, 'discord', 'c1')
    await fillTurns(store, workstream?.id ?? '', turns - (EARLIER[i - 1] ?? 0), CHARS)
    await store.close()
    const m = await measure(file)
    results.push(m)
    const figures = `${m.firstPostMs.toFixed(1)} ms to the first post, ${m.cpuMs.toFixed(1)} ms CPU, ${m.peakMb.toFixed(0)} MB`
    process.stdout.write(`${String(turns).padStart(7)} earlier turns: ${figures}, ${m.messages} messages sent\n`)
  }
  const [base] = results
  if (!base) throw new Error('nothing was measured')
  for (const m of results) {
    expect(m.firstPostMs).toBeLessThan(base.firstPostMs * 1.5)
    expect(m.cpuMs).toBeLessThan(base.cpuMs * 1.5)
    expect(m.peakMb).toBeLessThan(base.peakMb * 1.2)
  }
})
