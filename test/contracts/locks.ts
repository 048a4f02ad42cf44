import { expect, it } from 'vitest'
import type { Locks } from '../../src/jobs/locks.ts'

/** What every Locks promises. `make` gives fresh ones each time. */
export function locksContract(make: () => Promise<Locks>): void {
  it('runs the tasks of one key one after the other, in the order in which they were asked for', async () => {
    const locks = await make()
    const seen: string[] = []
    const task = (name: string) => async () => {
      seen.push(`${name} begins`)
      await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${name} ends`)
      return name
    }
    const results = await Promise.all(['a', 'b', 'c'].map((name) => locks.run('k', task(name))))
    expect(results).toEqual(['a', 'b', 'c'])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('runs tasks of other keys side by side', async () => {
    const locks = await make()
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const first = locks.run('a', () => held)
    await expect(locks.run('b', async () => 'through')).resolves.toBe('through')
    release()
    await first
  })

  it('goes on after a task that rejects, and tells only its own caller', async () => {
    const locks = await make()
    const bad = locks.run('k', () => Promise.reject(new Error('no')))
    const good = locks.run('k', async () => 'fine')
    await expect(bad).rejects.toThrow('no')
    await expect(good).resolves.toBe('fine')
  })
}
