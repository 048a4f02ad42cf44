import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chown, type FileHandle, mkdir, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newId } from '../util/ids.ts'
import { isWithin, PathError, type ResolvedPath } from './paths.ts'
import type { RunAs } from './workspace.ts'

/** Largest file that is read, bytes: it is held in memory more than once. */
const MAX_FILE_BYTES = 20 * 1024 * 1024

/** Reads a regular file, provided the path still leads where it was planned. Throws PathError. */
export async function readWholeFile(file: ResolvedPath): Promise<Buffer> {
  const handle = await openChecked(file.path, constants.O_RDONLY)
  try {
    checkSize(file, (await handle.stat()).size)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** What is read at once, bytes: between two pieces the event loop goes on. */
const PIECE_BYTES = 32 * 1024

/** Reads a regular file piece by piece, of any part of which `onPiece` may keep a copy. The hash of it all. Throws PathError. */
export async function scanFile(
  file: ResolvedPath,
  onPiece: (piece: Buffer) => void = () => undefined,
): Promise<string> {
  const handle = await openChecked(file.path, constants.O_RDONLY)
  try {
    checkSize(file, (await handle.stat()).size)
    const hash = createHash('sha256')
    const buffer = Buffer.alloc(PIECE_BYTES)
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES)
      if (bytesRead === 0) return hash.digest('hex')
      const piece = buffer.subarray(0, bytesRead)
      hash.update(piece)
      onPiece(piece)
    }
  } finally {
    await handle.close()
  }
}

function checkSize({ shown }: ResolvedPath, size: number): void {
  if (size <= MAX_FILE_BYTES) return
  throw new PathError('too-large', `${shown} is larger than 20 MB. Use bash to read part of it.`)
}

async function openChecked(path: string, flags: number): Promise<FileHandle> {
  let handle: FileHandle
  try {
    // Non-blocking: a FIFO would otherwise wait for its writer.
    handle = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw pathErrorOf(path, error)
  }
  try {
    if (!(await handle.stat()).isFile()) throw new PathError('not-a-file', `${path} is not a regular file.`)
    if ((await realpath(path)) !== path) throw new PathError('changed', `${path} was replaced by a symlink.`)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** A file system error in words for the model. */
export function pathErrorOf(path: string, error: unknown): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new PathError('not-found', `${path}: no such file.`)
    case 'EISDIR':
      return new PathError('is-a-directory', `${path} is a directory.`)
    case 'ENOTDIR':
      return new PathError('not-a-directory', `${path}: part of the path is not a directory.`)
    case 'EACCES':
    case 'EPERM':
      return new PathError('permission-denied', `${path}: permission denied.`)
    case 'ELOOP':
      return new PathError('changed', `${path} was replaced by a symlink.`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new PathError('disk-full', `${path}: the disk is full. Nothing was changed.`)
    case 'ENXIO':
      return new PathError('not-a-file', `${path} is not a regular file.`)
    default:
      return error instanceof Error ? error : new Error(String(error))
  }
}

/** Replaces a file in one step, keeping its mode; a reader sees the old content or the new, never a part. Throws PathError. */
export async function writeWholeFile(
  file: ResolvedPath,
  content: string | Uint8Array,
  runAs: RunAs | undefined,
): Promise<void> {
  const { path } = file
  const folder = dirname(path)
  const temporary = join(folder, `.${newId()}.tmp`)
  try {
    await makeFolders(folder, runAs)
    if ((await realpath(folder)) !== folder) throw new PathError('changed', `${folder} was replaced by a symlink.`)
    const before = await stat(path).catch(() => undefined)
    if (before && !before.isFile()) throw new PathError('not-a-file', `${path} is not a regular file.`)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const handle = await open(temporary, flags, before ? before.mode & 0o7777 : 0o644)
    try {
      await handle.writeFile(content)
      await handle.sync()
      if (before) await handle.chmod(before.mode & 0o7777)
      if (runAs) await handle.chown(runAs.uid, runAs.gid)
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw pathErrorOf(path, error)
  }
}

async function makeFolders(folder: string, runAs: RunAs | undefined): Promise<void> {
  const first = await mkdir(folder, { recursive: true })
  if (first === undefined || !runAs) return
  for (let made = folder; isWithin(made, first); made = dirname(made)) await chown(made, runAs.uid, runAs.gid)
}

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0)
}

/** Of bytes of any length, worked out beside the event loop. The same as `scanFile` gives. */
export async function hashOf(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex')
}
