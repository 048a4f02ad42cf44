/** A key of a part that is not built: accepted at its default and nowhere else. */
interface UnbuiltKey {
  readonly standard: unknown
  /** For config.example.toml. */
  readonly about: string
}

/** All of them, by path; `*` is any alias. */
export const KEYS_NOT_IN_THIS_VERSION: Readonly<Record<string, UnbuiltKey>> = {
  'models.*.price': { standard: { input: 0, cached: 0, output: 0 }, about: 'USD per million tokens' },
  'models.*.capabilities.supports_tool_search': {
    standard: false,
    about: 'the provider searches deferred tools itself',
  },
  'models.*.capabilities.supports_web_search': { standard: false, about: 'the provider searches the web itself' },
  'session.auto_compact_pct': { standard: 0.8, about: 'share of the window at which history is compacted' },
  'session.agent_model': { standard: '', about: 'alias of the model for sub-agents' },
  'channels.web.enabled': { standard: true, about: 'the web channel' },
  'tools.search': { standard: 'auto', about: 'tool search: auto, on or off' },
  'tools.search_threshold': { standard: 20, about: 'number of tools from which it is on' },
  'tools.search_max_results': { standard: 5, about: 'tools that one search returns' },
  'tools.modules': { standard: [], about: 'tools that run inside the gateway' },
  'tools.tavily_key_env': { standard: 'TAVILY_API_KEY', about: 'the variable that holds the web search key' },
  'tools.tavily_url': { standard: 'https://api.tavily.com', about: 'the web search service' },
  'sandbox.mode': { standard: 'auto', about: 'auto, bwrap or off' },
  'sandbox.network': { standard: true, about: 'network access for bash' },
  'budget.user_daily_tokens': { standard: 0, about: 'tokens for each person a day; 0 = no limit' },
  'budget.user_daily_usd': { standard: 0, about: 'USD for each person a day; 0 = no limit' },
  'skills.path': { standard: './skills', about: 'the directory of skills' },
  'mcp.refresh_interval': { standard: '4h', about: 'how often servers are asked for their tools; 0 = never' },
  'mcp.servers': { standard: {}, about: 'MCP servers' },
}

/** Providers that a block may name later. */
export const PROVIDERS_NOT_IN_THIS_VERSION: readonly string[] = ['openai-responses', 'anthropic']

/** Flags of `serve`, as commander reads them. */
export const FLAGS_NOT_IN_THIS_VERSION: readonly string[] = [
  '--mcp-config <file>',
  '--tool-search <mode>',
  '--tool-search-threshold <n>',
  '--tool-search-max-results <n>',
]

type Table = Record<string, unknown>

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** Takes these keys out of what a file holds, in place. The path of the first that is not at its default, else undefined. */
export function removeUnbuiltKeys(tables: Table): string | undefined {
  for (const [pattern, { standard }] of Object.entries(KEYS_NOT_IN_THIS_VERSION)) {
    const path = pattern.split('.')
    const wrong = removeAt(tables, path, standard, [])
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function removeAt(
  table: Table,
  path: readonly string[],
  standard: unknown,
  above: readonly string[],
): string | undefined {
  const [name = '', ...rest] = path
  const names = name === '*' ? Object.keys(table) : [name]
  for (const key of names) {
    const value = table[key]
    if (rest.length === 0) {
      if (value === undefined) continue
      if (!isAtDefault(value, standard)) return [...above, key].join('.')
      delete table[key]
    } else if (isTable(value)) {
      const wrong = removeAt(value, rest, standard, [...above, key])
      if (wrong !== undefined) return wrong
      // The schema has no tables that hold nothing else.
      if (name !== '*' && Object.keys(value).length === 0) delete table[key]
    }
  }
  return undefined
}

/** A table may leave out what stays at its default. */
function isAtDefault(value: unknown, standard: unknown): boolean {
  if (isTable(value) && isTable(standard)) {
    return Object.entries(value).every(([key, v]) => key in standard && isAtDefault(v, standard[key]))
  }
  return JSON.stringify(value) === JSON.stringify(standard)
}
