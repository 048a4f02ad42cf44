import { openApprovals, settleApproval } from '../../approval/approvals.ts'
import { audit } from '../../store/audit.ts'
import { type InboxMessage, stopQueued } from '../../turn/inbox-messages.ts'
import { stopSignal } from '../../turn/turn.ts'
import { markClosed, type Workstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { ARCHIVE_AFTER_MS, archiveJob } from './archive.ts'

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
    }
    const turns = await tx.db
      .updateTable('turns')
      .set({ stop: 1 })
      .where('ws_id', '=', workstream.id)
      .where('state', 'in', ['running', 'parked'])
      .returning('id')
      .execute()
    for (const { id } of turns) await deps.signals.send(tx, stopSignal(id))
    const messages = await stopQueued(tx, workstream.id)
    if (close) {
      await markClosed(tx, workstream.id)
      await deps.queue.send(tx, { key: archiveJob(workstream.id), notBefore: at + ARCHIVE_AFTER_MS })
    }
    await audit(tx, { at, actor: by, action: close ? 'close' : 'stop', workstream: workstream.id, detail: '' })
    await deps.queue.send(tx, { key: workstream.id })
    return { something: turns.length > 0 || messages.length > 0, messages }
  })
}
