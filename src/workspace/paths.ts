import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { holdsSecrets, linkedSecrets, looksLikeKeyFile } from './secret-files.ts'

/** Longest path a card still shows whole, characters. */
const MAX_PATH_CHARS = 500

/** Where a path lies: anything but 'workspace' asks each time, whatever is always allowed. */
export type Zone = 'workspace' | 'outside' | 'secret' | 'own'

export interface ResolvedPath {
  /** Absolute, after symlinks; the last parts may not exist yet. */
  readonly path: string
  readonly zone: Zone
  readonly exists: boolean
  /** As people read it: relative inside the workspace. */
  readonly shown: string
  /** The path was given through a symlink. */
  readonly linked: boolean
}

export type PathErrorCode =
  | 'invalid'
  | 'not-found'
  | 'not-a-file'
  | 'not-a-directory'
  | 'is-a-directory'
  | 'permission-denied'
  | 'changed'
  | 'too-large'
  | 'disk-full'

/** What is wrong with a path, in words for the model. */
export class PathError extends Error {
  readonly code: PathErrorCode
  constructor(code: PathErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PathError'
    this.code = code
  }
}

/** What `resolvePath` judges by. */
export interface PathRules {
  /** The workspace; absolute, after symlinks. */
  readonly root: string
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
}

/** Where a path of a call really leads, and to what kind of place. Throws PathError. */
export async function resolvePath(raw: string, rules: PathRules): Promise<ResolvedPath> {
  if (!raw.trim()) throw new PathError('invalid', 'path is missing.')
  if (raw.includes('\0')) throw new PathError('invalid', 'path contains a NUL character.')
  const given = resolve(rules.root, raw.replace(/^~(?=$|\/)/, homedir()))
  const { path, exists } = await real(given)
  if (path.length > MAX_PATH_CHARS) {
    throw new PathError('invalid', `path is longer than ${MAX_PATH_CHARS} characters.`)
  }
  if (/^\/(proc|sys|dev)(\/|$)/.test(path)) {
    throw new PathError('permission-denied', `${path} is a system path; tools cannot use it.`)
  }
  const inside = isWithin(path, rules.root)
  const shown = inside ? path.slice(rules.root.length + 1) || '.' : path
  return { path, exists, zone: await zoneOf(path, inside, rules), shown, linked: path !== given }
}

async function real(given: string): Promise<{ path: string; exists: boolean }> {
  try {
    return { path: await realpath(given), exists: true }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ELOOP') throw new PathError('invalid', `${given} is a loop of symlinks.`)
    if (code === 'EACCES') throw new PathError('permission-denied', `${given}: permission denied.`)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    if (dirname(given) === given) throw error
    // A dangling link would be written through: its name must not exist in any form.
    const parent = await real(dirname(given))
    return { path: join(parent.path, basename(given)), exists: false }
  }
}

/** Whether a path is the folder or lies below it; both absolute. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

async function zoneOf(path: string, inside: boolean, { root, ownPaths }: PathRules): Promise<Zone> {
  if (ownPaths.some((own) => isWithin(path, own))) return 'own'
  if (holdsSecrets(path)) return 'secret'
  if (!inside) return 'outside'
  return (await linkedSecrets(root)(path)) || (await looksLikeKeyFile(path)) ? 'secret' : 'workspace'
}
