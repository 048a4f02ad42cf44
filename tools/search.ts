import { relative } from 'node:path'
import type { CatalogTool, PlanScope, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import type { Redactor } from '../src/util/redact.ts'
import { runProcess } from '../src/util/run-process.ts'
import type { Clock } from '../src/util/time.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import { linkedSecrets, looksLikeKeyFile } from '../src/workspace/secret-files.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import file from './search.json' with { type: 'json' }
import { type Chosen, chooseFiles } from './support/choose-files.ts'
import { HitReader } from './support/hit-reader.ts'
import { checkUnmoved, invalid, NOT_VALID, observed, pathAct, planned } from './support/plans.ts'
import { type FileHits, showHits } from './support/show-hits.ts'

interface Args {
  readonly query: string
  readonly path?: string
}

/** Matches of one file that are kept. */
const MAX_HITS_PER_FILE = 100
/** Output of grep that is kept, and that is read, characters; then it is ended. */
const MAX_KEPT_CHARS = 4 * 1024 * 1024
const MAX_READ_CHARS = 64 * 1024 * 1024
/** Paths given to one grep: well below the system's limit for arguments. */
const FILES_PER_GREP = 500
/** What grep may use: a few hundred characters of pattern can ask for gigabytes. */
const MAX_GREP_BYTES = 256 * 1024 * 1024

export interface SearchDeps {
  readonly clock: Clock
  /** How long one search may take, ms. */
  readonly timeoutMs: number
  readonly runAs: RunAs | undefined
  /** The gateway's own files and folders, absolute after symlinks: never searched. */
  readonly ownPaths: readonly string[]
  /** The gateway's environment, of which grep gets nothing but the path. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Long lines lose their secrets before they are cut. */
  readonly redactor: Redactor
}

/** We choose the files, `grep -E` matches. */
export function createSearchTool(deps: SearchDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      if (!args.query) return invalid(NOT_VALID, 'Error: query is empty.')
      const rules = { root: scope.root, ownPaths: deps.ownPaths }
      const place = await resolvePath(args.path || '.', rules)
      if (!place.exists) throw new PathError('not-found', `${place.shown}: no such file or directory.`)
      return {
        kind: 'ready',
        header: `${args.query}${args.path ? ` in ${place.shown}` : ''}`,
        payload: { filename: 'query.txt', text: args.query },
        needsApproval: false,
        label: 'search',
        acts: [{ act: 'exec', label: 'search', name: 'search' }, pathAct('read', place)],
        fingerprint: JSON.stringify([place.path, args.query]),
        timeLimitMs: deps.timeoutMs,
        run: (context) => observed(() => run(args, { place, rules }, context, scope, deps)),
      }
    }),
  )
}

async function run(
  args: Args,
  { place, rules }: { place: ResolvedPath; rules: PathRules },
  { signal }: RunContext,
  scope: PlanScope,
  deps: SearchDeps,
): Promise<ToolResult> {
  const until = deps.clock.now() + deps.timeoutMs
  await checkUnmoved(args.path || '.', place, rules)
  const own = deps.ownPaths
  const may = (path: string): boolean => scope.mayRead(path) && !own.some((o) => path === o || path.startsWith(`${o}/`))
  const chosen = await chooseFiles(place.path, may, signal)
  // Beside its name, by which it is chosen, a file is looked at only where something was found.
  const linked = linkedSecrets(scope.root)
  let secret = 0
  const hits: FileHits[] = []
  let raw = 0
  for (let at = 0; at < chosen.files.length || at === 0; at += FILES_PER_GREP) {
    const found = await grep(args.query, chosen.files.slice(at, at + FILES_PER_GREP), {
      signal,
      deps,
      until,
      cwd: scope.root,
    })
    if (typeof found === 'string') return failure(`Error: ${found}`)
    for (const hit of found) {
      // A file that was named was judged and perhaps approved.
      if (hit.path !== place.path && ((await linked(hit.path)) || (await looksLikeKeyFile(hit.path)))) secret++
      else {
        raw += hit.lines.reduce((n, line) => n + line.length, 0)
        hits.push(hit)
      }
    }
    if (raw > MAX_KEPT_CHARS) break
  }
  const shown = hits.map((h) => ({
    ...h,
    path: relative(scope.root, h.path).startsWith('..') ? h.path : relative(scope.root, h.path),
  }))
  return success([showHits(shown), ...remarks({ ...chosen, withheld: chosen.withheld + secret })].join('\n\n'))
}

function remarks({ withheld, truncated }: Chosen): string[] {
  const said: string[] = []
  if (withheld > 0)
    said.push(
      `(${withheld} ${withheld === 1 ? 'file was' : 'files were'} left out: possible secrets, or files that need approval to read)`,
    )
  if (truncated) said.push('(there are too many files for one search; give a narrower path)')
  return said
}

/** The hits by file, or what was wrong with the pattern. Without files it still checks the pattern. */
async function grep(
  query: string,
  files: readonly string[],
  { signal, deps, until, cwd }: { signal: AbortSignal; deps: SearchDeps; until: number; cwd: string },
): Promise<readonly FileHits[] | string> {
  const hits = new HitReader(MAX_KEPT_CHARS, deps.redactor)
  let stderr = ''
  let read = 0
  const full = new AbortController()
  const result = await runProcess(
    {
      command: 'grep',
      // What holds a NUL is searched too: logs do. What is binary all the same is sorted out by its lines.
      args: ['-EnHZsa', '-m', String(MAX_HITS_PER_FILE), '-e', query, '--', ...(files.length ? files : ['/dev/null'])],
      cwd,
      env: { PATH: deps.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
      limits: { memoryBytes: MAX_GREP_BYTES, cpuSeconds: Math.ceil(deps.timeoutMs / 1000) },
      timeoutMs: until - deps.clock.now(),
      signal: AbortSignal.any([signal, full.signal]),
      ...(deps.runAs ? { as: deps.runAs } : {}),
      onOutput(stream, text) {
        read += text.length
        if (stream === 'stdout') hits.push(text)
        else stderr = (stderr + text).slice(0, 1000)
        if (hits.isFull || read > MAX_READ_CHARS) full.abort()
      },
    },
    deps.clock,
  )
  signal.throwIfAborted()
  if (result.ended === 'timeout' || result.signal === 'SIGXCPU') {
    return `The search took longer than ${deps.timeoutMs / 1000} s. Give a narrower path or a simpler query.`
  }
  if (/memory exhausted|stack overflow|too big/i.test(stderr) || (result.signal !== null && result.ended === 'exit')) {
    return 'query needs too much memory. Use a simpler one, with fewer and smaller repeats such as {1,255}.'
  }
  // grep also exits with 2 when a file disappears during the search; with -s only a bad pattern writes an error.
  if ((result.code ?? 0) > 1 && stderr.trim())
    return `query is not a valid extended regular expression: ${stderr.replace(/^grep: /, '').trim()}.`
  return hits.end()
}
