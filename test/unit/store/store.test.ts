import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { acquireOwnerLock } from '../../../src/store/owner-lock.ts'
import { claimOnce, throttle } from '../../../src/store/seen.ts'
import { openStore } from '../../../src/store/store.ts'
import { cleanText } from '../../../src/store/text.ts'

const newFile = () => join(mkdtempSync(join(tmpdir(), 'store-')), 't.db')

describe('the store', () => {
  it('opens twice on one file and keeps its rows', async () => {
    const file = newFile()
    const first = await openStore(file)
    await first.db.insertInto('seen').values({ key: 'a', at: 1 }).execute()
    await first.close()
    const second = await openStore(file)
    expect(await second.db.selectFrom('seen').selectAll().execute()).toEqual([{ key: 'a', at: 1 }])
    await second.close()
  })

  it('throws where it is used inside its own transaction, and goes on afterwards', async () => {
    const store = await openStore(':memory:')
    const inside = store.transaction(async () => store.db.selectFrom('seen').selectAll().execute())
    await expect(inside).rejects.toThrow('inside its own transaction')
    await expect(store.transaction(() => store.transaction(async () => 1))).rejects.toThrow(
      'inside its own transaction',
    )
    expect(await store.db.selectFrom('seen').selectAll().execute()).toEqual([])
    await store.close()
  })

  it('runs 100 read-modify-write transactions one after the other', async () => {
    const store = await openStore(':memory:')
    await store.db.insertInto('seen').values({ key: 'n', at: 0 }).execute()
    const add = () =>
      store.transaction(async (tx) => {
        const { at } = await tx.db.selectFrom('seen').select('at').where('key', '=', 'n').executeTakeFirstOrThrow()
        await Promise.resolve()
        await tx.db
          .updateTable('seen')
          .set({ at: at + 1 })
          .where('key', '=', 'n')
          .execute()
      })
    await Promise.all(Array.from({ length: 100 }, add))
    expect(await store.db.selectFrom('seen').select('at').executeTakeFirst()).toEqual({ at: 100 })
    await store.close()
  })

  it('runs afterCommit after the commit only', async () => {
    const store = await openStore(':memory:')
    const ran: string[] = []
    await store.transaction(async (tx) => tx.afterCommit(() => ran.push('yes')))
    await store
      .transaction(async (tx) => {
        tx.afterCommit(() => ran.push('no'))
        throw new Error('x')
      })
      .catch(() => undefined)
    expect(ran).toEqual(['yes'])
    await store.close()
  })

  it('waits for another process that holds the write lock, without blocking', async () => {
    const file = newFile()
    const store = await openStore(file)
    const other = new Database(file)
    other.exec('begin immediate')
    let ticks = 0
    const timer = setInterval(() => ticks++, 20)
    const written = store.transaction((tx) => tx.db.insertInto('seen').values({ key: 'a', at: 1 }).execute())
    await new Promise((resolve) => setTimeout(resolve, 700))
    other.exec('commit')
    await written
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(3)
    expect(await store.db.selectFrom('seen').select('key').execute()).toHaveLength(1)
    other.close()
    await store.close()
  })

  it('refuses a newer database in one line and leaves it untouched', async () => {
    const file = newFile()
    await (await openStore(file)).close()
    const handle = new Database(file)
    handle.exec('update schema_version set version = 99')
    handle.pragma('wal_checkpoint(TRUNCATE)')
    handle.close()
    const before = readFileSync(file)
    await expect(openStore(file)).rejects.toMatchObject({ code: 'store-newer', message: expect.stringContaining('99') })
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('refuses what is no database, or another program’s', async () => {
    const junk = newFile()
    writeFileSync(junk, 'this is no database at all, only text that is long enough'.repeat(50))
    await expect(openStore(junk)).rejects.toMatchObject({ code: 'store-corrupt' })
    const foreign = newFile()
    const handle = new Database(foreign)
    handle.exec('create table other(x)')
    handle.close()
    await expect(openStore(foreign)).rejects.toMatchObject({ code: 'store-corrupt', exit: 1 })
  })

  it('gives the owner lock to one process and frees it when that dies', () => {
    const file = newFile()
    const first = acquireOwnerLock(file)
    // A15: who can open it can hold it.
    expect(statSync(`${file}-lock`).mode & 0o777).toBe(0o600)
    expect(first).toBeDefined()
    expect(acquireOwnerLock(file)).toBeUndefined()
    first?.release()
    const script = `
      const { acquireOwnerLock } = await import(${JSON.stringify(join(process.cwd(), 'src/store/owner-lock.ts'))})
      process.stdout.write(String(acquireOwnerLock(${JSON.stringify(file)}) !== undefined))
      process.kill(process.pid, 'SIGKILL')`
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(child.stdout).toBe('true')
    expect(child.signal).toBe('SIGKILL')
    const second = acquireOwnerLock(file)
    expect(second).toBeDefined()
    second?.release()
  })
})

describe('what was seen', () => {
  it('is new once, and again after its time where asked so', async () => {
    const store = await openStore(':memory:')
    expect(await claimOnce(store.db, 'a', 1000)).toBe(true)
    expect(await claimOnce(store.db, 'a', 2000)).toBe(false)
    expect(await throttle(store.db, 'h', 500, 1000)).toBe(true)
    expect(await throttle(store.db, 'h', 500, 1400)).toBe(false)
    expect(await throttle(store.db, 'h', 500, 1500)).toBe(true)
    await store.close()
  })
})

describe('text', () => {
  it('loses NUL and half surrogate pairs, nothing else', () => {
    expect(cleanText('a\u0000b\ud83dc\ud83d\ude00')).toBe('ab\ufffdc\ud83d\ude00')
  })
})
