import { relative } from 'node:path'
import type { CatalogTool, PlanScope, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { runProcess } from '../src/util/run-process.ts'
import type { Clock } from '../src/util/time.ts'
import { plainTerminal } from '../src/util/visible.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import file from './search.json' with { type: 'json' }
import { type Chosen, chooseFiles } from './support/choose-files.ts'
import { checkUnmoved, invalid, NOT_VALID, observed, pathAct, planned } from './support/plans.ts'
import { scrubEnv } from './support/scrub-env.ts'
import { type FileHits, showHits } from './support/show-hits.ts'

interface Args {
  readonly query: string
  readonly path?: string
}

/** Matches of one file that are kept. */
const MAX_HITS_PER_FILE = 100
/** Longest line shown, characters. */
const MAX_LINE_CHARS = 1024
/** Output of grep that is read, characters; then it is ended. */
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024
/** Paths given to one grep: well below the system's limit for arguments. */
const FILES_PER_GREP = 500

export interface SearchDeps {
  readonly clock: Clock
  /** How long one search may take, ms. */
  readonly timeoutMs: number
  readonly runAs: RunAs | undefined
  /** The gateway's own files and folders, absolute after symlinks: never searched. */
  readonly ownPaths: readonly string[]
  /** The gateway's environment, from which grep's is taken. */
  readonly env: Readonly<Record<string, string | undefined>>
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
    for (const hit of found) raw += hit.lines.reduce((n, line) => n + line.length, 0)
    hits.push(...found)
    if (raw > MAX_OUTPUT_CHARS) break
  }
  const shown = hits.map((h) => ({
    ...h,
    path: relative(scope.root, h.path).startsWith('..') ? h.path : relative(scope.root, h.path),
  }))
  return success([showHits(shown), ...remarks(chosen)].join('\n\n'))
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
  let out = ''
  let stderr = ''
  const full = new AbortController()
  const result = await runProcess(
    {
      command: 'grep',
      args: [
        '-EnHZsI',
        '-m',
        String(MAX_HITS_PER_FILE),
        '-e',
        query,
        '--',
        ...(files.length > 0 ? files : ['/dev/null']),
      ],
      cwd,
      env: { ...scrubEnv(deps.env), LC_ALL: 'C.UTF-8' },
      timeoutMs: until - deps.clock.now(),
      signal: AbortSignal.any([signal, full.signal]),
      ...(deps.runAs ? { as: deps.runAs } : {}),
      onOutput(stream, text) {
        if (stream === 'stdout') out += text
        else stderr = (stderr + text).slice(0, 1000)
        if (out.length > MAX_OUTPUT_CHARS) full.abort()
      },
    },
    deps.clock,
  )
  signal.throwIfAborted()
  if (result.ended === 'timeout') return `The search took longer than ${deps.timeoutMs / 1000} s. Give a narrower path.`
  // grep also exits with 2 when a file disappears during the search; with -s only a bad pattern writes an error.
  if ((result.code ?? 0) > 1 && stderr.trim())
    return `query is not a valid extended regular expression: ${stderr.replace(/^grep: /, '').trim()}.`
  return parseHits(full.signal.aborted ? out.slice(0, out.lastIndexOf('\n') + 1) : out)
}

function parseHits(out: string): readonly FileHits[] {
  const byFile = new Map<string, string[]>()
  for (const line of out.split('\n')) {
    const cut = line.indexOf('\0')
    if (cut < 0) continue
    const text = plainTerminal(line.slice(cut + 1))
    const shown = text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS).toWellFormed()} [… line cut]` : text
    const lines = byFile.get(line.slice(0, cut)) ?? []
    lines.push(shown)
    byFile.set(line.slice(0, cut), lines)
  }
  return [...byFile].map(([path, lines]) => ({ path, lines }))
}
