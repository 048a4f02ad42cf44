import { createHash } from 'node:crypto'
import type { Db, Tx } from './store.ts'

/** Keeps bytes once, however often they come. Their SHA-256, hex, by which they are found. */
export async function putBlob(tx: Tx, bytes: Uint8Array, now: number): Promise<string> {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await tx.db
    .insertInto('blobs')
    .values({ sha256, bytes: Buffer.from(bytes), created_at: now })
    .onConflict((c) => c.column('sha256').doNothing())
    .execute()
  return sha256
}

/** Undefined where there are none with this hash. */
export async function readBlob(db: Db, sha256: string): Promise<Uint8Array | undefined> {
  const row = await db.selectFrom('blobs').select('bytes').where('sha256', '=', sha256).executeTakeFirst()
  return row?.bytes
}
