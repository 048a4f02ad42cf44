import type { Db } from '../store/store.ts'

/** `admin` may decide and close for everybody. */
export type Role = 'admin' | 'member'

export interface User {
  readonly name: string
  readonly role: Role
}

export function storedUser(db: Db, name: string): Promise<User | undefined> {
  return db.selectFrom('users').select(['name', 'role']).where('name', '=', name).executeTakeFirst()
}

export function storedUsers(db: Db): Promise<User[]> {
  return db.selectFrom('users').select(['name', 'role']).orderBy('name').execute()
}

export async function insertUser(db: Db, user: User, at: number): Promise<void> {
  await db.insertInto('users').values({ name: user.name, role: user.role, created_at: at }).execute()
}

export async function deleteUser(db: Db, name: string): Promise<void> {
  await db.deleteFrom('users').where('name', '=', name).execute()
}
