import type { User } from '../../identity/identities.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../../util/time.ts'

const DAY_MS = 86_400_000

/** A person's own figures: today (UTC) and in all. */
export async function usageText({ store, clock }: { store: Store; clock: Clock }, user: User): Promise<string> {
  const today = Math.floor(clock.now() / DAY_MS) * DAY_MS
  const sum = async (since: number) =>
    store.db
      .selectFrom('usage')
      .select((e) => [
        e.fn.sum<number>('input').as('input'),
        e.fn.sum<number>('cached').as('cached'),
        e.fn.sum<number>('output').as('output'),
      ])
      .where('user_name', '=', user.name)
      .where('at', '>=', since)
      .executeTakeFirst()
  const line = (name: string, row: Awaited<ReturnType<typeof sum>>): string =>
    `${name}: ${Number(row?.input ?? 0)} tokens in (${Number(row?.cached ?? 0)} from cache), ${Number(row?.output ?? 0)} out`
  return [line('Today (UTC)', await sum(today)), line('In all', await sum(0))].join('\n')
}
