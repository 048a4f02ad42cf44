import { spawnSync } from 'node:child_process'
import { accessSync, constants, lchownSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { WORKSPACE } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'

/** Who tools act as; undefined: as the gateway itself, which is then not root. */
export interface RunAs {
  readonly uid: number
  readonly gid: number
}

/** Debian's and most systems' nobody. */
const NOBODY: RunAs = { uid: 65534, gid: 65534 }

/** Folders that are never handed over to an unprivileged user. */
const SYSTEM = new Set([
  '/',
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/home',
  '/lib',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/srv',
  '/sys',
  '/tmp',
  '/usr',
  '/var',
])

export interface Workspace {
  /** Absolute, after symlinks. */
  readonly root: string
  /** Who tools act as; undefined: the gateway's own user, which is not root. */
  readonly runAs: RunAs | undefined
  /** The folder of one workstream, made where it is missing. */
  of(workstream: string): Promise<string>
}

/**
 * Creates the directory that tools work in. Tools never run as root: they run as the folder's owner, and a directory that belongs to
 * root is handed to an unprivileged user. Throws TurnstoneError 'config' where that cannot be.
 */
export function prepareWorkspace({ root, per_workstream }: { root: string; per_workstream: boolean }): Workspace {
  const made = makeFolder(root)
  const path = realpathSync(root)
  if (SYSTEM.has(path)) throw new TurnstoneError('config', WORKSPACE.system(path))
  const runAs = userOf(path, made)
  if (runAs) checkReachable(path, runAs)
  else checkWritable(path)
  return {
    root: path,
    runAs,
    async of(workstream) {
      if (!per_workstream) return path
      const folder = join(path, workstream)
      mkdirSync(folder, { recursive: true })
      if (runAs) lchownSync(folder, runAs.uid, runAs.gid)
      return folder
    },
  }
}

function makeFolder(root: string): boolean {
  try {
    return mkdirSync(root, { recursive: true, mode: 0o755 }) !== undefined
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new TurnstoneError('config', WORKSPACE.notMade(root, code), { cause: error })
  }
}

function userOf(path: string, made: boolean): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(path)
  if (uid !== 0) return { uid, gid: gid === 0 ? uid : gid }
  handOver(path, made)
  return NOBODY
}

function handOver(path: string, made: boolean): void {
  lchownSync(path, NOBODY.uid, NOBODY.gid)
  if (made) return
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) handOver(child, false)
    else lchownSync(child, NOBODY.uid, NOBODY.gid)
  }
}

function checkWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new TurnstoneError('config', WORKSPACE.notWritable(path), { cause: error })
  }
}

function checkReachable(path: string, { uid, gid }: RunAs): void {
  const tried = spawnSync('/bin/sh', ['-c', 'test -w "$0"', path], { cwd: '/', uid, gid, env: {}, stdio: 'ignore' })
  if (tried.status === 0) return
  throw new TurnstoneError('config', WORKSPACE.notReachable(path, uid))
}
