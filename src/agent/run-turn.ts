import { openApprovals } from '../approval/approvals.ts'
import type { Address } from '../channel/channel-adapter.ts'
import { PostRefusedError } from '../channel/post-once.ts'
import { LOG } from '../copy/log.ts'
import { CARD_NOT_POSTED, GAVE_UP, MODEL_GONE, STOPPED_IN_BETWEEN } from '../copy/turns.ts'
import type { JobRun } from '../jobs/job-queue.ts'
import { aliasInUse } from '../model/model-registry.ts'
import type { Tx } from '../store/store.ts'
import { finishMessages, queuedMessages, stopQueued } from '../turn/inbox-messages.ts'
import { append } from '../turn/journal.ts'
import { redactEntry } from '../turn/redact-entry.ts'
import { resumePoint } from '../turn/resume.ts'
import { TurnJournal } from '../turn/turn-journal.ts'
import {
  activeTurn,
  countStart,
  createTurn,
  endTurn,
  forgiveStart,
  moveTurn,
  resetStarts,
  setTurnModel,
} from '../turn/turns.ts'
import { eventsOf } from '../turn/view-events.ts'
import { shortId } from '../util/ids.ts'
import { openFileLedger } from '../workspace/file-ledger.ts'
import { acquireClaim, assertClaim, type Claim, ClaimLostError } from '../workstream/claim.ts'
import { findWorkstream, markClosed, markOpened, setModel, type Workstream } from '../workstream/workstreams.ts'
import { agentLoop, type LoopEnd } from './agent-loop.ts'
import { finishTurn } from './end-turn.ts'
import { type AgentDeps, type TurnContext, TurnStoppedError, turnRows } from './turn-context.ts'
import { reasonFor, TurnFault } from './turn-failures.ts'
import { watchTurn } from './watch-turn.ts'

/** A turn that failed to go on this many times without progress is ended as failed. */
const MAX_STARTS = 3

interface ClaimedTurn {
  readonly claim: Claim
  readonly turn: string
  readonly alias: string
  readonly postTo: Address
  readonly starts: number
  readonly stopped: boolean
}

/** One start of a turn. */
interface Run {
  /** Aborts when the gateway stops or the claim is lost. */
  readonly shutdown: AbortSignal
  /** Aborts at /stop too. */
  readonly signal: AbortSignal
  readonly idle: JobRun['idle']
}

/**
 * Takes a workstream as far as it goes: to the end of its turn, or to an open card, where the job ends too. Nothing to
 * do is a normal case. Ends silently where another job has taken the workstream over. Rejects where the turn could not
 * go on and may be started again; the third such start ends it.
 */
export async function runTurn(deps: AgentDeps, id: string, job: Pick<JobRun, 'signal' | 'idle'>): Promise<void> {
  const workstream = await findWorkstream(deps.store.db, id)
  if (!workstream || !deps.outlet.serves(workstream.platform)) return
  const taken = await deps.store.transaction((tx) => claimTurn(tx, deps, workstream))
  if (!taken) return
  const [stopping, lost, over] = [new AbortController(), new AbortController(), new AbortController()]
  const shutdown = AbortSignal.any([job.signal, lost.signal])
  const run: Run = { shutdown, signal: AbortSignal.any([shutdown, stopping.signal]), idle: job.idle }
  const watch = watchTurn(deps, { turn: taken.turn, claim: taken.claim, stopping, lost }, over.signal)
  try {
    await runClaimedTurn(deps, workstream, taken, run)
    deps.failures.forget(taken.turn)
  } catch (error) {
    if (error instanceof ClaimLostError || lost.signal.aborted) return
    if (job.signal.aborted) {
      await forgiveStart(deps.store.db, taken.turn)
      throw error
    }
    deps.failures.note(taken.turn, error)
    if (taken.starts < MAX_STARTS) throw error
    deps.log.error({ err: error, turn: shortId(taken.turn), workstream: id }, LOG.turnGivenUp)
    await giveUp(deps, workstream, taken, run)
  } finally {
    over.abort()
    await watch
  }
}

async function claimTurn(tx: Tx, deps: AgentDeps, workstream: Workstream): Promise<ClaimedTurn | undefined> {
  const claim = await acquireClaim(tx, workstream.id)
  if (!claim) return undefined
  const active = await activeTurn(tx.db, workstream.id)
  if (!active) return beginTurn(tx, deps, workstream, claim)
  // A card is open: what was shown stays as it is, unless its posting was cut short.
  const open = active.state === 'parked' && !active.stopRequested ? await openApprovals(tx.db, workstream.id) : []
  if (open.length > 0 && open.every((a) => a.cardUpToDate)) return undefined
  await countStart(tx, active.id, open.length > 0 ? 'parked' : 'running')
  const alias = aliasInUse(deps.models, active.model)
  if (alias !== active.model) {
    await setTurnModel(tx, active.id, alias)
    await tellOfModel(tx, deps, { claim, turn: active.id, gone: active.model, alias })
  }
  const { id: turn, postTo, stopRequested: stopped } = active
  return { claim, turn, alias, postTo, starts: active.starts + 1, stopped }
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
  const alias = aliasInUse(deps.models, workstream.model)
  const postTo = workstream.postTo && first.replyTo.thread === undefined ? workstream.postTo : first.replyTo
  const made = { workstream: workstream.id, model: alias, postTo }
  const { id: turn } = await createTurn(tx, made, deps.clock.now())
  if (workstream.model !== undefined && workstream.model !== alias) {
    await setModel(tx, workstream.id, undefined)
    await tellOfModel(tx, deps, { claim, turn, gone: workstream.model, alias })
  }
  return { claim, turn, alias, postTo, starts: 1, stopped: false }
}

async function tellOfModel(
  tx: Tx,
  { models, clock, redactor }: AgentDeps,
  of: { claim: Claim; turn: string; gone: string; alias: string },
): Promise<void> {
  const text = MODEL_GONE(of.gone, models.label(of.alias))
  const entry = redactEntry({ kind: 'notice', text, tone: 'info' }, redactor)
  await append(tx, of.claim, of.turn, [entry], clock.now())
}

async function runClaimedTurn(deps: AgentDeps, workstream: Workstream, taken: ClaimedTurn, run: Run): Promise<void> {
  const postTo = workstream.opening ? await openThread(deps, workstream, taken, run) : taken.postTo
  if (!postTo) return
  const context = await contextOf(deps, workstream, { ...taken, postTo }, run.signal)
  for (const event of eventsOf(await turnRows(context))) context.presenter.show(event)
  const end = await takeFurther(context, taken, run)
  const facts = { turn: shortId(taken.turn), workstream: workstream.id }
  if (end.end === 'failed') deps.log.warn({ ...facts, reason: end.why }, LOG.turnEndedFailed)
  else deps.log.info({ ...facts, end: end.end }, LOG.turnRested)
  if (end.end !== 'parked') return finishTurn(context, end, run)
  if ((await park(context, run)) === 'stopped') await finishTurn(context, { end: 'stopped', shown: '' }, run)
}

/** What goes wrong on the way is the turn's end. */
async function takeFurther(context: TurnContext, taken: ClaimedTurn, run: Run): Promise<LoopEnd> {
  const { deps, workstream } = context
  try {
    return await continueTurn(context, taken)
  } catch (error) {
    if (error instanceof ClaimLostError || run.shutdown.aborted) throw error
    if (run.signal.aborted) return { end: 'stopped', shown: '' }
    deps.log.error({ err: error, turn: shortId(taken.turn), workstream: workstream.id }, LOG.turnFailed)
    return { end: 'failed', why: reasonFor(error), shown: '', fault: true }
  }
}

/** Undefined where the platform will never give a place to answer in: the turn is over then. */
async function openThread(
  deps: AgentDeps,
  workstream: Workstream,
  taken: ClaimedTurn,
  run: Run,
): Promise<Address | undefined> {
  const opened = await run
    .idle(() => deps.outlet.open(workstream, taken.claim, run.shutdown))
    .catch((error: unknown) => {
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
  deps.log.warn({ turn: shortId(taken.turn), workstream: workstream.id, reason }, LOG.noPlace)
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
    files: openFileLedger(deps.store.db, workstream.id),
    presenter: deps.outlet.presenter({ workstream: workstream.id, turn, to: postTo, claim }),
    thread: postTo.thread,
    signal,
  }
}

async function continueTurn(context: TurnContext, taken: ClaimedTurn): Promise<LoopEnd> {
  if (taken.stopped) return { end: 'stopped', shown: '' }
  if (taken.starts > MAX_STARTS && resumePoint(await turnRows(context)).kind !== 'ended')
    return givenUp(context.deps, taken.turn)
  return agentLoop(context)
}

function givenUp(deps: AgentDeps, turn: string): LoopEnd {
  const why = GAVE_UP(deps.failures.reasonOf(turn) ?? STOPPED_IN_BETWEEN)
  return { end: 'failed', why, shown: '' }
}

/** Ends the turn with what little that takes: whatever else a turn needs may be what is broken. */
async function giveUp(deps: AgentDeps, workstream: Workstream, taken: ClaimedTurn, run: Run): Promise<void> {
  const { turn, claim, alias, postTo } = taken
  const context: TurnContext = {
    deps,
    workstream,
    turn,
    claim,
    alias,
    provider: {
      id: 'none',
      capabilities: { vision: false },
      contextWindow: 0,
      stream: () => {
        throw new Error('a turn that ends asks no model')
      },
    },
    root: '',
    journal: new TurnJournal(deps.store, claim, turn),
    files: openFileLedger(deps.store.db, workstream.id),
    presenter: deps.outlet.presenter({ workstream: workstream.id, turn, to: postTo, claim }),
    thread: postTo.thread,
    signal: run.signal,
  }
  for (const event of eventsOf(await turnRows(context))) context.presenter.show(event)
  await finishTurn(context, givenUp(deps, turn), run)
}

/** Posts the open card below all that was shown; then the job ends. */
async function park(context: TurnContext, run: Run): Promise<'waits' | 'stopped'> {
  const { deps, presenter, workstream, turn } = context
  presenter.show({ type: 'waiting' })
  await run.idle(() => presenter.settle(run.shutdown))
  try {
    for (const approval of await openApprovals(deps.store.db, workstream.id)) {
      const shown = await run.idle(() => presenter.card(approval, run.signal))
      if (shown === 'unshowable') await deps.refuseUnshowable(approval)
    }
  } catch (error) {
    if (error instanceof ClaimLostError || run.shutdown.aborted) throw error
    if (run.signal.reason instanceof TurnStoppedError) return 'stopped'
    throw new TurnFault(CARD_NOT_POSTED, { cause: error })
  }
  await deps.store.transaction((tx) => resetStarts(tx, turn))
  return 'waits'
}
