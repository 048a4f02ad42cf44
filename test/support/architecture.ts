import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vite'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** Source files by path from the project's root. */
export type Sources = ReadonlyMap<string, string>

/** A folder imports its own files and lower ranks only. */
const RANKS: Readonly<Record<string, number>> = {
  'src/util': 0,
  'src/copy': 0.2,
  'src/store': 0.5,
  'src/config': 1,
  'src/approval': 1,
  'src/jobs': 1,
  'src/workspace': 1,
  'src/channel': 2,
  'src/model': 2,
  'channels/markdown': 2,
  'channels/support': 2,
  'src/identity': 3,
  'src/workstream': 3,
  'channels/canvas': 2.5,
  'channels/discord': 3,
  'channels/slack': 3,
  'src/tool': 4,
  'src/policy': 5,
  'src/turn': 5,
  'src/agent': 6,
  'src/gateway': 6,
  tools: 7,
  'channels/index.ts': 7,
  'src/app': 8,
}

/** Every package that the product imports has its homes here. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@hono/node-server': ['src/gateway/operations/http-server.ts'],
  '@slack/bolt': ['channels/slack/'],
  '@slack/web-api': ['channels/slack/'],
  ajv: ['src/tool/arguments.ts'],
  'better-sqlite3': ['src/store/'],
  commander: ['src/app/cli.ts'],
  diff: ['tools/'],
  'discord.js': ['channels/discord/'],
  hono: ['src/gateway/operations/http-server.ts'],
  jsonrepair: ['src/tool/arguments.ts'],
  kysely: ['src/store/', 'src/approval/', 'src/channel/', 'src/jobs/', 'src/turn/', 'src/workstream/'],
  mdast: ['channels/'],
  'mdast-util-from-markdown': ['channels/markdown/'],
  'mdast-util-gfm': ['channels/markdown/'],
  'micromark-extension-gfm': ['channels/markdown/'],
  openai: ['src/model/openai-chat/'],
  pino: ['src/util/log.ts'],
  'prom-client': ['src/gateway/operations/metrics.ts'],
  'smol-toml': ['src/config/'],
  undici: ['channels/slack/'],
  zod: ['src/config/'],
}

/** What an adapter may see of the product: the port, what a card shows, its configuration, words and helpers. */
const ADAPTER_MAY_IMPORT: readonly string[] = [
  'src/approval/approval.ts',
  'src/channel/',
  'src/config/config.ts',
  'src/copy/',
  'src/jobs/locks.ts',
  'src/util/',
  'channels/',
]

/** The one file that may name a table; `src/store/tables.ts` and the migrations apart. */
const TABLES: Readonly<Record<string, string>> = {
  api_tokens: 'src/identity/api-tokens.ts',
  approvals: 'src/approval/approvals.ts',
  audit: 'src/store/audit.ts',
  blobs: 'src/store/blobs.ts',
  files_read: 'src/workspace/file-ledger.ts',
  grants: 'src/approval/grants.ts',
  inbox: 'src/turn/inbox-messages.ts',
  jobs: 'src/jobs/local-jobs.ts',
  journal: 'src/turn/journal.ts',
  links: 'src/identity/links.ts',
  posts: 'src/channel/post-log.ts',
  schema_version: 'src/store/store.ts',
  seen: 'src/store/seen.ts',
  turns: 'src/turn/turns.ts',
  usage: 'src/turn/usage.ts',
  users: 'src/identity/users.ts',
  workstreams: 'src/workstream/workstreams.ts',
}

const MAX_FILE_LINES = 350
const MAX_FUNCTION_LINES = 60

export function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesUnder(path, ending)
    return path.endsWith(ending) ? [path] : []
  })
}

export function readSources(): Sources {
  const files = ['src', 'channels', 'tools'].flatMap((folder) => filesUnder(folder, '.ts'))
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
}

function importsOf(text: string): string[] {
  const found = text.matchAll(/(?:^|\n)(?:import|export)[^;'"]*?from '([^']+)'|import\('([^']+)'\)|\nimport '([^']+)'/g)
  return [...found].map((m) => m[1] ?? m[2] ?? m[3] ?? '')
}

function localImports(file: string, text: string): string[] {
  return importsOf(text)
    .filter((i) => i.startsWith('.') && i.endsWith('.ts'))
    .map((i) => normalize(join(dirname(file), i)))
}

function folderOf(file: string): string {
  const known = Object.keys(RANKS).filter((f) => file === f || file.startsWith(`${f}/`))
  return known.sort((a, b) => b.length - a.length)[0] ?? ''
}

const each = (sources: Sources, rule: (file: string, text: string) => readonly string[]): string[] =>
  [...sources].flatMap(([file, text]) => rule(file, text))

/** Each rule gives what breaks it, a line each; [] where all is well. */
export const RULES = {
  unranked: (s: Sources) => each(s, (file) => (folderOf(file) === '' ? [file] : [])),

  upwards: (s: Sources) =>
    each(s, (file, text) =>
      localImports(file, text)
        .filter((to) => folderOf(to) !== folderOf(file))
        .filter((to) => (RANKS[folderOf(to)] ?? 99) >= (RANKS[folderOf(file)] ?? -1))
        .map((to) => `${file} imports ${to}`),
    ),

  cycles(s: Sources): string[] {
    const state = new Map<string, 'open' | 'done'>()
    const cycles: string[] = []
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
        return
      }
      state.set(file, 'open')
      for (const to of localImports(file, s.get(file) ?? '')) visit(to, [...path, file])
      state.set(file, 'done')
    }
    for (const file of s.keys()) visit(file, [])
    return cycles
  },

  homeless: (s: Sources) =>
    each(s, (file, text) =>
      importsOf(text)
        .filter((i) => !i.startsWith('.') && !i.startsWith('node:'))
        .flatMap((i) => {
          const name = i.startsWith('@') ? i.split('/').slice(0, 2).join('/') : (i.split('/')[0] ?? i)
          const homes = HOMES[name]
          return homes?.some((place) => file.startsWith(place)) ? [] : [`${file} imports ${i}`]
        }),
    ),

  adapterReach: (s: Sources) =>
    each(s, (file, text) => {
      if (!/^channels\/[^/]+\//.test(file)) return []
      return localImports(file, text)
        .filter((to) => !ADAPTER_MAY_IMPORT.some((place) => to.startsWith(place)))
        .map((to) => `${file} imports ${to}`)
    }),

  siblings: (s: Sources) => {
    const adapters = [...s.keys()].flatMap((file) => /^(channels\/[^/]+\/)adapter\.ts$/.exec(file)?.[1] ?? [])
    return each(s, (file, text) => {
      const own = adapters.find((folder) => file.startsWith(folder))
      if (own === undefined) return []
      const others = adapters.filter((folder) => folder !== own)
      return localImports(file, text)
        .filter((to) => others.some((folder) => to.startsWith(folder)))
        .map((to) => `${file} imports ${to}`)
    })
  },

  topRoom: (s: Sources) =>
    each(s, (file, text) => {
      if (!file.startsWith('src/') || file.startsWith('src/app/')) return []
      return localImports(file, text).flatMap((to) => (/^(channels|tools)\//.test(to) ? [`${file} imports ${to}`] : []))
    }),

  tables: (s: Sources) =>
    each(s, (file, text) => {
      if (file.startsWith('src/store/migrations/')) return []
      const named = text.matchAll(/(?:selectFrom|insertInto|updateTable|deleteFrom|[jJ]oin)\(\s*'(\w+)/g)
      return [...new Set([...named].map((m) => m[1] ?? ''))]
        .filter((table) => TABLES[table] !== file)
        .map((table) => `${file} names ${table}`)
    }),

  /** Facts of a platform are the adapter's; only it, the configuration and the top room know platforms by name. */
  platformNames: (s: Sources) =>
    each(s, (file, text) => {
      if (!file.startsWith('src/') || /^src\/(app|config|copy)\//.test(file)) return []
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      return /'(?:discord|slack)'/i.test(code) ? [`${file} names a platform`] : []
    }),

  /** What the log says is in `src/copy` too. */
  logWords: (s: Sources) =>
    each(s, (file, text) => {
      const calls = text.matchAll(/\blog\??\.(?:info|warn|error|debug|fatal)\(\s*(?:\{[^{}]*\},\s*)?['"`]/gi)
      return [...calls].map((m) => `${file}: ${m[0].replace(/\s+/g, ' ')}`)
    }),

  longFiles: (s: Sources) =>
    each(s, (file, text) => {
      const lines = text.split('\n').length - 1
      return lines > MAX_FILE_LINES ? [`${file}: ${lines} lines`] : []
    }),

  longFunctions: (s: Sources) =>
    each(s, (file, text) => {
      const lineOf = (at: number): number => text.slice(0, at).split('\n').length
      return functionsOf(text).flatMap(({ start, end }) => {
        const lines = lineOf(end) - lineOf(start) + 1
        return lines > MAX_FUNCTION_LINES ? [`${file}:${lineOf(start)}: a function of ${lines} lines`] : []
      })
    }),
} as const

interface Span {
  readonly start: number
  readonly end: number
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Where the functions, methods and arrow functions of a source are. */
function functionsOf(text: string): Span[] {
  const spans: Span[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) {
      for (const item of node) visit(item)
      return
    }
    const { type, start, end } = node as { type?: string; start?: number; end?: number }
    if (type !== undefined && FUNCTIONS.has(type)) spans.push({ start: start ?? 0, end: end ?? 0 })
    for (const value of Object.values(node)) visit(value)
  }
  visit(parseAst(text, { lang: 'ts' }).body)
  return spans
}
