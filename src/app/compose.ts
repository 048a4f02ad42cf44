import { runTurn } from '../agent/run-turn.ts'
import type { AgentDeps } from '../agent/turn-context.ts'
import { TurnFailures } from '../agent/turn-failures.ts'
import { Decisions } from '../gateway/cards/decisions.ts'
import type { GatewayDeps } from '../gateway/gateway-deps.ts'
import { Inbox } from '../gateway/incoming/inbox.ts'
import { archive } from '../gateway/operations/archive.ts'
import { createTurnOutlet } from '../gateway/turn-outlet.ts'
import { Identities } from '../identity/identities.ts'
import type { JobRun } from '../jobs/job-queue.ts'
import { createLocalJobs, type LocalJobQueue } from '../jobs/local-jobs.ts'
import { createLocalLocks } from '../jobs/local-locks.ts'
import { createLocalSignals, type LocalSignals } from '../jobs/local-signals.ts'
import type { SqliteStore } from '../store/store.ts'

export interface Engine {
  /** What the platforms hand their messages, presses and commands to. */
  readonly inbox: Inbox
  /** To be given to the queue. */
  readonly handleJob: (run: JobRun) => Promise<void>
}

type Given = Pick<GatewayDeps, 'config' | 'clock' | 'log' | 'redactor' | 'models'> & { readonly store: SqliteStore }

type LocalDeps = Omit<GatewayDeps, 'adapters' | 'redraws' | 'queue' | 'signals'> & {
  queue: LocalJobQueue
  signals: LocalSignals
}

/** What one process that has the store to itself works with; the adapters are made with its locks. */
export function composeLocal(given: Given): LocalDeps {
  const { config, store, clock, log } = given
  return {
    ...given,
    queue: createLocalJobs(store, clock, log),
    signals: createLocalSignals(store, clock),
    locks: createLocalLocks(),
    identities: new Identities(store, clock, config.users),
  }
}

/** Puts the gateway and the agent together, over whatever store, platforms, models and tools they are given. */
export function composeEngine(
  deps: GatewayDeps,
  agent: Pick<AgentDeps, 'models' | 'catalog' | 'workspaceOf' | 'count'>,
): Engine {
  const decisions = new Decisions(deps)
  const agentDeps: AgentDeps = {
    ...deps,
    ...agent,
    outlet: createTurnOutlet(deps),
    failures: new TurnFailures(deps.clock),
    refuseUnshowable: (approval) => decisions.refuseUnshowable(approval),
  }
  return {
    inbox: new Inbox(deps, decisions),
    async handleJob(run) {
      const { job } = run
      switch (job.kind) {
        case 'expire':
          return decisions.expire(job.approval)
        case 'archive':
          return archive(deps, job.workstream)
        case 'turn':
          await runTurn(agentDeps, job.workstream, run)
          // A turn that was ended may have left a card.
          deps.redraws.soon()
      }
    },
  }
}
