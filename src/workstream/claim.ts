import type { Tx } from '../store/store.ts'

/** The right to write for a workstream's turn; the job that took it last holds it. */
export interface Claim {
  readonly workstream: string
  readonly epoch: number
}

/** Somebody else has taken the workstream: whoever gets this ends silently, without writing or posting. */
export class ClaimLostError extends Error {
  constructor() {
    super('the workstream was taken over')
    this.name = 'ClaimLost'
  }
}

/** Takes the workstream; every older claim is lost from here on. Undefined where there is no such workstream. */
export async function acquireClaim(tx: Tx, workstream: string): Promise<Claim | undefined> {
  const row = await tx.db
    .updateTable('workstreams')
    .set((e) => ({ epoch: e('epoch', '+', 1) }))
    .where('id', '=', workstream)
    .returning('epoch')
    .executeTakeFirst()
  return row && { workstream, epoch: row.epoch }
}

/** To be called first in each transaction that writes for a turn. Throws ClaimLost. */
export async function assertClaim(tx: Tx, claim: Claim): Promise<void> {
  const row = await tx.db
    .updateTable('workstreams')
    .set((e) => ({ epoch: e.ref('epoch') }))
    .where('id', '=', claim.workstream)
    .where('epoch', '=', claim.epoch)
    .returning('id')
    .executeTakeFirst()
  if (!row) throw new ClaimLostError()
}
