import { DESCRIPTIONS, NOTHING_RUNNING, notAnswered, STOPPED_BY } from '../../copy/commands.ts'
import { stopWorkstream } from '../operations/stop.ts'
import { removeReceived } from '../reactions.ts'
import { type Command, NAME_ALONE, NO_OPTIONS } from './command.ts'

export const stop: Command = {
  name: 'stop',
  description: DESCRIPTIONS.stop,
  options: NO_OPTIONS,
  words: NAME_ALONE,
  access: 'owner',
  async run({ deps, workstream, user }) {
    const { something, messages } = await stopWorkstream(deps, workstream, user.name, false)
    deps.redraws.soon()
    void removeReceived(deps, messages)
    const text = something ? STOPPED_BY(user.name) : NOTHING_RUNNING
    return { text: text + notAnswered(messages.length), private: !something }
  },
}
