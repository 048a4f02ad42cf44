import { CANNOT_UNLINK, DESCRIPTIONS, UNLINKED, WAS_UNLINKED } from '../../copy/commands.ts'
import { TurnstoneError } from '../../util/errors.ts'
import { rejectCardsOf } from '../cards/reject-cards.ts'
import { type Command, NAME_ALONE, NO_OPTIONS, say } from './command.ts'

export const unlink: Command = {
  name: 'unlink',
  description: DESCRIPTIONS.unlink,
  options: NO_OPTIONS,
  words: NAME_ALONE,
  access: 'linked',
  async run({ deps, command: { platform, by }, user }) {
    try {
      await deps.identities.unlink(user.name, platform, by.id, user.name)
    } catch (error) {
      if (error instanceof TurnstoneError) return say(CANNOT_UNLINK(error.message))
      throw error
    }
    await rejectCardsOf(deps, user.name, WAS_UNLINKED(user.name))
    deps.redraws.soon()
    return say(UNLINKED)
  },
}
