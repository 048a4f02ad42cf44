import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { FILE, TOML } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'

/** The file that is named by flag or variable, else the first that exists. Throws TurnstoneError 'config'. */
export function findFile(
  flag: string | undefined,
  named: string | undefined,
  cwd: string,
  home: string,
): string | undefined {
  for (const [what, path] of [
    ['--config', flag],
    ['$TURNSTONE_CONFIG', named],
  ] as const) {
    if (path === undefined) continue
    const absolute = resolve(cwd, path)
    const fault = faultOf(absolute)
    if (fault !== undefined) throw new TurnstoneError('config', `${what}: ${fault}`)
    return absolute
  }
  return [join(cwd, 'config.toml'), join(home, '.config/turnstone/config.toml')].find(
    (path) => statSync(path, { throwIfNoEntry: false }) !== undefined,
  )
}

function faultOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return FILE.missing(path)
  return found.isDirectory() ? FILE.isDirectory(path) : undefined
}

/** What it holds. Throws TurnstoneError 'config' with one line that shows nothing of the file's text. */
export function readToml(file: string): Record<string, unknown> {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new TurnstoneError('config', code === 'EISDIR' ? FILE.isDirectory(file) : FILE.unreadable(file, code))
  }
  try {
    return parse(content)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const { line, column } = error
    throw new TurnstoneError('config', `${file}: ${TOML.at(line, column, tomlFault(error, content))}`)
  }
}

/** Only the first line of its message and the key: the rest of the file's line may hold a secret. */
function tomlFault({ message, line }: TomlError, content: string): string {
  const [first = ''] = message.split('\n')
  const written = /^\s*([\w.-]+)\s*=\s*(\S?)/.exec(content.split(/\r?\n/)[line - 1] ?? '')
  const [, key = 'key', start = ''] = written ?? []
  if (/lossless|integer/i.test(first)) return TOML.tooLarge(key)
  if (/invalid value/.test(first) && start === '[') return TOML.listQuotes(key)
  if (/invalid value/.test(first) && written) return TOML.quotes(key)
  return TOML.invalid(first.replace(/^Invalid TOML document: /, ''))
}
