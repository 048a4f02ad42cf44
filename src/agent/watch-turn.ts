import { LOG } from '../copy/log.ts'
import { stopSignal } from '../turn/turn.ts'
import { isStopRequested } from '../turn/turns.ts'
import { shortId } from '../util/ids.ts'
import { sleep } from '../util/time.ts'
import { type Claim, ClaimLostError, isClaimHeld } from '../workstream/claim.ts'
import type { AgentDeps } from './turn-context.ts'
import { TurnStoppedError } from './turn-context.ts'

/** How long after a look that failed the next one comes, ms. */
const LOOK_AGAIN_MS = 1000

/** What the watch aborts. */
export interface Watched {
  readonly turn: string
  readonly claim: Claim
  /** With TurnStopped, when somebody asks the turn to stop. */
  readonly stopping: AbortController
  /** With ClaimLost, when another job has the workstream. */
  readonly lost: AbortController
}

/** Looks for /stop and for the loss of the claim until `over`; a look that fails does not end it. Never rejects. */
export async function watchTurn(deps: AgentDeps, watched: Watched, over: AbortSignal): Promise<void> {
  const { turn, claim, stopping, lost } = watched
  const news = async (): Promise<boolean> => {
    if (!(await isClaimHeld(deps.store.db, claim))) lost.abort(new ClaimLostError())
    else if (!stopping.signal.aborted && (await isStopRequested(deps.store.db, turn)))
      stopping.abort(new TurnStoppedError())
    return lost.signal.aborted
  }
  for (let told = false; !over.aborted; ) {
    try {
      await deps.signals.until(stopSignal(turn), news, over)
      return
    } catch (error) {
      if (over.aborted) return
      if (!told) deps.log.error({ err: error, turn: shortId(turn) }, LOG.stopNotWatched)
      told = true
      await sleep(deps.clock, LOOK_AGAIN_MS, over).catch(() => undefined)
    }
  }
}
