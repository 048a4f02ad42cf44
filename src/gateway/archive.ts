import { findWorkstream, openAt } from '../workstream/workstreams.ts'
import type { GatewayTools } from './gateway-tools.ts'

/** The key of the job that archives a closed workstream's thread. */
export const archiveJob = (workstream: string): string => `archive:${workstream}`

/** Given to the last lines of a closed conversation to be posted: a post would open the thread again, ms. */
export const ARCHIVE_AFTER = 3000

/** Archives the thread, once nothing is posted there any more; not at all where a new conversation was begun in it. */
export async function archive(
  tools: Pick<GatewayTools, 'store' | 'clock' | 'queue' | 'adapters'>,
  id: string,
): Promise<void> {
  const { store, clock, queue, adapters } = tools
  const workstream = await findWorkstream(store.db, id)
  if (!workstream?.postTo || workstream.state !== 'closed') return
  if (await openAt(store.db, workstream.channel, workstream.address)) return
  const busy = await store.db
    .selectFrom('turns')
    .select('id')
    .where('ws_id', '=', id)
    .where('state', 'in', ['running', 'parked'])
    .executeTakeFirst()
  if (busy) {
    const job = { key: archiveJob(id), notBefore: clock.now() + ARCHIVE_AFTER }
    return store.transaction((tx) => queue.send(tx, job))
  }
  await adapters.get(workstream.channel)?.close(workstream.postTo)
}
