import { LOG } from '../copy/log.ts'
import {
  claimReaction,
  clearReaction,
  type InboxMessage,
  reactionState,
  staleReactions,
} from '../turn/inbox-messages.ts'
import { messageOf } from '../util/errors.ts'
import type { GatewayDeps } from './gateway-deps.ts'

type Deps = Pick<GatewayDeps, 'store' | 'log' | 'adapters'>

/** 👀 on a message that waits. The row is set before it is shown and cleared after it is gone: a crash leaves none on. */
export async function showReceived(deps: Deps, item: InboxMessage): Promise<void> {
  await quietly(deps, async () => {
    if (!item.ref || !(await claimReaction(deps.store.db, item.id))) return
    await deps.adapters.get(item.ref.platform)?.addReaction(item.ref)
    if (!(await reactionState(deps.store.db, item.id))?.queued) await removeReceived(deps, [item])
  })
}

/** Takes 👀 off those that show it. */
export async function removeReceived(deps: Deps, items: readonly InboxMessage[]): Promise<void> {
  for (const item of items) {
    await quietly(deps, async () => {
      if (!item.ref || !(await reactionState(deps.store.db, item.id))?.reacted) return
      await deps.adapters.get(item.ref.platform)?.removeReaction(item.ref)
      await clearReaction(deps.store.db, item.id)
    })
  }
}

/** Takes 👀 off what does not wait any more. */
export async function sweepReactions(deps: Deps): Promise<void> {
  await removeReceived(deps, await staleReactions(deps.store.db))
}

async function quietly({ log }: Deps, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ reason: messageOf(error) }, LOG.reactionNotUpdated)
  }
}
