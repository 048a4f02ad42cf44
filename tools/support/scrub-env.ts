const SUFFIX = /_(?:KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS?)$/
const DROPPED = new Set([
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'TAVILY_API_KEY',
  'TURNSTONE_DB_URL',
  'DATABASE_URL',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'RIPGREP_CONFIG_PATH',
  'GIT_CONFIG',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  // Would run code from the gateway's environment in every child.
  'NODE_OPTIONS',
  'BASH_ENV',
  'ENV',
])
const KEPT = new Set(
  (
    'PATH HOME USER SHELL LANG TERM TMPDIR TMP TEMP EDITOR VISUAL COLORTERM COLUMNS LINES PWD OLDPWD HOSTNAME LOGNAME ' +
    'DISPLAY WAYLAND_DISPLAY SSH_AUTH_SOCK GPG_AGENT_INFO SHLVL MANWIDTH MAN_KEEP_FORMATTING LESS LESSOPEN LESSCLOSE ' +
    'LESSPIPE LESSCHARSET'
  ).split(' '),
)

/** The environment a child may see: names that look like secrets go, but for those the operator passes on by name. */
export function scrubEnv(
  env: Readonly<Record<string, string | undefined>>,
  pass: readonly string[] = [],
): Record<string, string> {
  const passed = new Set(pass)
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && (passed.has(entry[0]) || isHarmless(entry[0])),
  )
  return Object.fromEntries(entries)
}

function isHarmless(name: string): boolean {
  if (KEPT.has(name)) return true
  const upper = name.toUpperCase()
  return (
    !SUFFIX.test(upper) && !DROPPED.has(upper) && !upper.startsWith('TURNSTONE_') && !upper.startsWith('NPM_CONFIG_')
  )
}
