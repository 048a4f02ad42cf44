import { type InboxItem, setMarked } from '../turn/inbox-store.ts'
import { messageOf } from '../util/errors.ts'
import type { GatewayTools } from './gateway-tools.ts'

type Tools = Pick<GatewayTools, 'store' | 'log' | 'adapters'>

/** 👀 on a message that waits. The row comes first: what a crash leaves on is taken off later. */
export async function setMarkedOn(tools: Tools, item: InboxItem): Promise<void> {
  await quietly(tools, async () => {
    if (!item.ref) return
    const row = await tools.store.db
      .updateTable('inbox')
      .set({ marked: 1 })
      .where('id', '=', item.id)
      .where('state', '=', 'queued')
      .returning('id')
      .executeTakeFirst()
    if (row) await tools.adapters.get(item.ref.channel)?.mark(item.ref, 'received')
  })
}

/** Takes 👀 off those that show it. */
export async function setMarkedOff(tools: Tools, items: readonly InboxItem[]): Promise<void> {
  for (const item of items) {
    await quietly(tools, async () => {
      if (!item.ref) return
      const row = await tools.store.db.selectFrom('inbox').select('marked').where('id', '=', item.id).executeTakeFirst()
      if (row?.marked !== 1) return
      await setMarked(tools.store.db, item.id, false)
      await tools.adapters.get(item.ref.channel)?.mark(item.ref, 'none')
    })
  }
}

async function quietly({ log }: Tools, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'a sign could not be set')
  }
}
