import { type InboxItem, markedAndGone, setMarked } from '../turn/inbox-store.ts'
import { messageOf } from '../util/errors.ts'
import type { GatewayTools } from './gateway-tools.ts'

type Tools = Pick<GatewayTools, 'store' | 'log' | 'adapters'>

/** 👀 on a message that waits. The row is set before it is shown and unset after it is gone: a crash leaves none on. */
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
    if (!row) return
    await tools.adapters.get(item.ref.channel)?.mark(item.ref, 'received')
    if (!(await isQueued(tools, item.id))) await setMarkedOff(tools, [item])
  })
}

/** Takes 👀 off those that show it. */
export async function setMarkedOff(tools: Tools, items: readonly InboxItem[]): Promise<void> {
  for (const item of items) {
    await quietly(tools, async () => {
      if (!item.ref) return
      const row = await tools.store.db.selectFrom('inbox').select('marked').where('id', '=', item.id).executeTakeFirst()
      if (row?.marked !== 1) return
      await tools.adapters.get(item.ref.channel)?.mark(item.ref, 'none')
      await setMarked(tools.store.db, item.id, false)
    })
  }
}

/** Takes 👀 off what does not wait any more. */
export async function sweepSigns(tools: Tools): Promise<void> {
  await setMarkedOff(tools, await markedAndGone(tools.store.db))
}

async function isQueued({ store }: Tools, id: number): Promise<boolean> {
  const row = await store.db.selectFrom('inbox').select('state').where('id', '=', id).executeTakeFirst()
  return row?.state === 'queued'
}

async function quietly({ log }: Tools, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'a sign could not be set')
  }
}
