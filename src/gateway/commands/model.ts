import { CURRENT_MODEL, DESCRIPTIONS, NO_SUCH_MODEL, OPTIONS, SWITCHED_TO } from '../../copy/commands.ts'
import { aliasInUse } from '../../model/model-registry.ts'
import { oneLine } from '../../util/visible.ts'
import { setModel } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { type Command, say } from './command.ts'

/** Aliases that a platform's menu can hold: Discord takes 25 choices. */
const MAX_CHOICES = 25

export const offered = (models: readonly string[]): readonly string[] => models.slice(0, MAX_CHOICES)

export function noSuchModel({ models }: Pick<GatewayDeps, 'models'>, name: string): string {
  return NO_SUCH_MODEL(oneLine(name, 60), models.aliases.join(', '))
}

export const model: Command = {
  name: 'model',
  description: DESCRIPTIONS.model,
  options: (models) => [{ name: 'name', description: OPTIONS.model, required: false, choices: offered(models) }],
  words: [{ keywords: [], argument: { name: 'name', label: 'NAME', optional: true } }],
  access: 'owner',
  async run({ deps, command, workstream }) {
    const { models, store } = deps
    const { name } = command.args
    if (name === undefined) {
      const all = models.aliases.map((alias) => models.label(alias)).join(', ')
      return say(CURRENT_MODEL(models.label(aliasInUse(models, workstream.model)), all))
    }
    if (!models.aliases.includes(name)) return say(noSuchModel(deps, name))
    await store.transaction((tx) => setModel(tx, workstream.id, name))
    return say(SWITCHED_TO(models.label(name)))
  },
}
