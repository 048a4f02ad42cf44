import { activeTurn } from '../../turn/turns.ts'
import { findOpenWorkstream, findWorkstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

/** Given to the last lines of a closed conversation to be posted: a post would open the thread again, ms. */
export const ARCHIVE_AFTER_MS = 3000

/** Archives the thread, once nothing is posted there any more; not at all where a new conversation was started in it. */
export async function archive(
  deps: Pick<GatewayDeps, 'store' | 'clock' | 'queue' | 'adapters'>,
  id: string,
): Promise<void> {
  const { store, clock, queue, adapters } = deps
  const workstream = await findWorkstream(store.db, id)
  if (!workstream?.postTo || workstream.state !== 'closed') return
  if (await findOpenWorkstream(store.db, workstream.platform, workstream.address)) return
  if (await activeTurn(store.db, id)) {
    const notBefore = clock.now() + ARCHIVE_AFTER_MS
    return store.transaction((tx) => queue.send(tx, { kind: 'archive', workstream: id }, { notBefore }))
  }
  await adapters.get(workstream.platform)?.archive(workstream.postTo)
}
