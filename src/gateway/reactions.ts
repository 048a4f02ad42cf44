import { type InboxMessage, setReacted, staleReactions } from '../turn/inbox-messages.ts'
import { messageOf } from '../util/errors.ts'
import type { GatewayDeps } from './gateway-deps.ts'

type Tools = Pick<GatewayDeps, 'store' | 'log' | 'adapters'>

/** 👀 on a message that waits. The row is set before it is shown and unset after it is gone: a crash leaves none on. */
export async function showReceived(tools: Tools, item: InboxMessage): Promise<void> {
  await quietly(tools, async () => {
    if (!item.ref) return
    const row = await tools.store.db
      .updateTable('inbox')
      .set({ marked: 1 })
      .where('id', '=', item.id)
      .where('state', '=', 'queued')
      .returning('id')
      .executeTakeFirst()
    if (!row) return
    await tools.adapters.get(item.ref.platform)?.addReaction(item.ref)
    if (!(await isQueued(tools, item.id))) await removeReceived(tools, [item])
  })
}

/** Takes 👀 off those that show it. */
export async function removeReceived(tools: Tools, items: readonly InboxMessage[]): Promise<void> {
  for (const item of items) {
    await quietly(tools, async () => {
      if (!item.ref) return
      const row = await tools.store.db.selectFrom('inbox').select('marked').where('id', '=', item.id).executeTakeFirst()
      if (row?.marked !== 1) return
      await tools.adapters.get(item.ref.platform)?.removeReaction(item.ref)
      await setReacted(tools.store.db, item.id, false)
    })
  }
}

/** Takes 👀 off what does not wait any more. */
export async function sweepReactions(tools: Tools): Promise<void> {
  await removeReceived(tools, await staleReactions(tools.store.db))
}

async function isQueued({ store }: Tools, id: number): Promise<boolean> {
  const row = await store.db.selectFrom('inbox').select('state').where('id', '=', id).executeTakeFirst()
  return row?.state === 'queued'
}

async function quietly({ log }: Tools, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'could not set a reaction')
  }
}
