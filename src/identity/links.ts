import type { Platform } from '../channel/channel-adapter.ts'
import type { Db } from '../store/store.ts'

/** Whose an account on a platform is. */
export interface Account {
  readonly platform: Platform
  readonly externalId: string
}

export async function linkedUser(db: Db, { platform, externalId }: Account): Promise<string | undefined> {
  const row = await db
    .selectFrom('links')
    .select('user_name')
    .where('platform', '=', platform)
    .where('external_id', '=', externalId)
    .executeTakeFirst()
  return row?.user_name
}

export async function storedLinks(db: Db, user: string): Promise<Account[]> {
  const rows = await db
    .selectFrom('links')
    .select(['platform', 'external_id'])
    .where('user_name', '=', user)
    .orderBy('created_at')
    .execute()
  return rows.map((r) => ({ platform: r.platform, externalId: r.external_id }))
}

/** Rejects with a unique violation where the account belongs to somebody. */
export async function insertLink(db: Db, user: string, account: Account, at: number): Promise<void> {
  const { platform, externalId } = account
  await db.insertInto('links').values({ platform, external_id: externalId, user_name: user, created_at: at }).execute()
}

/** False where the account was not that user's. */
export async function deleteLink(db: Db, user: string, { platform, externalId }: Account): Promise<boolean> {
  const rows = await db
    .deleteFrom('links')
    .where('platform', '=', platform)
    .where('external_id', '=', externalId)
    .where('user_name', '=', user)
    .returning('user_name')
    .execute()
  return rows.length > 0
}

export async function deleteLinks(db: Db, user: string): Promise<void> {
  await db.deleteFrom('links').where('user_name', '=', user).execute()
}
