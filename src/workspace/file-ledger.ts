import type { Db, Tx } from '../store/store.ts'

/** Which files this workstream has read, with the content's hash: changed since means read again. */
export interface FileLedger {
  hashOf(path: string): Promise<string | undefined>
  markRead(path: string, sha256: string): void
  unmark(path: string): void
}

export interface StoredFileLedger extends FileLedger {
  /** Writes what has changed since the last call. */
  flush(tx: Tx): Promise<void>
}

/** Rows are read when they are asked for: a workstream may have read any number of files. */
export function openFileLedger(db: Db, workstream: string): StoredFileLedger {
  const known = new Map<string, string | undefined>()
  const changed = new Set<string>()
  return {
    async hashOf(path) {
      if (known.has(path)) return known.get(path)
      const row = await db
        .selectFrom('files_read')
        .select('sha256')
        .where('ws_id', '=', workstream)
        .where('path', '=', path)
        .executeTakeFirst()
      if (!known.has(path)) known.set(path, row?.sha256)
      return known.get(path)
    },
    markRead(path, sha256) {
      known.set(path, sha256)
      changed.add(path)
    },
    unmark(path) {
      known.set(path, undefined)
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

/** A closed workstream reads no more: what it had read is forgotten. */
export async function forgetFiles(tx: Tx, workstream: string): Promise<void> {
  await tx.db.deleteFrom('files_read').where('ws_id', '=', workstream).execute()
}
