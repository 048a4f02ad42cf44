import type { Db, Tx } from './store.ts'

/** How long a key is remembered, ms: platforms repeat events within hours, and a missed day is read back. */
export const SEEN_FOR_MS = 30 * 86_400_000

/** True for the first caller with this key. */
export async function claimOnce(db: Db | Tx['db'], key: string, now: number): Promise<boolean> {
  const row = await db
    .insertInto('seen')
    .values({ key, at: now })
    .onConflict((c) => c.column('key').doNothing())
    .returning('key')
    .executeTakeFirst()
  return row !== undefined
}

export async function wasSeen(db: Db | Tx['db'], key: string): Promise<boolean> {
  return (await db.selectFrom('seen').select('key').where('key', '=', key).executeTakeFirst()) !== undefined
}

/** True at most once in `every` ms for a key. */
export async function throttle(db: Db | Tx['db'], key: string, every: number, now: number): Promise<boolean> {
  const row = await db
    .insertInto('seen')
    .values({ key, at: now })
    .onConflict((c) =>
      c
        .column('key')
        .doUpdateSet({ at: now })
        .where('seen.at', '<=', now - every),
    )
    .returning('key')
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets keys that are older, at most `limit`. How many there were. */
export async function pruneSeen(db: Db, now: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('seen')
    .select('key')
    .where('at', '<', now - SEEN_FOR_MS)
    .limit(limit)
  const gone = await db.deleteFrom('seen').where('key', 'in', old).returning('key').execute()
  return gone.length
}
