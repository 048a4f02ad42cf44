import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { until } from './engine.ts'
import type { Stage } from './stage.ts'
import type { Conversation } from './world.ts'

/** Looks until it holds while both clocks run fast, so that paces and waits cost no time. */
export function soon<T>(s: Stage, look: () => T | Promise<T>, ms = 15_000): Promise<NonNullable<T>> {
  let next = Date.now() + 100
  return until(async () => {
    const found = await look()
    if (found || Date.now() < next) return found
    next = Date.now() + 50
    s.jump(400)
    return found
  }, ms)
}

/** The conversation holds exactly these texts, nobody is at work there and no message is marked. */
export async function rests(s: Stage, c: Conversation, texts: readonly unknown[], messages: readonly string[] = []) {
  await soon(s, () => same(s.world.texts(c), texts)).catch(() => expect(s.world.texts(c)).toEqual(texts))
  await soon(s, () => [c.message, ...messages].every((id) => s.world.signs(c, id).length === 0))
  s.jump(11_000)
  await soon(s, () => s.world.atWork(c).length === 0)
  s.jump(11_000)
  expect(s.world.texts(c)).toEqual(texts)
  expect(s.world.atWork(c)).toEqual([])
}

function same(texts: readonly string[], wanted: readonly unknown[]): boolean {
  try {
    expect(texts).toEqual(wanted)
    return true
  } catch {
    return false
  }
}

/** Lines of a file that tools wrote. */
export function linesOf(s: Stage, file: string): string[] {
  const path = join(s.dir, 'workspace', file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}

/** Whether there is such a process. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
