import { forgetSeen } from '../store/seen.ts'
import { messageOf } from '../util/errors.ts'
import { repaintCards } from './card-painter.ts'
import type { GatewayTools } from './gateway-tools.ts'
import { sweepSigns } from './signs.ts'

/** How often it looks, ms. */
const EVERY = 60_000
/** Messages that wait this long without a job get one, ms. */
const FORGOTTEN_AFTER = 30_000

/** A regular look at what a lost hint or a failed write could have left behind. Returns what ends it. */
export function startCaretaker(tools: GatewayTools, signal: AbortSignal): () => void {
  let cancel = (): void => undefined
  const look = async (): Promise<void> => {
    try {
      await wakeForgotten(tools)
      await repaintCards(tools, signal)
      void sweepSigns(tools)
      await forgetSeen(tools.store.db, tools.clock.now())
    } catch (error) {
      if (!signal.aborted) tools.log.warn({ reason: messageOf(error) }, 'the regular look has failed')
    }
    if (!signal.aborted) cancel = tools.clock.after(EVERY, () => void look())
  }
  void look()
  return () => cancel()
}

/** Workstreams with waiting messages or a turn under way, but no open question, get a job again. */
async function wakeForgotten({ store, clock, queue }: GatewayTools): Promise<void> {
  await store.transaction(async (tx) => {
    const before = clock.now() - FORGOTTEN_AFTER
    const waiting = await tx.db
      .selectFrom('inbox')
      .select('ws_id')
      .distinct()
      .where('state', '=', 'queued')
      .where('created_at', '<', before)
      .where('ws_id', 'not in', (q) => q.selectFrom('approvals').select('ws_id').where('state', '=', 'open'))
      .execute()
    const running = await tx.db.selectFrom('turns').select('ws_id').where('state', '=', 'running').execute()
    const parked = await tx.db
      .selectFrom('turns')
      .select('ws_id')
      .where('state', '=', 'parked')
      .where('ws_id', 'not in', (q) =>
        q.selectFrom('approvals').select('ws_id').where('state', '=', 'open').where('painted', '=', 1),
      )
      .execute()
    const busy = await tx.db.selectFrom('jobs').select('key').execute()
    const known = new Set(busy.map((j) => j.key))
    for (const key of new Set([...waiting, ...running, ...parked].map((r) => r.ws_id))) {
      if (!known.has(key)) await queue.send(tx, { key })
    }
  })
}
