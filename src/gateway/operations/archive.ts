import { findOpenWorkstream, findWorkstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

/** The key of the job that archives a closed workstream's thread. */
export const archiveJob = (workstream: string): string => `archive:${workstream}`

/** Given to the last lines of a closed conversation to be posted: a post would open the thread again, ms. */
export const ARCHIVE_AFTER_MS = 3000

/** Archives the thread, once nothing is posted there any more; not at all where a new conversation was begun in it. */
export async function archive(
  deps: Pick<GatewayDeps, 'store' | 'clock' | 'queue' | 'adapters'>,
  id: string,
): Promise<void> {
  const { store, clock, queue, adapters } = deps
  const workstream = await findWorkstream(store.db, id)
  if (!workstream?.postTo || workstream.state !== 'closed') return
  if (await findOpenWorkstream(store.db, workstream.platform, workstream.address)) return
  const busy = await store.db
    .selectFrom('turns')
    .select('id')
    .where('ws_id', '=', id)
    .where('state', 'in', ['running', 'parked'])
    .executeTakeFirst()
  if (busy) {
    const job = { key: archiveJob(id), notBefore: clock.now() + ARCHIVE_AFTER_MS }
    return store.transaction((tx) => queue.send(tx, job))
  }
  await adapters.get(workstream.platform)?.archive(workstream.postTo)
}
