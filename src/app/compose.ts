import { runTurn } from '../agent/run-turn.ts'
import type { AgentDeps } from '../agent/turn-context.ts'
import { TurnFailures } from '../agent/turn-failures.ts'
import { Decisions } from '../gateway/cards/decisions.ts'
import type { GatewayDeps } from '../gateway/gateway-deps.ts'
import { Inbox } from '../gateway/incoming/inbox.ts'
import { archive } from '../gateway/operations/archive.ts'
import { createTurnOutlet } from '../gateway/turn-outlet.ts'
import type { JobRun } from '../jobs/job-queue.ts'

export interface Engine {
  /** What the platforms hand their messages, presses and commands to. */
  readonly inbox: Inbox
  /** To be given to the queue. */
  readonly handleJob: (run: JobRun) => Promise<void>
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
