import type { Platform } from '../../channel/channel-adapter.ts'
import { DESCRIPTIONS, helpText } from '../../copy/commands.ts'
import { type GatewayDeps, writtenOn } from '../gateway-deps.ts'
import { type Command, NAME_ALONE, NO_OPTIONS, say } from './command.ts'
import { usageOf } from './words.ts'

/** `commands` may still grow: it is read when help is asked for. */
export function helpCommand(commands: readonly Command[]): Command {
  return {
    name: 'help',
    description: DESCRIPTIONS.help,
    options: NO_OPTIONS,
    words: NAME_ALONE,
    access: 'anybody',
    run: async ({ deps, command }) => say(helpFor(deps, command.platform, commands)),
  }
}

/** One command a line, as it is written on the platform. */
export function helpFor(deps: Pick<GatewayDeps, 'adapters'>, platform: Platform, commands: readonly Command[]): string {
  return helpText(
    commands.flatMap((command) =>
      command.words.map((form) => ({
        usage: writtenOn(deps, platform, usageOf(command, form)),
        description: command.description,
      })),
    ),
  )
}
