import type { CommandSpec } from '../../channel/command-spec.ts'
import { approvals } from './approvals.ts'
import { type Asker, askCommand } from './ask.ts'
import { close } from './close.ts'
import type { Command } from './command.ts'
import { helpCommand } from './help.ts'
import { type LinkAttempts, linkCommand } from './link.ts'
import { model } from './model.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'
import { unlink } from './unlink.ts'
import { usage } from './usage.ts'

/** Every command there is, in the order in which help lists them. */
export function createCommands(ask: Asker, attempts: LinkAttempts): readonly Command[] {
  const commands: Command[] = [askCommand(ask), status, stop, close, model, approvals, usage]
  commands.push(linkCommand(attempts), unlink, helpCommand(commands))
  return commands
}

/** As the platforms register them. `models` are the aliases that options offer. */
export function commandSpecs(models: readonly string[]): readonly CommandSpec[] {
  const nobody: Asker = () => Promise.reject(new Error('only described, never run'))
  return createCommands(nobody, { acquire: () => false }).map(({ name, description, options }) => {
    return { name, description, options: options(models) }
  })
}
