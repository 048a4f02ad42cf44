import { openApprovals, settleApproval } from '../approval/approvals.ts'
import { CUT_OFF_ABOVE, STOPPED } from '../copy/turns.ts'
import type { JobRun } from '../jobs/job-queue.ts'
import { lastStopper } from '../store/audit.ts'
import type { Tx } from '../store/store.ts'
import { finishMessages, type InboxMessage, markTaken, queuedMessages } from '../turn/inbox-messages.ts'
import type { JournalEntry } from '../turn/journal.ts'
import { resumePoint, startedHeader } from '../turn/resume.ts'
import type { TurnEnd } from '../turn/turn.ts'
import { endTurn } from '../turn/turns.ts'
import { shortId } from '../util/ids.ts'
import { ClaimLostError } from '../workstream/claim.ts'
import { type LoopEnd, messagesForTurn } from './agent-loop.ts'
import { recordResults } from './execute-step.ts'
import { record, type TurnContext, turnRows } from './turn-context.ts'

/** How much of a message is kept where not even its text can be stored, characters. */
const MAX_KEPT_CHARS = 200

/** The end is journaled, shown complete, and only then committed: a crash in between shows it again and doubles nothing. */
export async function finishTurn(
  context: TurnContext,
  end: LoopEnd,
  { shutdown, idle }: { readonly shutdown: AbortSignal; readonly idle: JobRun['idle'] },
): Promise<void> {
  const { deps, presenter, turn, workstream } = context
  const known = (await turnRows(context)).findLast((r) => r.kind === 'end')
  const state = known?.kind === 'end' ? known.state : end.end === 'parked' ? 'done' : end.end
  if (!known) {
    if (state !== 'done') await closeCalls(context, state)
    const entries = await endingEntries(context, end, state)
    await recordEnd(context, entries, state)
    for (const entry of entries) {
      if (entry.kind === 'notice') presenter.show({ type: 'notice', text: entry.text, tone: entry.tone })
    }
  }
  presenter.show({ type: 'end', state })
  await idle(() => presenter.settle(shutdown))
  await record(context, [], async (tx) => {
    await endTurn(tx, turn, state, deps.clock.now())
    await finishMessages(tx, turn, state)
    if ((await queuedMessages(tx.db, workstream.id)).length > 0)
      await deps.queue.send(tx, { kind: 'turn', workstream: workstream.id })
  })
  deps.count(`turns_${state}`)
}

/** A failed turn takes what began it, so that it does not begin the next one. */
async function recordEnd(context: TurnContext, entries: readonly JournalEntry[], state: TurnEnd): Promise<void> {
  const hasStarted = (await turnRows(context)).some((r) => r.kind === 'user')
  const items = state === 'failed' && !hasStarted ? await messagesForTurn(context, true) : []
  const write = (textOf: (item: InboxMessage) => string): Promise<void> =>
    record(context, [...userEntry(items, textOf), ...entries], async (tx) => {
      const ids = items.map((i) => i.id)
      await markTaken(tx, ids, context.turn)
      await closeCards(tx, context)
    })
  const whole = (item: InboxMessage): string => context.deps.redactor.redact(item.text)
  try {
    await write(whole)
  } catch (error) {
    if (error instanceof ClaimLostError || items.length === 0) throw error
    await write((item) => whole(item).slice(0, MAX_KEPT_CHARS).toWellFormed())
  }
  if (items.length > 0) await context.deps.outlet.taken(items)
}

/** By their text alone: the turn has failed. */
function userEntry(items: readonly InboxMessage[], textOf: (item: InboxMessage) => string): JournalEntry[] {
  if (items.length === 0) return []
  const user = items.map((item) => {
    const { id: inbox, author } = item
    return { inbox, author, content: [{ type: 'text' as const, text: textOf(item) }] }
  })
  return [{ kind: 'user', items: user }]
}

/** No card outlives its turn: a press on it could do nothing. */
async function closeCards(tx: Tx, { turn, workstream, deps }: TurnContext): Promise<void> {
  for (const approval of await openApprovals(tx.db, workstream.id)) {
    if (approval.turn !== turn) continue
    await settleApproval(tx, { id: approval.id, outcome: 'stopped', by: 'turnstone' }, deps.clock.now())
    await deps.queue.cancel(tx, { kind: 'expire', approval: approval.id })
  }
}

/** Every call has a result, whatever happened. */
async function closeCalls(context: TurnContext, state: 'failed' | 'stopped'): Promise<void> {
  const rows = await turnRows(context)
  const point = resumePoint(rows)
  if (point.kind !== 'calls') return
  const settle = (calls: typeof point.open, header: (id: string) => string, text: string) =>
    recordResults(
      context,
      calls.map((call) => ({ call, header: header(call.id), state: 'stopped' as const, text })),
    )
  const why = state === 'stopped' ? 'Stopped by the user.' : 'The turn failed.'
  await settle(point.open, () => 'not run', `${why} This call was not run.`)
  const running = (id: string): string => `${startedHeader(rows, id)} (was running, its outcome is unknown)`
  await settle(point.interrupted, running, `${why} This call was running; its outcome is unknown.`)
}

/** A provider's own words may repeat what it was sent. */
async function endingEntries(
  { deps, turn, workstream }: TurnContext,
  end: LoopEnd,
  state: TurnEnd,
): Promise<JournalEntry[]> {
  if (end.end !== 'failed' && end.end !== 'stopped') return [{ kind: 'end', state }]
  const cut = end.shown.trim() !== ''
  const entries: JournalEntry[] = cut ? [{ kind: 'assistant', text: end.shown, calls: [], cut: true }] : []
  if (end.end === 'stopped') {
    const by = await lastStopper(deps.store.db, workstream.id)
    const said: JournalEntry = { kind: 'notice', text: STOPPED, tone: 'info' }
    return [...entries, said, { kind: 'end', state, ...(by === undefined ? {} : { by }) }]
  }
  const why = deps.redactor.redact(end.why)
  const text = `${why}${cut ? CUT_OFF_ABOVE : ''} (turn ${shortId(turn)})`
  // A fault of the gateway meets every message: it is said once a minute.
  const said = !end.fault || deps.failures.maySay(workstream.id, why)
  if (said) entries.push({ kind: 'notice', text, tone: 'error' })
  return [...entries, { kind: 'end', state, why }]
}
