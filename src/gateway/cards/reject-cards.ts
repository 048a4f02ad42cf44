import { openApprovals, settleApproval } from '../../approval/approvals.ts'
import type { JobQueue } from '../../jobs/job-queue.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../../util/time.ts'
import { openWorkstreamsOf } from '../../workstream/workstreams.ts'

/** The open cards of a person's workstreams are refused: nobody is left to decide for them. How many there were. */
export async function rejectCardsOf(
  { store, clock, queue }: { store: Store; clock: Clock; queue: JobQueue },
  user: string,
  why: string,
): Promise<number> {
  return store.transaction(async (tx) => {
    const mine = await openWorkstreamsOf(tx.db, user)
    let refused = 0
    for (const id of mine) {
      for (const approval of await openApprovals(tx.db, id)) {
        await settleApproval(tx, { id: approval.id, outcome: 'rejected', by: 'turnstone', note: why }, clock.now())
        await queue.cancel(tx, { kind: 'expire', approval: approval.id })
        await queue.send(tx, { kind: 'turn', workstream: id })
        refused++
      }
    }
    return refused
  })
}
