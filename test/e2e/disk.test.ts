import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { newDir } from '../support/gateway-process.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'

/** A file system of its own that can be filled: only where we may mount one. */
function tinyDisk(): string | undefined {
  const dir = join(newDir(), 'disk')
  mkdirSync(dir)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', dir])
  if (mounted.status !== 0) return undefined
  chmodSync(dir, 0o755)
  return dir
}

const probe = tinyDisk()
if (probe) spawnSync('umount', [probe])
else process.stdout.write('skipped: the full disk, because no file system may be mounted here\n')

describe.skipIf(!probe).each(WORLDS)('a full disk on %s', (name) => {
  let disk: string
  let s: Stage
  beforeAll(async () => {
    disk = tinyDisk() ?? ''
    s = await stage(name, { toml: `[database]\nurl = "sqlite:${disk}/t.db"\n` })
  })
  afterAll(async () => {
    await s.stop()
    spawnSync('umount', [disk])
  })

  const fill = (): void => {
    for (let i = 0; ; i++) {
      try {
        writeFileSync(join(disk, `fill${i}`), Buffer.alloc(64 * 1024))
      } catch {
        rmSync(join(disk, `fill${i}`), { force: true })
        break
      }
    }
    try {
      writeFileSync(join(disk, 'last'), Buffer.alloc(256 * 1024))
    } catch {
      // As full as it gets.
    }
  }
  const free = (): void => {
    for (let i = 0; i < 200; i++) rmSync(join(disk, `fill${i}`), { force: true })
    rmSync(join(disk, 'last'), { force: true })
  }

  it('takes nothing it cannot store, says so or is sent it again, keeps cards open, and goes on when there is room', async () => {
    // By what was said last, since nobody knows when the platform sends its message again.
    s.model.script((request) => {
      const last = JSON.stringify(request.messages.at(-1))
      if (last.includes('hello')) return 'before'
      if (last.includes('"run"')) return bash('echo pressed')
      return last.includes('"tool"') ? 'after the press' : 'there is room'
    })
    const c = await s.world.mention('alice', 'hello')
    await s.text(c, 'before')
    await s.world.write(c, 'alice', 'run')
    const card = await s.card(c)
    fill()
    await s.world.press('alice', c, card.id, 'approve')
    await until(() => s.world.private('alice').some((t) => /couldn't save|try again/i.test(t)), 10_000)
    expect((await s.card(c)).id).toBe(card.id)
    const lost = await s.world.mention('alice', 'while the disk is full')
    if (name === 'discord') {
      const told = () => s.world.texts({ room: (s.world as unknown as { channel: string }).channel, message: '' })
      await until(() => told().some((t) => /couldn't save/i.test(t)), 10_000)
    }
    // The message has met the full disk too, not only the press.
    await until(() => s.gateway.output.filter((l) => l.includes('disk is full')).length > 1, 10_000)
    free()
    await s.world.press('alice', c, card.id, 'approve')
    await s.text(c, 'after the press')
    expect(s.model.completions.flatMap((_, i) => said(s.model, 'tool', i))).toContain('pressed')
    if (name === 'slack') {
      s.jump(61_000)
      await s.text(lost, 'there is room', 20_000)
    } else {
      const again = await s.world.mention('alice', 'once more')
      await s.text(again, 'there is room')
    }
    expect((await s.gateway.health()).status).toBe(200)
  })
})
