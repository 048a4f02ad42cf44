import { openApprovals, settleApproval } from '../../approval/approvals.ts'
import { audit } from '../../store/audit.ts'
import { type InboxMessage, stopQueued } from '../../turn/inbox-messages.ts'
import { stopSignal } from '../../turn/turn.ts'
import { requestStop } from '../../turn/turns.ts'
import { markClosed, type Workstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { ARCHIVE_AFTER_MS } from './archive.ts'

export interface Stopped {
  /** Whether anything was running or waited. */
  readonly something: boolean
  readonly messages: readonly InboxMessage[]
}

/**
 * Ends what a workstream is doing: model call, tools, open cards and what waits. The turn itself writes its end; this
 * makes it certain that it will. `close` also ends the workstream.
 */
export async function stopWorkstream(
  deps: Pick<GatewayDeps, 'store' | 'clock' | 'queue' | 'signals'>,
  workstream: Workstream,
  by: string,
  close: boolean,
): Promise<Stopped> {
  const at = deps.clock.now()
  return deps.store.transaction(async (tx) => {
    for (const approval of await openApprovals(tx.db, workstream.id)) {
      await settleApproval(tx, { id: approval.id, outcome: 'stopped', by }, at)
      await deps.queue.cancel(tx, { kind: 'expire', approval: approval.id })
    }
    const turn = await requestStop(tx, workstream.id)
    if (turn !== undefined) await deps.signals.send(tx, stopSignal(turn))
    const messages = await stopQueued(tx, workstream.id)
    if (close) {
      await markClosed(tx, workstream.id)
      await deps.queue.send(tx, { kind: 'archive', workstream: workstream.id }, { notBefore: at + ARCHIVE_AFTER_MS })
    }
    await audit(tx, { at, actor: by, action: close ? 'close' : 'stop', workstream: workstream.id, detail: '' })
    await deps.queue.send(tx, { kind: 'turn', workstream: workstream.id })
    return { something: turn !== undefined || messages.length > 0, messages }
  })
}
