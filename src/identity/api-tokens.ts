import { randomBytes } from 'node:crypto'
import type { Db } from '../store/store.ts'
import { newId, sha256 } from '../util/ids.ts'

const FORM = /^ts_[0-9a-f]{64}$/

/** The token itself is in what is returned and nowhere else; the row keeps its hash. */
export async function insertToken(db: Db, user: string, at: number): Promise<{ id: string; token: string }> {
  const token = `ts_${randomBytes(32).toString('hex')}`
  const id = newId()
  await db
    .insertInto('api_tokens')
    .values({ id, user_name: user, hash: sha256(token), created_at: at, revoked_at: null })
    .execute()
  return { id, token }
}

/** One by its id, or all of a user by name. The ids of those that were live until now. */
export async function revokeTokens(db: Db, nameOrId: string, at: number): Promise<string[]> {
  const rows = await db
    .updateTable('api_tokens')
    .set({ revoked_at: at })
    .where('revoked_at', 'is', null)
    .where((e) => e.or([e('id', '=', nameOrId), e('user_name', '=', nameOrId)]))
    .returning('id')
    .execute()
  return rows.map((r) => r.id)
}

/** The user whose live token this is. */
export async function tokenUser(db: Db, token: string): Promise<string | undefined> {
  if (!FORM.test(token)) return undefined
  const row = await db
    .selectFrom('api_tokens')
    .select('user_name')
    .where('hash', '=', sha256(token))
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row?.user_name
}

export async function deleteTokens(db: Db, user: string): Promise<void> {
  await db.deleteFrom('api_tokens').where('user_name', '=', user).execute()
}
