import { pruneSeen } from '../../store/seen.ts'
import { messageOf } from '../../util/errors.ts'
import { redrawCards } from '../cards/card-painter.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { sweepReactions } from '../reactions.ts'

/** How often it looks, ms. */
const EVERY_MS = 60_000
/** Messages that wait this long without a job get one, ms. */
const FORGOTTEN_AFTER_MS = 30_000

/** A regular look at what a lost hint or a failed write could have left behind. Returns what ends it. */
export function startReconciler(deps: GatewayDeps, signal: AbortSignal): () => void {
  let cancel = (): void => undefined
  const look = async (): Promise<void> => {
    try {
      await wakeForgottenWorkstreams(deps)
      await redrawCards(deps, signal)
      void sweepReactions(deps)
      await pruneSeen(deps.store.db, deps.clock.now())
    } catch (error) {
      if (!signal.aborted) deps.log.warn({ reason: messageOf(error) }, 'the regular look has failed')
    }
    if (!signal.aborted) cancel = deps.clock.after(EVERY_MS, () => void look())
  }
  void look()
  return () => cancel()
}

/** Workstreams with waiting messages or a turn under way, but no open question, get a job again. */
async function wakeForgottenWorkstreams({ store, clock, queue }: GatewayDeps): Promise<void> {
  await store.transaction(async (tx) => {
    const before = clock.now() - FORGOTTEN_AFTER_MS
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
