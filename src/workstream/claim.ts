import type { Db, Tx } from '../store/store.ts'
import { epochOf, lockEpoch, raiseEpoch } from './workstreams.ts'

/** The right to write for a workstream's turn; the job that took it last holds it. */
export interface Claim {
  readonly workstream: string
  readonly epoch: number
}

/** Somebody else has taken the workstream: whoever gets this ends silently, without writing or posting. */
export class ClaimLostError extends Error {
  constructor() {
    super('another job took over the workstream')
    this.name = 'ClaimLostError'
  }
}

/** Takes the workstream; every older claim is lost from here on. Undefined where there is no such workstream. */
export async function acquireClaim(tx: Tx, workstream: string): Promise<Claim | undefined> {
  const epoch = await raiseEpoch(tx, workstream)
  return epoch === undefined ? undefined : { workstream, epoch }
}

/** Whether nobody else has taken the workstream, as far as the database knows now. */
export async function isClaimHeld(db: Db, { workstream, epoch }: Claim): Promise<boolean> {
  return (await epochOf(db, workstream)) === epoch
}

/** To be called first in each transaction that writes for a turn. Throws ClaimLostError. */
export async function assertClaim(tx: Tx, { workstream, epoch }: Claim): Promise<void> {
  if (!(await lockEpoch(tx, workstream, epoch))) throw new ClaimLostError()
}
