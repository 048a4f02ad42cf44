import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { isRunning } from '../support/processes.ts'
import { linesOf, rests } from '../support/recovery.ts'
import { bash, type Stage, said, stage } from '../support/stage.ts'

const UNKNOWN = expect.stringContaining('Its outcome is unknown')

/** Where there is no /proc nobody can tell a process from another with its number: nothing is ended there. */
describe.skipIf(!existsSync('/proc/self/stat'))('a script that a killed gateway left', () => {
  let s: Stage
  beforeAll(async () => {
    s = await stage('discord', { toml: '[approvals]\nauto_approve = ["bash"]\n' })
  })
  afterAll(async () => {
    await s.stop()
  })

  it('E8 is ended at the next start with all of its group, before the model is told that it was interrupted', async () => {
    const command = 'sleep 300 & echo $! >> left; echo $$ >> left; wait; echo late >> left'
    let alive: number[] = []
    s.model.script([
      bash(command),
      () => {
        alive = linesOf(s, 'left').map(Number).filter(isRunning)
        return 'I see'
      },
    ])
    const c = await s.world.mention('alice', 'run')
    const pids = await until(() => (linesOf(s, 'left').length === 2 ? linesOf(s, 'left').map(Number) : undefined))
    await s.crash()
    await rests(s, c, [expect.stringContaining('Interrupted by a restart: bash')])
    expect(said(s.model, 'tool')).toEqual([UNKNOWN])
    expect(alive).toEqual([])
    expect(pids.filter(isRunning)).toEqual([])
    expect(linesOf(s, 'left')).toHaveLength(2)
  })

  it('E8 is ended too where only what it began in the background runs on', async () => {
    s.model.script([bash('sleep 300 & echo $! >> behind; while [ ! -e end ]; do sleep 0.02; done'), 'I see'])
    const c = await s.world.mention('alice', 'run')
    const pid = Number(await until(() => linesOf(s, 'behind')[0]))
    await s.crash(async () => {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const leader = Number(stat.slice(stat.lastIndexOf(')')).split(' ')[3])
      process.kill(leader, 'SIGKILL')
      await until(() => !isRunning(leader))
      expect(isRunning(pid)).toBe(true)
    })
    await rests(s, c, [expect.stringContaining('Interrupted by a restart: bash')])
    await until(() => !isRunning(pid))
  })

  it('E8 of a gateway that runs is left alone by another one that starts', async () => {
    s.model.script([bash('echo $$ >> kept; while [ ! -e kept-end ]; do sleep 0.02; done; echo whole'), 'all is well'])
    const c = await s.world.mention('alice', 'run')
    const pid = Number(await until(() => linesOf(s, 'kept')[0]))
    const other = await stage('discord')
    await other.stop()
    expect(isRunning(pid)).toBe(true)
    writeFileSync(join(s.dir, 'workspace/kept-end'), '')
    await s.text(c, 'all is well')
    expect(said(s.model, 'tool')).toEqual(['whole'])
    const notes = readdirSync(tmpdir()).filter((n) => /^turnstone-\w{6}\.pid$/.test(n))
    expect(notes.filter((n) => readFileSync(join(tmpdir(), n), 'utf8').includes(`:${pid},`))).toEqual([])
  })
})
