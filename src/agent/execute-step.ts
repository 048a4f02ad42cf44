import type { ContentPart, ToolCall } from '../model/message.ts'
import { cleanText } from '../store/text.ts'
import type { Progress, QuestionAnswer, ReadyPlan } from '../tool/catalog-tool.ts'
import { conflict } from '../tool/conflicts.ts'
import { limitedContent, resultLimit } from '../tool/limit-result.ts'
import { CALLS_AT_ONCE, forEachLimit, runPlan } from '../tool/run-plan.ts'
import type { JournalEntry } from '../turn/journal.ts'
import { oneLine, plainTerminal } from '../util/visible.ts'
import { estimateTokens } from './history.ts'
import { record, type TurnContext } from './turn-context.ts'

/** A call that ends without having run. */
export interface SettledCall {
  readonly call: ToolCall
  readonly header: string
  readonly state: 'failed' | 'denied' | 'rejected' | 'interrupted' | 'stopped'
  readonly text: string
}

/** Longest header on a tool's line, characters. */
const MAX_HEADER_CHARS = 200
/** Longest name on it. */
const MAX_NAME_CHARS = 64
/** What is shown of a running tool's output: its last lines. */
const TAIL_LINES = 3
const TAIL_CHARS = 300

export interface RunningCall {
  readonly call: ToolCall
  readonly plan: ReadyPlan
}

type ResultEntry = Extract<JournalEntry, { kind: 'result' }>

/** One result row for each, and a line that belongs to them; shown when stored. */
export async function recordResults(
  context: TurnContext,
  settled: readonly SettledCall[],
  line?: string,
): Promise<void> {
  if (settled.length === 0) return
  const entries = settled.map(
    ({ call, header, state, text }): ResultEntry => ({
      kind: 'result',
      callId: call.id,
      tool: shownName(context, call),
      header: shownHeader(context, header),
      state,
      content: [{ type: 'text', text: context.deps.redactor.redact(text) }],
      isError: true,
    }),
  )
  const notices = line === undefined ? [] : [{ kind: 'notice' as const, text: line, tone: 'info' as const }]
  await record(context, [...entries, ...notices], (tx) => context.files.flush(tx))
  for (const entry of entries) showResult(context, entry)
  for (const { text, tone } of notices) context.presenter.show({ type: 'notice', text, tone })
}

/**
 * Runs the plans, at most four at once; those that touch the same files in the model's order. Each is marked started before it runs and its result is stored before it is
 * shown, so that a crash tells "not started", "unknown" and "done" apart.
 */
export async function executeCalls(
  context: TurnContext,
  running: readonly RunningCall[],
  usedTokens: number,
): Promise<void> {
  let used = usedTokens
  const limitNow = (): number => resultLimit(context.provider.contextWindow, used)
  const ends: Promise<void>[] = []
  const runOne = async ({ call, plan }: RunningCall): Promise<void> => {
    // What is stopped starts nothing more.
    context.signal.throwIfAborted()
    const header = shownHeader(context, plan.header)
    const tool = shownName(context, call)
    await record(context, [{ kind: 'started', callId: call.id, tool, header }], (tx) => context.files.flush(tx))
    context.presenter.show({ type: 'tool', callId: call.id, tool, header, state: 'running' })
    context.deps.count('tool_calls')
    const run = { signal: context.signal, progress: showTail(context, call.id), ask, resultLimit: limitNow() }
    const { clock, config } = context.deps
    const result = await runPlan(plan, run, { clock, timeLimitMs: config.tools.timeout * 1000 })
    // A cut through a secret would leave parts that nobody can tell.
    const content = limitedContent({ ...result, content: fitForModel(context, result.content) }, limitNow())
    // The results of a step share what is left of the window.
    used += estimateTokens([{ role: 'tool', callId: call.id, name: tool, content }])
    const entry: ResultEntry = {
      kind: 'result',
      callId: call.id,
      tool,
      header,
      state: result.isError ? 'failed' : 'done',
      content,
      isError: result.isError,
    }
    await record(context, [entry], (tx) => context.files.flush(tx))
    showResult(context, entry)
  }
  await forEachLimit(running, CALLS_AT_ONCE, (item, index) => {
    const before = ends.slice(0, index).filter((_, i) => conflict(item.plan, running[i]?.plan ?? item.plan))
    const end = Promise.all(before).then(() => runOne(item))
    ends.push(end)
    return end
  })
}

/** A model may write anything as a name. */
function shownName({ deps }: TurnContext, call: ToolCall): string {
  return oneLine(deps.redactor.redact(call.name), MAX_NAME_CHARS) || 'unnamed'
}

function shownHeader({ deps }: TurnContext, header: string): string {
  return oneLine(deps.redactor.redact(header), MAX_HEADER_CHARS)
}

function showResult({ presenter }: TurnContext, { callId, tool, header, state }: ResultEntry): void {
  presenter.show({ type: 'tool', callId, tool, header, state })
}

function fitForModel({ deps }: TurnContext, content: readonly ContentPart[]): readonly ContentPart[] {
  return content.map((p) => (p.type === 'text' ? { ...p, text: cleanText(deps.redactor.redact(p.text)) } : p))
}

/** The chat has no card for a tool's question yet. */
async function ask(): Promise<QuestionAnswer> {
  return { declined: 'Tools cannot ask questions in this version. Ask in your answer instead.' }
}

function showTail({ presenter, deps }: TurnContext, callId: string): (update: Progress) => void {
  // A secret may come in pieces: what could still become one is not shown yet.
  const stream = deps.redactor.stream()
  let seen = ''
  return ({ text }) => {
    seen = (seen + stream.push(text)).slice(-8 * TAIL_CHARS)
    const lines = plainTerminal(seen).trimEnd().split('\n').slice(-TAIL_LINES)
    presenter.show({ type: 'tool-tail', callId, tail: lines.join('\n').slice(-TAIL_CHARS).toWellFormed() })
  }
}
