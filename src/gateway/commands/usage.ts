import { DESCRIPTIONS, USAGE, USAGE_TODAY, USAGE_TOTAL } from '../../copy/commands.ts'
import { usageOf } from '../../turn/usage.ts'
import { type Command, NAME_ALONE, NO_OPTIONS, say } from './command.ts'

const DAY_MS = 86_400_000

/** A person's own figures: today (UTC) and in total. */
export const usage: Command = {
  name: 'usage',
  description: DESCRIPTIONS.usage,
  options: NO_OPTIONS,
  words: NAME_ALONE,
  access: 'linked',
  async run({ deps: { store, clock }, user }) {
    const today = Math.floor(clock.now() / DAY_MS) * DAY_MS
    const line = async (period: string, since: number): Promise<string> => {
      const { input, cacheRead, output } = await usageOf(store.db, user.name, since)
      return USAGE(period, input, cacheRead, output)
    }
    return say([await line(USAGE_TODAY, today), await line(USAGE_TOTAL, 0)].join('\n'))
  },
}
