import { type Approval, type ApprovalCall, allowed } from '../approval/approval.ts'
import { approvalsOfTurn, requestApproval } from '../approval/approvals.ts'
import { grantsOf } from '../approval/grants.ts'
import type { ToolCall } from '../model/message.ts'
import { decide, type Layers, type Verdict } from '../policy/decide.ts'
import { audit } from '../store/audit.ts'
import type { ReadyPlan } from '../tool/catalog-tool.ts'
import { type PreparedCall, prepareCalls } from '../tool/prepare-calls.ts'
import type { ToolSnapshot } from '../tool/tool-catalog.ts'
import { parkTurn } from '../turn/turns.ts'
import { newId, sha256 } from '../util/ids.ts'
import { oneLine } from '../util/visible.ts'
import { executeCalls, recordResults, type SettledCall } from './execute-step.ts'
import { record, type TurnContext, turnRows } from './turn-context.ts'

/** Longest header on a card, characters: it holds a path of up to 500 whole. */
const MAX_HEADER_CHARS = 700

const HOLDS_SECRET =
  'It was not run: it would touch a text that looks like a secret, which cannot be shown to the person who would have to ' +
  'approve it. Leave that text out of the change, or ask a person to make it.'

interface JudgedCall {
  readonly call: ToolCall
  readonly plan: ReadyPlan
  readonly verdict: Verdict
}

/** `parked`: a card is open, the job ends here. */
export type StepOutcome = 'done' | 'parked'

/** What the calls of a step are run with. */
export interface Step {
  /** Calls that never started. */
  readonly open: readonly ToolCall[]
  /** False where the answer with the calls was cut off. */
  readonly whole: boolean
  /** Name of the user whose message is being answered. */
  readonly author: string
  /** The tools that the step's request offered; after a restart those of now. */
  readonly tools: ToolSnapshot
  /** Of the model's window. */
  readonly usedTokens: number
}

/**
 * One step's calls from plan to result. All that need approval are decided on one card before any call of the step
 * runs; after the decision they are planned again, and what differs from what was shown is asked again.
 */
export async function runToolCalls(context: TurnContext, step: Step): Promise<StepOutcome> {
  const { refused, judged } = await planStep(context, step)
  const approvals = await approvalsOfTurn(context.deps.store.db, context.turn)
  const ofCard = (j: JudgedCall): boolean => approvals.some((a) => a.calls.some((c) => c.callId === j.call.id))
  // Of a card's calls none runs without a look at what it showed, also where they are allowed by now.
  const asking = judged.filter((j) => j.verdict.effect === 'ask' || ofCard(j))
  const approval = asking.length > 0 ? decisionFor(asking, approvals) : undefined
  if (asking.length > 0 && (!approval || approval.state === 'superseded')) {
    await askForApproval(context, asking, approval)
    return 'parked'
  }
  if (approval?.state === 'open') return 'parked'
  const turnedDown = approval && !allowed(approval.state) ? asking : []
  await recordResults(context, [
    ...refused.map((r) => r.result),
    ...turnedDown.map(({ call, plan }) => notApproved(call, plan, approval)),
  ])
  await auditDenied(context, refused)
  const rest = judged.filter((j) => !turnedDown.includes(j))
  // Plans that counted on calls that do not run are made again.
  if (turnedDown.length > 0 && rest.length > 0) {
    return runToolCalls(context, { ...step, open: rest.map((j) => j.call) })
  }
  await recordNotes(context, rest, approvals)
  await executeCalls(context, rest, step.usedTokens)
  return 'done'
}

/** A call that does not run, whatever people say. */
interface RefusedCall {
  readonly result: SettledCall
  /** The policy's reason, where it was the policy. */
  readonly deniedBecause?: string
}

/** Plans and verdicts of a step. Calls that can never run are taken out, and the others planned without them. */
async function planStep(
  context: TurnContext,
  step: Step,
): Promise<{ refused: readonly RefusedCall[]; judged: readonly JudgedCall[] }> {
  const refused: RefusedCall[] = []
  for (let { open } = step; ; ) {
    const prepared = await prepareStep(context, { ...step, open })
    const judged = await judgeCalls(context, prepared)
    const out = judged.flatMap((j) => refusal(context, j) ?? [])
    refused.push(...out)
    if (out.length === 0) {
      const invalid = prepared.flatMap(({ call, plan }) =>
        plan.kind === 'invalid' ? [{ call, header: plan.header, state: 'failed' as const, text: plan.error }] : [],
      )
      return { refused: [...refused, ...invalid.map((result) => ({ result }))], judged }
    }
    const ids = new Set(out.map((r) => r.result.call.id))
    open = open.filter((call) => !ids.has(call.id))
  }
}

/** A person can only approve what can be shown to them as it is. */
function refusal(context: TurnContext, { call, plan, verdict }: JudgedCall): RefusedCall | undefined {
  if (verdict.effect === 'deny') {
    return { result: deniedByPolicy(call, plan, verdict), deniedBecause: verdict.because }
  }
  if (verdict.effect === 'allow') return undefined
  const { redactor } = context.deps
  const secret = [plan.payload.text, plan.header, plan.warning ?? ''].some((text) => redactor.containsSecret(text))
  return secret ? { result: { call, header: plan.header, state: 'failed', text: HOLDS_SECRET } } : undefined
}

function prepareStep(context: TurnContext, step: Step): Promise<readonly PreparedCall[]> {
  const { deps, workstream, root, files, provider } = context
  const mayRead = (path: string): boolean => {
    const act = { act: 'read', path, zone: 'workspace' } as const
    return decide({ acts: [act], needsApproval: false }, layersWithout(context)).effect === 'allow'
  }
  return prepareCalls(step.open, {
    tools: step.tools,
    redactor: deps.redactor,
    scope: {
      workstream: workstream.id,
      author: step.author,
      root,
      files,
      vision: provider.capabilities.vision,
      mayRead,
    },
    whole: step.whole,
  })
}

function layersWithout({ deps }: TurnContext): Layers {
  const { approvals, policy } = deps.config
  return {
    rules: policy,
    skipPermissions: approvals.skip_permissions,
    autoApprove: new Set(approvals.auto_approve),
    grants: new Set(),
  }
}

async function judgeCalls(context: TurnContext, prepared: readonly PreparedCall[]): Promise<readonly JudgedCall[]> {
  const layers = { ...layersWithout(context), grants: await grantsOf(context.deps.store.db, context.workstream.id) }
  return prepared.flatMap(({ call, plan }) =>
    plan.kind === 'ready' ? [{ call, plan, verdict: decide(plan, layers) }] : [],
  )
}

/** The step's approval; 'superseded' where what would run now is not what it showed. */
function decisionFor(asking: readonly JudgedCall[], approvals: readonly Approval[]): Approval | undefined {
  const ids = new Set(asking.map((j) => j.call.id))
  const latest = approvals.findLast((a) => a.calls.some((c) => ids.has(c.callId)))
  if (!latest || !allowed(latest.state)) return latest
  return differences(asking, latest).length > 0 ? { ...latest, state: 'superseded' } : latest
}

function differences(asking: readonly JudgedCall[], approval: Approval): readonly string[] {
  return asking.flatMap(({ call, plan }) => {
    const shown = approval.calls.find((c) => c.callId === call.id)
    if (!shown) return [`${call.name}: was not asked for before`]
    if (shown.fingerprint === fingerprintOf(plan)) return []
    const what = shown.payload.text === plan.payload.text ? 'what it would act on' : 'what it would do'
    return [`${call.name}: ${what} has changed since it was approved`]
  })
}

function fingerprintOf(plan: ReadyPlan): string {
  return sha256(JSON.stringify([plan.fingerprint, plan.header, plan.payload.text, plan.label, plan.acts]))
}

async function askForApproval(
  context: TurnContext,
  asking: readonly JudgedCall[],
  before: Approval | undefined,
): Promise<void> {
  const { clock, config, queue, count } = context.deps
  const now = clock.now()
  const { timeout } = config.approvals
  const expiresAt = timeout > 0 ? now + timeout : undefined
  const changed = before ? differences(asking, before).join('; ') : undefined
  const id = newId()
  await record(context, [{ kind: 'card', approval: id }], async (tx) => {
    const always = asking.every((j) => j.verdict.grantable)
    await requestApproval(
      tx,
      {
        id,
        workstream: context.workstream.id,
        turn: context.turn,
        calls: asking.map(cardCall),
        always,
        ...(changed ? { changed } : {}),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      },
      now,
    )
    await parkTurn(tx, context.turn)
    if (expiresAt !== undefined) await queue.send(tx, { kind: 'expire', approval: id }, { notBefore: expiresAt })
  })
  count('approvals_asked')
}

function cardCall({ call, plan, verdict }: JudgedCall): ApprovalCall {
  const { filename, text } = plan.payload
  return {
    callId: call.id,
    tool: call.name.trim(),
    header: oneLine(plan.header, MAX_HEADER_CHARS),
    payload: { filename, text, sha256: sha256(text), bytes: Buffer.byteLength(text) },
    fingerprint: fingerprintOf(plan),
    ...(verdict.grantable ? { label: plan.label } : verdict.effect === 'ask' ? { because: verdict.because } : {}),
    ...(plan.warning === undefined ? {} : { warning: plan.warning }),
  }
}

/**
 * What was written beside approvals of these calls, before they run: the model reads it after their results, and a crash
 * cannot lose it. After *Always allow* the calls ask no more, so it is not looked for among those that do.
 */
async function recordNotes(
  context: TurnContext,
  running: readonly JudgedCall[],
  approvals: readonly Approval[],
): Promise<void> {
  const ids = new Set(running.map((j) => j.call.id))
  for (const { id, note, state, calls } of approvals) {
    if (note === undefined || !allowed(state) || !calls.some((c) => ids.has(c.callId))) continue
    const known = (await turnRows(context)).some((r) => r.kind === 'note' && r.approval === id)
    if (!known) await record(context, [{ kind: 'note', approval: id, text: note }])
  }
}

function deniedByPolicy(call: ToolCall, plan: ReadyPlan, verdict: Verdict): SettledCall {
  const text = `Blocked by ${verdict.because}. It was not run and nobody was asked.`
  return { call, header: plan.header, state: 'denied', text }
}

async function auditDenied(context: TurnContext, refused: readonly RefusedCall[]): Promise<void> {
  const denied = refused.filter((r) => r.deniedBecause !== undefined)
  if (denied.length === 0) return
  const { store, clock } = context.deps
  const { id, owner } = context.workstream
  await store.transaction(async (tx) => {
    for (const { result, deniedBecause } of denied) {
      const detail = `${result.call.name} denied by ${deniedBecause}`
      await audit(tx, { at: clock.now(), actor: owner, action: 'policy', workstream: id, detail })
    }
  })
}

function notApproved(call: ToolCall, plan: ReadyPlan, approval: Approval | undefined): SettledCall {
  const note = approval?.note === undefined ? '' : `: ${approval.note}`
  const why: Record<string, string> = {
    rejected: `Rejected by ${approval?.decidedBy ?? 'a person'}${note}. It was not run.`,
    expired: 'Nobody decided in time, so it was not run.',
    unshowable:
      'It was not run: it is too long to show to the person who would have to approve it. Make it shorter, or write it to files in steps.',
    stopped: 'Stopped by the user. It was not run.',
  }
  const state = approval?.state === 'rejected' ? 'rejected' : 'denied'
  return { call, header: plan.header, state, text: why[approval?.state ?? ''] ?? 'It was not run.' }
}
