import { workstreamsWithOpenApproval } from '../../approval/approvals.ts'
import { LOG } from '../../copy/log.ts'
import { workstreamsWaitingSince } from '../../turn/inbox-messages.ts'
import { workstreamsUnderWay } from '../../turn/turns.ts'
import { messageOf } from '../../util/errors.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { sweepReactions } from '../reactions.ts'
import { prune, startSweeping } from './prune.ts'

/** How often it looks, ms. */
const EVERY_MS = 60_000
/** Messages that wait this long without a job get one, ms. */
const FORGOTTEN_AFTER_MS = 30_000

/** A regular look at what a lost hint or a failed write could have left behind. Returns what ends it. */
export function startReconciler(deps: GatewayDeps, signal: AbortSignal): () => void {
  let cancel = (): void => undefined
  let sweeping = false
  /** Not waited for, and one at a time: marks are a help only. */
  const sweep = (): void => {
    if (sweeping) return
    sweeping = true
    void sweepReactions(deps)
      .catch((error: unknown) => deps.log.warn({ reason: messageOf(error) }, LOG.reactionsNotSwept))
      .finally(() => {
        sweeping = false
      })
  }
  const look = async (): Promise<void> => {
    try {
      await wakeForgottenWorkstreams(deps)
      deps.redraws.soon()
      sweep()
      await prune(deps, signal)
    } catch (error) {
      if (!signal.aborted) deps.log.warn({ reason: messageOf(error) }, LOG.reconciliationFailed)
    }
    if (!signal.aborted) cancel = deps.clock.after(EVERY_MS, () => void look())
  }
  void look()
  const stopSweeping = startSweeping(deps, signal)
  return () => {
    cancel()
    stopSweeping()
  }
}

/** Workstreams with waiting messages or a turn under way, but no open card, get a job again. */
async function wakeForgottenWorkstreams({ store, clock, queue }: GatewayDeps): Promise<void> {
  await store.transaction(async (tx) => {
    const asking = await workstreamsWithOpenApproval(tx.db, false)
    const shown = await workstreamsWithOpenApproval(tx.db, true)
    const waiting = await workstreamsWaitingSince(tx.db, clock.now() - FORGOTTEN_AFTER_MS)
    const active = await workstreamsUnderWay(tx.db)
    const forgotten = [
      ...waiting.filter((id) => !asking.has(id)),
      ...active.filter((t) => !t.parked || !shown.has(t.workstream)).map((t) => t.workstream),
    ]
    for (const workstream of new Set(forgotten)) {
      const job = { kind: 'turn', workstream } as const
      if (!(await queue.isPending(tx, job))) await queue.send(tx, job)
    }
  })
}
