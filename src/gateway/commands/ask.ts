import type { CommandReply, InboundCommand } from '../../channel/channel-adapter.ts'
import { DESCRIPTIONS, OPTIONS } from '../../copy/commands.ts'
import type { User } from '../../identity/users.ts'
import { type Command, say } from './command.ts'
import { noSuchModel, offered } from './model.ts'

/** Starts a conversation with a question that was given by command. */
export type Asker = (
  command: InboundCommand,
  user: User,
  question: { text: string; model?: string },
) => Promise<CommandReply>

export function askCommand(ask: Asker): Command {
  return {
    name: 'ask',
    description: DESCRIPTIONS.ask,
    options: (models) => [
      { name: 'prompt', description: OPTIONS.prompt, required: true },
      { name: 'model', description: OPTIONS.askModel, required: false, choices: offered(models) },
    ],
    words: [],
    access: 'linked',
    async run({ deps, command, user }) {
      const { prompt = '', model } = command.args
      if (model !== undefined && !deps.models.aliases.includes(model)) return say(noSuchModel(deps, model))
      return ask(command, user, { text: prompt, ...(model === undefined ? {} : { model }) })
    },
  }
}
