import type { Approval } from '../approval/approval.ts'
import type { Config } from '../config/config.ts'
import type { JobQueue } from '../jobs/job-queue.ts'
import type { Signals } from '../jobs/signals.ts'
import type { ModelProvider } from '../model/model-provider.ts'
import type { ModelRegistry } from '../model/model-registry.ts'
import type { Store, Tx } from '../store/store.ts'
import type { ToolCatalog } from '../tool/tool-catalog.ts'
import type { JournalEntry, JournalRow } from '../turn/journal.ts'
import type { TurnOutlet, TurnPresenter } from '../turn/outlet.ts'
import { redactEntry } from '../turn/redact-entry.ts'
import type { TurnJournal } from '../turn/turn-journal.ts'
import type { Log } from '../util/log.ts'
import type { Redactor } from '../util/redact.ts'
import type { Clock } from '../util/time.ts'
import type { StoredFileLedger } from '../workspace/file-ledger.ts'
import type { Claim } from '../workstream/claim.ts'
import type { Workstream } from '../workstream/workstreams.ts'
import type { TurnFailures } from './turn-failures.ts'

/** What every turn is run with. */
export interface AgentDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly config: Config
  readonly queue: JobQueue
  readonly signals: Signals
  readonly models: ModelRegistry
  readonly catalog: ToolCatalog
  readonly redactor: Redactor
  readonly outlet: TurnOutlet
  /** The folder in which this workstream's tools work, made and handed over; absolute, after symlinks. */
  readonly workspaceOf: (workstream: string) => Promise<string>
  /** Ends an approval whose card cannot show all that would run, and wakes its workstream. */
  readonly refuseUnshowable: (approval: Approval) => Promise<void>
  readonly count: (what: TurnCount) => void
  readonly failures: TurnFailures
}

export type TurnCount =
  | 'turns_done'
  | 'turns_failed'
  | 'turns_stopped'
  | 'tool_calls'
  | 'model_calls'
  | 'approvals_asked'

/** One turn while it is run by this job. */
export interface TurnContext {
  readonly deps: AgentDeps
  readonly workstream: Workstream
  readonly turn: string
  readonly claim: Claim
  readonly journal: TurnJournal
  readonly provider: ModelProvider
  readonly alias: string
  readonly root: string
  readonly files: StoredFileLedger
  readonly presenter: TurnPresenter
  /** Slack DMs: the thread this turn answers in; only its messages join while it is busy. */
  readonly thread: string | undefined
  /** Aborts with TurnStopped at /stop, with ClaimLost when another job took over, with another reason when the gateway stops. */
  readonly signal: AbortSignal
}

/** Why a turn's signal aborted: a person stopped it. */
export class TurnStoppedError extends Error {
  constructor() {
    super('stopped')
    this.name = 'TurnStopped'
  }
}

/** Appends under the turn's claim, redacted once more, with what else belongs to the same moment. */
export async function record(
  context: TurnContext,
  entries: readonly JournalEntry[],
  also: (tx: Tx) => Promise<void> = async () => {},
): Promise<void> {
  const { store, clock, redactor } = context.deps
  const stored = entries.map((entry) => redactEntry(entry, redactor))
  await store.transaction(async (tx) => {
    await context.journal.append(tx, stored, clock.now())
    await also(tx)
  })
}

/** This turn's rows, oldest first. */
export function turnRows(context: TurnContext): Promise<readonly JournalRow[]> {
  return context.journal.rows()
}
