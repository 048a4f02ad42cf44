/** Begin and end of a word or whole path inside a script. */
const BEFORE = String.raw`(?:^|[\s;&|(){}\x60"'=<>])`
/** The folders that hold what a bare name would find. */
const BIN = '(?:/(?:usr/)?(?:local/)?s?bin/)?'
const AFTER = String.raw`(?=$|[\s;&|(){}\x60"'<>])`
const DISK = String.raw`/dev/(?:sd|nvme|vd|xvd|hd|dm-|md|loop|disk/)\S*`

/** An option: it cannot hold what separates it from the next, so that no pattern below ever goes back. */
const OPTIONS = String.raw`((?: -[^\s;&|(){}\x60"'<>]*)*)`

interface Rule {
  readonly name: string
  readonly pattern: RegExp
  /** Which options make it dangerous; any where it is left out. */
  readonly options?: RegExp
}

const RULES: readonly Rule[] = [
  rule('rm -rf /', String.raw`${BIN}rm${OPTIONS} ["']?/\*?["']?`, / -[a-zA-Z]*[rR]| --recursive(?= |$)/),
  ...['mkfs', 'shutdown', 'reboot', 'halt', 'poweroff'].map((word) => rule(word, `${BIN}${word}(?:\\.[a-z0-9]+)?`)),
  rule('dd of=/dev/…', `of=${DISK}`),
  { name: '> /dev/…', pattern: new RegExp(`>\\|? ?${DISK}`) },
  { name: ':(){ :|:& };:', pattern: /:\(\) ?\{ ?: ?\| ?: ?& ?\} ?; ?:/ },
  rule('mv /', `${BIN}mv${OPTIONS} /`),
  rule('chmod -R 777 /', `${BIN}chmod -R 0?777 /`),
  rule('chown -R', `${BIN}chown${OPTIONS}`, / -[a-zA-Z]*R/),
  rule('/proc/1/environ', '/proc/1/environ'),
  rule('/proc/self/environ', '/proc/self/environ'),
]

function rule(name: string, body: string, options?: RegExp): Rule {
  return { name, pattern: new RegExp(BEFORE + body + AFTER, 'g'), ...(options ? { options } : {}) }
}

function hits(text: string, { pattern, options }: Rule): boolean {
  if (!options) return text.search(pattern) >= 0
  for (const [, given = ''] of text.matchAll(pattern)) if (options.test(given)) return true
  return false
}

/**
 * The entry a script hits, matched as words and whole paths: `rm -rf /` and not `rm -rf /tmp/x`. A guard against
 * accidents, not a boundary: that is the approval.
 */
export function blockedBy(command: string): string | undefined {
  const text = command
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2013\u2014]/g, '-')
    .replace(/\\\n/g, ' ')
    .replace(/[ \t]+/g, ' ')
  return RULES.find((rule) => hits(text, rule))?.name
}
