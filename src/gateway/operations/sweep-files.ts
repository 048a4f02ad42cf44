import type { Dirent } from 'node:fs'
import { lstat, opendir, realpath, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../util/time.ts'

/** The folder of a bash script: `mkdtemp` puts six characters behind the name. */
const SCRIPT_FOLDER = /^turnstone-[A-Za-z0-9]{6}$/
/** What a write of a file leaves beside it when it is cut short. */
const HALF_WRITTEN = /^\.[0-9a-f]{16}\.tmp$/
/** Younger ones may be in use, by another gateway too, ms. */
const SURELY_LEFT_MS = 3_600_000
/** A workspace may hold anything: the search ends after this many entries. */
const MAX_ENTRIES = 200_000

/** Removes what a crash left: folders of scripts, and files of the workspace that were half written. How many. Never rejects. */
export async function sweepFiles(root: string, clock: Clock, signal: AbortSignal): Promise<number> {
  const before = clock.now() - SURELY_LEFT_MS
  const walk = { left: MAX_ENTRIES, signal }
  let gone = 0
  for await (const entry of entriesOf(tmpdir(), walk)) {
    if (entry.isDirectory() && SCRIPT_FOLDER.test(entry.name)) gone += await removeOld(entry, before, true)
  }
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    // A link may have taken its place.
    if ((await realpath(folder).catch(() => '')) !== folder && folder !== root) continue
    for await (const entry of entriesOf(folder, walk)) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name))
      else if (entry.isFile() && HALF_WRITTEN.test(entry.name)) gone += await removeOld(entry, before, false)
    }
  }
  return gone
}

/** The entries of a folder, none where it cannot be read. */
async function* entriesOf(folder: string, walk: { left: number; signal: AbortSignal }): AsyncIterable<Dirent> {
  try {
    for await (const entry of await opendir(folder)) {
      if (walk.signal.aborted || walk.left-- <= 0) return
      yield entry
    }
  } catch {
    // It is gone, or not ours to read.
  }
}

async function removeOld({ parentPath, name }: Dirent, before: number, folder: boolean): Promise<number> {
  const path = join(parentPath, name)
  try {
    const { mtimeMs, uid } = await lstat(path)
    if (mtimeMs >= before) return 0
    if (folder && !isOurs(uid)) return 0
    await (folder ? rm(path, { recursive: true, force: true }) : unlink(path))
    return 1
  } catch {
    return 0
  }
}

/** As root a script's folder belongs to the workspace's user, whoever that is. */
function isOurs(uid: number): boolean {
  const own = process.getuid?.()
  return own === 0 || own === uid
}
