import { ALREADY_LINKED, DESCRIPTIONS, INVALID_TOKEN, LINKED_AS, TOO_MANY_ATTEMPTS } from '../../copy/commands.ts'
import { LOG } from '../../copy/log.ts'
import { TurnstoneError } from '../../util/errors.ts'
import { type Command, NO_OPTIONS, say } from './command.ts'

/** Attempts that a person has in an hour. */
export const MAX_LINK_ATTEMPTS = 5

export interface LinkAttempts {
  /** Counts one attempt of this person; false where that would be too many. */
  acquire(person: string): boolean
}

/** Every wrong, revoked or unknown token gets the same answer. */
export function linkCommand(attempts: LinkAttempts): Command {
  return {
    name: 'link',
    description: DESCRIPTIONS.link,
    options: NO_OPTIONS,
    words: [{ keywords: [], argument: { name: 'token', label: 'TOKEN', optional: true } }],
    access: 'anybody',
    async run({ deps, command: { platform, by, args } }) {
      const { identities, log } = deps
      if (!attempts.acquire(`${platform}:${by.id}`)) return say(TOO_MANY_ATTEMPTS)
      const user = by.bot ? undefined : await identities.byToken(args.token?.trim() ?? '')
      if (!user) return say(INVALID_TOKEN)
      try {
        await identities.link(user.name, platform, by.id, user.name)
      } catch (error) {
        if (error instanceof TurnstoneError) return say(ALREADY_LINKED)
        throw error
      }
      log.info({ user: user.name, platform }, LOG.accountLinked)
      return say(LINKED_AS(user.name))
    },
  }
}
