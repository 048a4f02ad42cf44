import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { startEngine } from './engine.ts'

export type Engine = Awaited<ReturnType<typeof startEngine>>

const engines: Engine[] = []
afterEach(async () => {
  for (const e of engines.splice(0)) await e.stop().catch(() => undefined)
})

/** Where an engine may keep a database that outlives it. */
export const newFile = (): string => join(mkdtempSync(join(tmpdir(), 'engine-')), 't.db')

/** An engine that is stopped after the test. */
export async function engine(options: Parameters<typeof startEngine>[0]): Promise<Engine> {
  const made = await startEngine(options)
  engines.push(made)
  return made
}
