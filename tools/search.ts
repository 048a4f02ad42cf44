import { relative } from 'node:path'
import type { CatalogTool, PlanScope, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { runProcess } from '../src/util/run-process.ts'
import { plainTerminal } from '../src/util/visible.ts'
import { PathError, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './search.json' with { type: 'json' }
import { type Chosen, chooseFiles } from './support/choose-files.ts'
import { invalid, NOT_VALID, observed, pathAct, planned, stillAt } from './support/plans.ts'
import { scrubEnv } from './support/scrub-env.ts'
import type { ToolSettings } from './support/settings.ts'
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

/** We choose the files, `grep -E` matches. */
export function createSearchTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      if (!args.query) return invalid(NOT_VALID, 'Error: query is empty')
      const place = await resolvePath(args.path || '.', { root: scope.root, ownPaths: settings.ownPaths })
      if (!place.exists) throw new PathError('not-found', `${place.shown}: no such file or directory`)
      return {
        kind: 'ready',
        header: `${args.query}${args.path ? ` in ${place.shown}` : ''}`,
        payload: { filename: 'query.txt', text: args.query },
        needsApproval: false,
        label: 'search',
        acts: [{ act: 'exec', label: 'search', name: 'search' }, pathAct('read', place)],
        fingerprint: JSON.stringify([place.path, args.query]),
        run: (context) => observed(() => run(args, place, context, scope, settings)),
      }
    }),
  )
}

async function run(
  args: Args,
  place: ResolvedPath,
  { signal }: RunContext,
  scope: PlanScope,
  settings: ToolSettings,
): Promise<ToolResult> {
  await stillAt(args.path || '.', place, scope, settings)
  const own = settings.ownPaths
  const may = (path: string): boolean => scope.mayRead(path) && !own.some((o) => path === o || path.startsWith(`${o}/`))
  const chosen = await chooseFiles(place.path, may, signal)
  const hits: FileHits[] = []
  let raw = 0
  for (let at = 0; at < chosen.files.length || at === 0; at += FILES_PER_GREP) {
    const found = await grep(args.query, chosen.files.slice(at, at + FILES_PER_GREP), {
      signal,
      settings,
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
      `(${withheld} ${withheld === 1 ? 'file was' : 'files were'} left out: they may hold secrets, or policy would have to be asked)`,
    )
  if (truncated) said.push('(there are more files than one search looks at; give a narrower path)')
  return said
}

/** The hits by file, or what was wrong with the pattern. Without files it still checks the pattern. */
async function grep(
  query: string,
  files: readonly string[],
  { signal, settings, cwd }: { signal: AbortSignal; settings: ToolSettings; cwd: string },
): Promise<readonly FileHits[] | string> {
  let out = ''
  let complaint = ''
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
      env: { ...scrubEnv(settings.env), LC_ALL: 'C.UTF-8' },
      timeoutMs: settings.timeoutMs,
      signal: AbortSignal.any([signal, full.signal]),
      ...(settings.runAs ? { as: settings.runAs } : {}),
      onOutput(stream, text) {
        if (stream === 'stdout') out += text
        else complaint = (complaint + text).slice(0, 1000)
        if (out.length > MAX_OUTPUT_CHARS) full.abort()
      },
    },
    settings.clock,
  )
  signal.throwIfAborted()
  if (result.ended === 'timeout')
    return `the search took longer than ${settings.timeoutMs / 1000} s; give a narrower path`
  // grep also says 2 when a file went away meanwhile; only a bad pattern is complained of with -s.
  if ((result.code ?? 0) > 1 && complaint.trim())
    return `not a valid extended regular expression: ${complaint.replace(/^grep: /, '').trim()}`
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
