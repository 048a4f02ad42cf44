import { openApprovals, settleApproval } from '../approval/approvals.ts'
import type { Address } from '../channel/channel-adapter.ts'
import { PostRefusedError } from '../channel/post-once.ts'
import type { JobRun } from '../jobs/job-queue.ts'
import type { Tx } from '../store/store.ts'
import { finishMessages, queuedMessages, stopQueued } from '../turn/inbox-messages.ts'
import { append, type JournalEntry } from '../turn/journal.ts'
import { redactEntry } from '../turn/redact-entry.ts'
import { resumePoint, startedHeader } from '../turn/resume.ts'
import { stopSignal } from '../turn/turn.ts'
import { TurnJournal } from '../turn/turn-journal.ts'
import { activeTurn, countStart, createTurn, endTurn, forgiveStart, isStopRequested, moveTurn } from '../turn/turns.ts'
import { eventsOf } from '../turn/view-events.ts'
import { shortId } from '../util/ids.ts'
import type { Redactor } from '../util/redact.ts'
import { loadFileLedger } from '../workspace/file-ledger.ts'
import { acquireClaim, assertClaim, type Claim, ClaimLostError } from '../workstream/claim.ts'
import { findWorkstream, markClosed, markOpened, type Workstream } from '../workstream/workstreams.ts'
import { agentLoop, type LoopEnd, readInboxWithoutFiles } from './agent-loop.ts'
import { recordResults } from './execute-step.ts'
import { type AgentDeps, record, type TurnContext, TurnStoppedError, turnRows } from './turn-context.ts'

/** A message that ended this many starts without progress is answered as failed. */
const MAX_STARTS = 3

interface ClaimedTurn {
  readonly claim: Claim
  readonly turn: string
  readonly alias: string
  readonly postTo: Address
  readonly starts: number
  readonly stopped: boolean
}

/**
 * Takes a workstream as far as it goes: to the end of its turn, or to an open card, where the job ends too. Nothing to
 * do is a normal case. Ends silently where another job has taken the workstream over.
 */
export async function runTurn(deps: AgentDeps, id: string, job: Pick<JobRun, 'signal'>): Promise<void> {
  const workstream = await findWorkstream(deps.store.db, id)
  if (!workstream || !deps.outlet.serves(workstream.platform)) return
  const taken = await deps.store.transaction((tx) => claimTurn(tx, deps, workstream))
  if (!taken) return
  const stopping = new AbortController()
  const over = new AbortController()
  const signal = AbortSignal.any([job.signal, stopping.signal])
  const watch = watchForStop(deps, taken.turn, stopping, over.signal)
  try {
    await runClaimedTurn(deps, workstream, taken, signal, job.signal)
  } catch (error) {
    if (error instanceof ClaimLostError) return
    if (job.signal.aborted) await forgiveStart(deps.store.db, taken.turn)
    throw error
  } finally {
    over.abort()
    await watch
  }
}

async function claimTurn(tx: Tx, deps: AgentDeps, workstream: Workstream): Promise<ClaimedTurn | undefined> {
  const claim = await acquireClaim(tx, workstream.id)
  if (!claim) return undefined
  const active = await activeTurn(tx.db, workstream.id)
  if (active) {
    // A card is open: what was shown stays as it is, unless its posting was cut short.
    const open = active.state === 'parked' && !active.stopRequested ? await openApprovals(tx.db, workstream.id) : []
    if (open.length > 0 && open.every((a) => a.cardUpToDate)) return undefined
    await countStart(tx, active.id, open.length > 0 ? 'parked' : 'running')
    return {
      claim,
      turn: active.id,
      alias: active.model,
      postTo: active.postTo,
      starts: active.starts + 1,
      stopped: active.stopRequested,
    }
  }
  return beginTurn(tx, deps, workstream, claim)
}

async function beginTurn(
  tx: Tx,
  deps: AgentDeps,
  workstream: Workstream,
  claim: Claim,
): Promise<ClaimedTurn | undefined> {
  const [first] = await queuedMessages(tx.db, workstream.id)
  if (!first) return undefined
  if (workstream.state === 'closed') {
    await stopQueued(tx, workstream.id)
    return undefined
  }
  const wished = workstream.model ?? deps.models.defaultAlias
  const alias = deps.models.aliases.includes(wished) ? wished : deps.models.defaultAlias
  const postTo = workstream.postTo && first.replyTo.thread === undefined ? workstream.postTo : first.replyTo
  const made = { workstream: workstream.id, model: alias, postTo }
  const { id: turn } = await createTurn(tx, made, deps.clock.now())
  return { claim, turn, alias, postTo, starts: 1, stopped: false }
}

async function watchForStop(
  deps: AgentDeps,
  turn: string,
  stopping: AbortController,
  over: AbortSignal,
): Promise<void> {
  const asked = (): Promise<boolean> => isStopRequested(deps.store.db, turn)
  try {
    await deps.signals.until(stopSignal(turn), asked, over)
    stopping.abort(new TurnStoppedError())
  } catch (error) {
    if (!over.aborted) deps.log.error({ err: error, turn: shortId(turn) }, 'the watch for /stop has failed')
  }
}

async function runClaimedTurn(
  deps: AgentDeps,
  workstream: Workstream,
  taken: ClaimedTurn,
  signal: AbortSignal,
  shutdown: AbortSignal,
): Promise<void> {
  const postTo = workstream.opening ? await openThread(deps, workstream, taken, shutdown) : taken.postTo
  if (!postTo) return
  const context = await contextOf(deps, workstream, { ...taken, postTo }, signal)
  for (const event of eventsOf(await turnRows(context))) context.presenter.show(event)
  const end = await continueTurn(context, taken).catch(async (error: unknown): Promise<LoopEnd> => {
    if (error instanceof ClaimLostError || shutdown.aborted) throw error
    if (signal.aborted) return { end: 'stopped', shown: '' }
    deps.log.error({ err: error, turn: shortId(taken.turn), workstream: workstream.id }, 'a turn failed')
    return { end: 'failed', why: 'Something went wrong inside the gateway.', shown: '' }
  })
  const facts = { turn: shortId(taken.turn), workstream: workstream.id }
  if (end.end === 'failed') deps.log.warn({ ...facts, reason: end.why }, 'a turn has failed')
  else deps.log.info({ ...facts, end: end.end }, 'turn finished or waiting for approval')
  if (end.end === 'parked') return park(context, shutdown)
  await finishTurn(context, end, shutdown)
}

/** Undefined where the platform will never give a place to answer in: the turn is over then. */
async function openThread(
  deps: AgentDeps,
  workstream: Workstream,
  taken: ClaimedTurn,
  signal: AbortSignal,
): Promise<Address | undefined> {
  const opened = await deps.outlet.open(workstream, taken.claim, signal).catch((error: unknown) => {
    if (error instanceof PostRefusedError) return abandon(deps, workstream, taken, error.reason)
    throw error
  })
  if (!opened) return undefined
  const { to, notice } = opened
  await deps.store.transaction(async (tx) => {
    await markOpened(tx, workstream.id, to.id, to)
    await moveTurn(tx, taken.turn, to)
    if (notice === undefined) return
    const entry = redactEntry({ kind: 'notice', text: notice, tone: 'info' }, deps.redactor)
    await append(tx, taken.claim, taken.turn, [entry], deps.clock.now())
  })
  return to
}

/** Nobody can be told in chat: the log says it, and what waits here is not kept waiting. */
async function abandon(
  deps: AgentDeps,
  workstream: Workstream,
  taken: ClaimedTurn,
  reason: string,
): Promise<undefined> {
  deps.log.warn({ turn: shortId(taken.turn), workstream: workstream.id, reason }, 'there is no place to answer in')
  await deps.store.transaction(async (tx) => {
    await assertClaim(tx, taken.claim)
    await stopQueued(tx, workstream.id)
    await markClosed(tx, workstream.id)
    await endTurn(tx, taken.turn, 'failed', deps.clock.now())
    await finishMessages(tx, taken.turn, 'failed')
  })
}

async function contextOf(
  deps: AgentDeps,
  workstream: Workstream,
  taken: ClaimedTurn,
  signal: AbortSignal,
): Promise<TurnContext> {
  const { turn, claim, alias, postTo } = taken
  return {
    deps,
    workstream,
    turn,
    claim,
    journal: new TurnJournal(deps.store, claim, turn),
    alias,
    provider: await deps.models.get(alias),
    root: await deps.workspaceOf(workstream.id),
    files: await loadFileLedger(deps.store.db, workstream.id),
    presenter: deps.outlet.presenter({ workstream: workstream.id, turn, to: postTo, claim }),
    thread: postTo.thread,
    signal,
  }
}

async function continueTurn(context: TurnContext, taken: ClaimedTurn): Promise<LoopEnd> {
  if (taken.stopped) return { end: 'stopped', shown: '' }
  if (taken.starts > MAX_STARTS) {
    const rows = await turnRows(context)
    if (!rows.some((r) => r.kind === 'user')) await readInboxWithoutFiles(context)
    if (resumePoint(rows).kind !== 'ended')
      return { end: 'failed', why: 'I gave up after three attempts; the gateway restarted each time.', shown: '' }
  }
  return agentLoop(context)
}

/** The open card is posted, the rest stands settled above it; then the job ends. */
async function park(context: TurnContext, shutdown: AbortSignal): Promise<void> {
  const { deps, presenter, workstream } = context
  presenter.show({ type: 'waiting' })
  await presenter.settle(shutdown)
  for (const approval of await openApprovals(deps.store.db, workstream.id)) {
    const shown = await presenter.card(approval, shutdown)
    if (shown === 'unshowable') await deps.refuseUnshowable(approval)
  }
}

/** The end is journaled, shown complete, and only then committed: a crash in between shows it again and doubles nothing. */
async function finishTurn(context: TurnContext, end: LoopEnd, shutdown: AbortSignal): Promise<void> {
  const { deps, presenter, turn, workstream } = context
  const rows = await turnRows(context)
  const known = rows.findLast((r) => r.kind === 'end')
  const state = known?.kind === 'end' ? known.state : end.end === 'parked' ? 'done' : end.end
  if (!known) {
    if (state !== 'done') await closeCalls(context, state)
    const entries = [...endingEntries(end, turn, deps.redactor), { kind: 'end' as const, state }]
    await record(context, entries, (tx) => closeCards(tx, context))
    for (const entry of entries) {
      if (entry.kind === 'notice') presenter.show({ type: 'notice', text: entry.text, tone: entry.tone })
    }
  }
  presenter.show({ type: 'end', state })
  await presenter.settle(shutdown)
  await record(context, [], async (tx) => {
    await endTurn(tx, turn, state, deps.clock.now())
    await finishMessages(tx, turn, state)
    if ((await queuedMessages(tx.db, workstream.id)).length > 0)
      await deps.queue.send(tx, { kind: 'turn', workstream: workstream.id })
  })
  deps.count(`turns_${state}`)
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
function endingEntries(end: LoopEnd, turn: string, redactor: Redactor): JournalEntry[] {
  if (end.end !== 'failed' && end.end !== 'stopped') return []
  const cut = end.shown.trim() !== ''
  const entries: JournalEntry[] = cut ? [{ kind: 'assistant', text: end.shown, calls: [], cut: true }] : []
  if (end.end === 'stopped') return [...entries, { kind: 'notice', text: 'Stopped.', tone: 'info' }]
  const text = `${redactor.redact(end.why)}${cut ? ' The text above was cut off.' : ''} (turn ${shortId(turn)})`
  return [...entries, { kind: 'notice', text, tone: 'error' }]
}
