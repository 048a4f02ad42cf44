import { DESCRIPTIONS, statusText } from '../../copy/commands.ts'
import { aliasInUse } from '../../model/model-registry.ts'
import { queuedMessages } from '../../turn/inbox-messages.ts'
import { activeTurn } from '../../turn/turns.ts'
import { type Command, NAME_ALONE, NO_OPTIONS, say } from './command.ts'

export const status: Command = {
  name: 'status',
  description: DESCRIPTIONS.status,
  options: NO_OPTIONS,
  words: NAME_ALONE,
  access: 'conversation',
  async run({ deps: { store, models, config }, workstream }) {
    const turn = await activeTurn(store.db, workstream.id)
    return say(
      statusText({
        id: workstream.id,
        owner: workstream.owner,
        doing: turn?.state === 'parked' ? 'waiting for approval' : turn ? 'working' : 'idle',
        waiting: (await queuedMessages(store.db, workstream.id)).length,
        model: models.label(aliasInUse(models, workstream.model)),
        skipsApprovals: config.approvals.skip_permissions,
      }),
    )
  },
}
