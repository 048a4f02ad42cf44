import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { holdsSecrets } from '../../src/workspace/secret-files.ts'

/** Folders of dependencies and build output: never searched. */
const SKIPPED = new Set(
  '.git node_modules target __pycache__ .mypy_cache .ruff_cache .pytest_cache dist build .tox .venv venv vendor'.split(
    ' ',
  ),
)
/** Larger files are not searched, bytes: they are hardly source text. */
const MAX_FILE_BYTES = 10 * 1024 * 1024
/** A search over more files is cut here. */
const MAX_FILES = 200_000

export interface Chosen {
  readonly files: readonly string[]
  /** Files left out for what they may hold, or because policy would deny or ask. */
  readonly withheld: number
  readonly truncated: boolean
}

/** The regular files below a folder, or the one file; hidden ones too, symlinks never; ignore files have no effect. */
export async function chooseFiles(root: string, may: (path: string) => boolean, signal: AbortSignal): Promise<Chosen> {
  const info = await stat(root)
  if (info.isFile()) return { files: [root], withheld: 0, truncated: false }
  const files: string[] = []
  let withheld = 0
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted()
    for (const entry of await entriesOf(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && !SKIPPED.has(entry.name) && !entry.name.endsWith('.egg-info')) folders.push(path)
      if (!entry.isFile()) continue
      if (holdsSecrets(path) || !may(path)) withheld++
      else if (await small(path)) files.push(path)
      if (files.length >= MAX_FILES) return { files, withheld, truncated: true }
    }
  }
  return { files: files.sort(), withheld, truncated: false }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // Gone or not readable: nothing to find there.
    return []
  }
}

async function small(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined)
  return info !== undefined && info.size <= MAX_FILE_BYTES
}
