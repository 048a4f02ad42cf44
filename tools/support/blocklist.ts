/** Begin and end of a word or whole path inside a script. */
const BEFORE = String.raw`(?:^|[\s;&|(){}\x60"'=<>])`
/** The folders that hold what a bare name would find. */
const BIN = '(?:/(?:usr/)?(?:local/)?s?bin/)?'
const AFTER = String.raw`(?=$|[\s;&|(){}\x60"'<>])`
const DISK = String.raw`/dev/(?:sd|nvme|vd|xvd|hd|dm-|md|loop|disk/)\S*`

const RULES: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  rule(
    'rm -rf /',
    String.raw`${BIN}rm(?: -[a-zA-Z]+| --[a-z-]*)*(?: -[a-zA-Z]*[rR][a-zA-Z]*| --recursive)(?: -[a-zA-Z]+| --[a-z-]*)* ["']?/\*?["']?`,
  ),
  ...['mkfs', 'shutdown', 'reboot', 'halt', 'poweroff'].map((word) => rule(word, `${BIN}${word}(?:\\.[a-z0-9]+)?`)),
  rule('dd of=/dev/…', `of=${DISK}`),
  rule('> /dev/…', ``, new RegExp(`>\\|? ?${DISK}`)),
  rule(':(){ :|:& };:', '', /:\(\) ?\{ ?: ?\| ?: ?& ?\} ?; ?:/),
  rule('mv /', `${BIN}mv(?: -\\S+)* /`),
  rule('chmod -R 777 /', `${BIN}chmod -R 0?777 /`),
  rule('chown -R', `${BIN}chown(?: -\\S+)* -[a-zA-Z]*R[a-zA-Z]*`),
  rule('/proc/1/environ', '/proc/1/environ'),
  rule('/proc/self/environ', '/proc/self/environ'),
]

function rule(name: string, body: string, pattern = new RegExp(BEFORE + body + AFTER)) {
  return { name, pattern }
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
  return RULES.find((r) => r.pattern.test(text))?.name
}
