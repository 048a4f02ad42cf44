import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { endLeftProcesses } from '../../src/util/left-processes.ts'
import { until } from '../support/engine.ts'
import { isRunning } from '../support/processes.ts'

const MODULE = join(import.meta.dirname, '../../src/util/left-processes.ts')

/** Begins a script whose leader ends at once, and ends itself before it can note what it began. */
const OWNER = `
import { spawn } from 'node:child_process'
import { noteProcess } from ${JSON.stringify(MODULE)}
const note = noteProcess(process.argv[1])
const env = { PATH: process.env.PATH, ...note.env }
const child = spawn('bash', ['-c', 'sleep 300 2>&- >&- & echo $!'], { detached: true, env, stdio: ['ignore', 'inherit', 'ignore'] })
child.on('exit', () => process.kill(process.pid, 'SIGKILL'))
`

describe.skipIf(!existsSync('/proc/self/stat'))('what a killed gateway left', () => {
  it('is found although the gateway had no time to note its number', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'left-'))
    const pids = ['turnstone-aaaaaa', 'turnstone-bbbbbb'].map((name) => {
      const made = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', OWNER, join(folder, name)])
      return Number(made.stdout.toString())
    })
    expect(await endLeftProcesses(mkdtempSync(join(tmpdir(), 'left-')))).toBe(0)
    expect(pids.map(isRunning)).toEqual([true, true])
    expect(await endLeftProcesses(folder)).toBe(2)
    await until(() => !pids.some(isRunning))
    expect(readdirSync(folder)).toEqual([])
  })
})
