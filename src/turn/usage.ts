import type { Usage } from '../model/message.ts'
import type { Db, Tx } from '../store/store.ts'

export interface UsageSum {
  readonly input: number
  readonly cacheRead: number
  readonly output: number
}

/** One model call, charged to the person whose message is answered. */
export async function recordUsage(
  tx: Tx,
  call: { user: string; workstream: string; model: string; usage: Usage },
  now: number,
): Promise<void> {
  const { input, cacheRead, cacheWrite, output } = call.usage
  await tx.db
    .insertInto('usage')
    .values({
      at: now,
      user_name: call.user,
      ws_id: call.workstream,
      model: call.model,
      input,
      cache_read: cacheRead,
      cache_write: cacheWrite,
      output,
    })
    .execute()
}

/** A person's tokens since `since`, ms since the epoch. */
export async function usageOf(db: Db, user: string, since: number): Promise<UsageSum> {
  const row = await db
    .selectFrom('usage')
    .select((e) => [
      e.fn.sum<number>('input').as('input'),
      e.fn.sum<number>('cache_read').as('cacheRead'),
      e.fn.sum<number>('output').as('output'),
    ])
    .where('user_name', '=', user)
    .where('at', '>=', since)
    .executeTakeFirst()
  return {
    input: Number(row?.input ?? 0),
    cacheRead: Number(row?.cacheRead ?? 0),
    output: Number(row?.output ?? 0),
  }
}
