import type { ToolState } from '../channel/turn-view.ts'
import type { ContentPart, Opaque, ToolCall } from '../model/message.ts'
import type { Db, Tx } from '../store/store.ts'
import { cleanText } from '../store/text.ts'
import { assertClaim, type Claim } from '../workstream/claim.ts'
import { resetStarts } from './turns.ts'

/** What happened in a workstream, in order. Append-only: history, view and resume are all derived from it. */
export type JournalEntry =
  /** Messages the model gets now. */
  | { readonly kind: 'user'; readonly items: readonly UserItem[] }
  /** What people had said in the thread before; untrusted. */
  | { readonly kind: 'context'; readonly text: string }
  /** One model call's whole answer; `cut`: the stream broke off for good and this is what was shown. */
  | {
      readonly kind: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      readonly cut?: boolean
      readonly opaque?: Opaque
    }
  /** Written before a call runs: found without a result, its outcome is unknown. */
  | { readonly kind: 'started'; readonly callId: string; readonly tool: string; readonly header: string }
  | {
      readonly kind: 'result'
      readonly callId: string
      readonly tool: string
      readonly header: string
      readonly state: Exclude<ToolState, 'running'>
      readonly content: readonly ContentPart[]
      readonly isError: boolean
    }
  /** What a person wrote beside an approval; follows the results as a user message. */
  | { readonly kind: 'note'; readonly approval: string; readonly text: string }
  | { readonly kind: 'card'; readonly approval: string }
  | { readonly kind: 'notice'; readonly text: string; readonly tone: 'info' | 'error' }
  /** The provider refused an image: those before this row are sent as notes from now on. */
  | { readonly kind: 'images-refused' }
  /** `why`: of a failed turn, for people. `by`: who stopped it. */
  | {
      readonly kind: 'end'
      readonly state: 'done' | 'failed' | 'stopped'
      readonly why?: string
      readonly by?: string
    }

export interface UserItem {
  /** Inbox row. */
  readonly inbox: number
  /** Shown to the model where several people may speak. */
  readonly author: string
  readonly content: readonly ContentPart[]
}

export type JournalRow = JournalEntry & { readonly id: number; readonly turn: string; readonly at: number }

/** What came in is no progress: a turn that never gets further than to take it in has a failed start. */
const INPUTS: ReadonlySet<JournalEntry['kind']> = new Set(['user', 'context', 'notice'])

/** Appends under the claim; progress also resets the turn's count of starts without any. Throws ClaimLost. */
export async function append(
  tx: Tx,
  claim: Claim,
  turn: string,
  entries: readonly JournalEntry[],
  now: number,
): Promise<void> {
  await assertClaim(tx, claim)
  for (const entry of entries) {
    const { kind, ...data } = entry
    await tx.db
      .insertInto('journal')
      .values({ ws_id: claim.workstream, turn_id: turn, kind, data: cleanJson(data), created_at: now })
      .execute()
  }
  if (entries.every((e) => INPUTS.has(e.kind))) return
  await resetStarts(tx, turn)
}

/** Every string inside is made fit for the database and for providers. */
function cleanJson(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? cleanText(value) : value))
}

/** The whole of a workstream, or of one turn, oldest first. */
export async function readJournal(
  db: Db | Tx['db'],
  workstream: string,
  turn?: string,
): Promise<readonly JournalRow[]> {
  let query = db.selectFrom('journal').selectAll().where('ws_id', '=', workstream)
  if (turn !== undefined) query = query.where('turn_id', '=', turn)
  const rows = await query.orderBy('id').execute()
  return rows.map((row) => ({
    ...(JSON.parse(row.data) as JournalEntry),
    kind: row.kind as JournalEntry['kind'],
    id: row.id,
    turn: row.turn_id,
    at: row.created_at,
  })) as JournalRow[]
}

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
