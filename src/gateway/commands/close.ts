import { CLOSED_BY, DESCRIPTIONS } from '../../copy/commands.ts'
import { stopWorkstream } from '../operations/stop.ts'
import { removeReceived } from '../reactions.ts'
import { type Command, NAME_ALONE, NO_OPTIONS } from './command.ts'

export const close: Command = {
  name: 'close',
  description: DESCRIPTIONS.close,
  options: NO_OPTIONS,
  words: NAME_ALONE,
  access: 'owner',
  async run({ deps, command, workstream, user }) {
    const { messages } = await stopWorkstream(deps, workstream, user.name, true)
    deps.redraws.soon()
    void removeReceived(deps, messages)
    const direct = deps.adapters.get(command.platform)?.isDirect(workstream.channel) ?? false
    return { text: CLOSED_BY(user.name, direct), private: false }
  },
}
