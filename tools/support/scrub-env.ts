import { createRedactor } from '../../src/util/redact.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Names that say nothing but where and how a program runs. */
const PLAIN =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|TMPDIR|TMP|TEMP|HOSTNAME)$/

/**
 * The environment a child may see: plain names, and those that the operator passes on. Nothing that holds a secret of
 * ours passes, by whatever name, and no plain name with a secret in it.
 */
export function scrubEnv(
  env: Env,
  pass: readonly string[] = [],
  ownSecrets: readonly string[] = [],
): Record<string, string> {
  const passed = new Set(pass)
  const known = createRedactor(ownSecrets)
  const holdsOwn = (value: string): boolean => ownSecrets.some((secret) => value.includes(secret))
  const entries = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value] = entry
    if (value === undefined || holdsOwn(value)) return false
    return passed.has(name) || (PLAIN.test(name) && !known.containsSecret(value))
  })
  return Object.fromEntries(entries)
}
