import type { ToolCall } from '../model/message.ts'
import type { JournalRow } from './journal.ts'

export type StepState =
  | { readonly kind: 'model' }
  | {
      readonly kind: 'calls'
      readonly calls: readonly ToolCall[]
      readonly open: readonly ToolCall[]
      readonly interrupted: readonly ToolCall[]
    }
  | { readonly kind: 'ended' }

/**
 * Where a turn goes on: at the model; in the calls of its last answer, some of which may be `open` (never started) or
 * `interrupted` (started, no result); or nowhere.
 */
export function resumePoint(rows: readonly JournalRow[]): StepState {
  const last = rows.findLast((r) => r.kind === 'assistant' || r.kind === 'end')
  if (last?.kind === 'end') return { kind: 'ended' }
  if (last?.kind !== 'assistant' || last.calls.length === 0) {
    const answered = last?.kind === 'assistant' && !rows.some((r) => r.id > last.id && isInput(r))
    return answered ? { kind: 'ended' } : { kind: 'model' }
  }
  const after = rows.filter((r) => r.id > last.id)
  const done = new Set(after.flatMap((r) => (r.kind === 'result' ? [r.callId] : [])))
  const started = new Set(after.flatMap((r) => (r.kind === 'started' ? [r.callId] : [])))
  const missing = last.calls.filter((c) => !done.has(c.id))
  if (missing.length === 0) return { kind: 'model' }
  return {
    kind: 'calls',
    calls: last.calls,
    open: missing.filter((c) => !started.has(c.id)),
    interrupted: missing.filter((c) => started.has(c.id)),
  }
}

function isInput(row: JournalRow): boolean {
  return row.kind === 'user' || row.kind === 'note'
}

/** What the call's line said when it was started; '' where it never was. */
export function startedHeader(rows: readonly JournalRow[], callId: string): string {
  const row = rows.findLast((r) => r.kind === 'started' && r.callId === callId)
  return row?.kind === 'started' ? row.header : ''
}
