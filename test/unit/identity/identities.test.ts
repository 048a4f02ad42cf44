import { afterEach, describe, expect, it } from 'vitest'
import { Identities } from '../../../src/identity/identities.ts'
import { openStore, type SqliteStore } from '../../../src/store/store.ts'
import { systemClock } from '../../../src/util/time.ts'

const stores: SqliteStore[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function identities(): Promise<Identities> {
  const store = await openStore(':memory:')
  stores.push(store)
  return new Identities(store, systemClock, { alice: { role: 'admin', discord: [], slack: [] } })
}

describe('names of what every object has', () => {
  it.each(['constructor', 'toString', 'hasOwnProperty', '__proto__', 'valueOf'])(
    'E6f %s is a user only if added',
    async (name) => {
      const all = await identities()
      expect(await all.byName(name)).toBeUndefined()
      expect(await all.linksOf(name)).toEqual([])
      await expect(all.createToken(name, 'test')).rejects.toThrow('there is no user')
      await expect(all.link(name, 'discord', '80351110224678912', 'test')).rejects.toThrow('there is no user')
      await all.addUser(name, 'member', 'test')
      expect(await all.byName(name)).toEqual({ name, role: 'member' })
      expect((await all.list()).map((user) => user.name)).toEqual(['alice', name])
    },
  )
})
