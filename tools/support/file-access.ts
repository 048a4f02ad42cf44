import { constants } from 'node:fs'
import { chown, type FileHandle, mkdir, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Act, PlanScope } from '../../src/tool/catalog-tool.ts'
import { newId, sha256 } from '../../src/util/ids.ts'
import type { ToolSettings } from './settings.ts'

/** Longest path a card still shows whole, characters. */
const PATH_MAX = 500
/** Largest file that is read, bytes: it is held in memory more than once. */
const SIZE_MAX = 20 * 1024 * 1024

type Zone = Extract<Act, { path: string }>['zone']

export interface Place {
  /** Absolute, after symlinks; the last parts may not exist yet. */
  readonly path: string
  readonly zone: Zone
  readonly exists: boolean
  /** As people read it: relative inside the workspace. */
  readonly shown: string
  /** The path was given through a symlink. */
  readonly linked: boolean
}

/** A fault of a path, in words for the model. */
export class PathFault extends Error {}

/** Where a path of a call really leads, and to what kind of place. Throws PathFault. */
export async function locate(raw: string, scope: PlanScope, settings: ToolSettings): Promise<Place> {
  if (!raw.trim()) throw new PathFault('path is missing')
  if (raw.includes('\0')) throw new PathFault('path holds a NUL character')
  const given = resolve(scope.root, raw.replace(/^~(?=$|\/)/, homedir()))
  const { path, exists } = await real(given)
  if (path.length > PATH_MAX) throw new PathFault(`path is longer than ${PATH_MAX} characters`)
  if (/^\/(proc|sys|dev)(\/|$)/.test(path)) throw new PathFault(`${path} is a system path that tools never touch`)
  const inside = isWithin(path, scope.root)
  const shown = inside ? path.slice(scope.root.length + 1) || '.' : path
  return { path, exists, zone: zoneOf(path, inside, settings), shown, linked: path !== given }
}

async function real(given: string): Promise<{ path: string; exists: boolean }> {
  try {
    return { path: await realpath(given), exists: true }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ELOOP') throw new PathFault(`${given} is a loop of symlinks`)
    if (code === 'EACCES') throw new PathFault(`${given}: permission denied`)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    if (dirname(given) === given) throw error
    // A dangling link would be written through: its name must not exist in any form.
    const parent = await real(dirname(given))
    return { path: join(parent.path, basename(given)), exists: false }
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function zoneOf(path: string, inside: boolean, settings: ToolSettings): Zone {
  if (settings.ownPaths.some((own) => isWithin(path, own))) return 'own'
  if (holdsSecrets(path)) return 'secret'
  return inside ? 'workspace' : 'outside'
}

const SECRET_NAMES =
  /^(?:\.env(?:\..+)?|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ovpn)|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.pgpass|\.htpasswd|\.my\.cnf|credentials(?:\.json)?|secrets?\.(?:ya?ml|json|toml|env)|service-account.*\.json|shadow-?|gshadow-?|sudoers|master\.key)$/i
const SECRET_FOLDERS =
  /\/(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.password-store|\.config\/(?:gcloud|gh|op)|\.terraform\.d)(?:\/|$)/
const HARMLESS = /(?:\.(?:pub|example|sample|template|dist))$/i

/** Files that by name hold keys, passwords or cloud credentials. */
export function holdsSecrets(path: string): boolean {
  const name = basename(path)
  if (SECRET_FOLDERS.test(path)) return true
  return SECRET_NAMES.test(name) && !HARMLESS.test(name)
}

/** Reads a regular file that still is where it was planned. Throws PathFault. */
export async function readWhole(place: Place): Promise<Buffer> {
  const handle = await openChecked(place.path, constants.O_RDONLY)
  try {
    const { size } = await handle.stat()
    if (size > SIZE_MAX) throw new PathFault(`${place.shown} is larger than 20 MB; use bash to look at a part of it`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

async function openChecked(path: string, flags: number): Promise<FileHandle> {
  let handle: FileHandle
  try {
    // Non-blocking: a FIFO would otherwise wait for its writer.
    handle = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw faultOf(path, error)
  }
  try {
    if (!(await handle.stat()).isFile()) throw new PathFault(`${path} is no regular file`)
    if ((await realpath(path)) !== path) throw new PathFault(`${path} was replaced by a symlink meanwhile`)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** A file system error in words for the model. */
export function faultOf(path: string, error: unknown): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new PathFault(`${path}: no such file`)
    case 'EISDIR':
      return new PathFault(`${path} is a folder`)
    case 'ENOTDIR':
      return new PathFault(`${path}: a part of the path is no folder`)
    case 'EACCES':
    case 'EPERM':
      return new PathFault(`${path}: permission denied`)
    case 'ELOOP':
      return new PathFault(`${path} was replaced by a symlink meanwhile`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new PathFault(`${path}: the disk is full; nothing was changed`)
    case 'ENXIO':
      return new PathFault(`${path} is no regular file`)
    default:
      return error instanceof Error ? error : new Error(String(error))
  }
}

/** Replaces a file in one step, keeping its mode; a reader sees the old content or the new, never a part. Throws PathFault. */
export async function writeWhole(place: Place, content: string | Uint8Array, settings: ToolSettings): Promise<void> {
  const { path } = place
  const folder = dirname(path)
  const temporary = join(folder, `.${newId()}.tmp`)
  try {
    await makeFolders(folder, settings)
    if ((await realpath(folder)) !== folder) throw new PathFault(`${folder} was replaced by a symlink meanwhile`)
    const before = await stat(path).catch(() => undefined)
    if (before && !before.isFile()) throw new PathFault(`${path} is no regular file`)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const handle = await open(temporary, flags, before ? before.mode & 0o7777 : 0o644)
    try {
      await handle.writeFile(content)
      await handle.sync()
      if (before) await handle.chmod(before.mode & 0o7777)
      if (settings.runAs) await handle.chown(settings.runAs.uid, settings.runAs.gid)
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw faultOf(path, error)
  }
}

async function makeFolders(folder: string, { runAs }: ToolSettings): Promise<void> {
  const first = await mkdir(folder, { recursive: true })
  if (first === undefined || !runAs) return
  for (let made = folder; isWithin(made, first); made = dirname(made)) await chown(made, runAs.uid, runAs.gid)
}

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0)
}

export const hashOf = (bytes: Uint8Array): string => sha256(bytes)
