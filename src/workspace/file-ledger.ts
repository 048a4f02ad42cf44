import type { Db, Tx } from '../store/store.ts'

/** Which files this workstream has read, with the content's hash: changed since means read again. */
export interface FileLedger {
  hashOf(path: string): string | undefined
  markRead(path: string, sha256: string): void
  unmark(path: string): void
}

export interface StoredFileLedger extends FileLedger {
  /** Writes what has changed since the last call. */
  flush(tx: Tx): Promise<void>
}

export async function loadFileLedger(db: Db, workstream: string): Promise<StoredFileLedger> {
  const rows = await db.selectFrom('files_read').select(['path', 'sha256']).where('ws_id', '=', workstream).execute()
  const known = new Map(rows.map((r) => [r.path, r.sha256]))
  const changed = new Set<string>()
  return {
    hashOf: (path) => known.get(path),
    markRead(path, sha256) {
      known.set(path, sha256)
      changed.add(path)
    },
    unmark(path) {
      known.delete(path)
      changed.add(path)
    },
    async flush(tx) {
      const paths = [...changed]
      changed.clear()
      for (const path of paths) {
        await tx.db.deleteFrom('files_read').where('ws_id', '=', workstream).where('path', '=', path).execute()
        const sha256 = known.get(path)
        if (sha256 !== undefined)
          await tx.db.insertInto('files_read').values({ ws_id: workstream, path, sha256 }).execute()
      }
    },
  }
}
