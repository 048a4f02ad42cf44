import { realpathSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'

/** Where an absolute path leads after symlinks, as far as it exists. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(realPlace(dirname(path)), basename(path))
  }
}

/** Whether a path is the folder or lies below it; both absolute. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

export function withHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}
