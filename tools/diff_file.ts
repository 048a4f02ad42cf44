import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { cutMiddle } from '../src/tool/limit-result.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import type { Clock } from '../src/util/time.ts'
import { hashOf, isBinary, readWholeFile } from '../src/workspace/files.ts'
import { type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './diff_file.json' with { type: 'json' }
import { checkUnmoved, invalid, NOT_VALID, observed, pathAct, planned } from './support/plans.ts'
import { HeavyJobError, runHeavy } from './support/run-heavy.ts'

interface Args {
  readonly path_a: string
  readonly path_b?: string
  readonly content_b?: string
  readonly context_lines?: number
}

export interface DiffFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
  readonly clock: Clock
}

/** With content_b the text is the old side and the file the new one. */
export function createDiffFileTool({ ownPaths, clock }: DiffFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const second = args.path_b || undefined
      if (second === undefined && args.content_b === undefined) {
        return invalid(NOT_VALID, 'Error: Give path_b or content_b to compare with path_a.')
      }
      if (second !== undefined && args.content_b !== undefined) {
        return invalid(NOT_VALID, 'Error: Give either path_b or content_b, not both.')
      }
      const rules = { root: scope.root, ownPaths }
      const a = await resolvePath(args.path_a, rules)
      const b = second === undefined ? undefined : await resolvePath(second, rules)
      const places = b ? [a, b] : [a]
      return {
        kind: 'ready',
        header: places.map((p) => p.shown).join(' and '),
        payload: { filename: 'paths.txt', text: places.map((p) => p.path).join('\n') },
        needsApproval: false,
        label: 'diff_file',
        acts: [{ act: 'exec', label: 'diff_file', name: 'diff_file' }, ...places.map((p) => pathAct('read', p))],
        fingerprint: JSON.stringify(places.map((p) => p.path)),
        effects: { reads: places.map((p) => p.path) },
        run: ({ resultLimit }) => observed(() => run(args, { a, b, rules, clock }, resultLimit, scope)),
      }
    }),
  )
}

async function run(
  args: Args,
  { a, b, rules, clock }: { a: ResolvedPath; b: ResolvedPath | undefined; rules: PathRules; clock: Clock },
  limit: number,
  scope: PlanScope,
): Promise<ToolResult> {
  await checkUnmoved(args.path_a, a, rules)
  if (b) await checkUnmoved(args.path_b ?? '', b, rules)
  const first = await readWholeFile(a)
  const second = b ? await readWholeFile(b) : Buffer.from(args.content_b ?? '')
  for (const [bytes, place] of [[first, a] as const, ...(b ? [[second, b] as const] : [])]) {
    if (isBinary(bytes)) return failure(`Error: ${place.shown} is a binary file.`)
    scope.files.markRead(place.path, await hashOf(bytes))
  }
  const sides = b
    ? { oldName: a.shown, newName: b.shown, old: first, new: second }
    : { oldName: 'content_b', newName: a.shown, old: second, new: first }
  if (sides.old.equals(sides.new)) return success('(no differences)')
  const diff = await runHeavy({ kind: 'diff', ...sides, context: args.context_lines ?? 3 }, clock).catch(tooHeavy)
  if (diff === undefined) return success('The two differ too much for a useful diff. Read them instead.')
  return success(cutMiddle(diff, limit))
}

function tooHeavy(error: unknown): undefined {
  if (!(error instanceof HeavyJobError)) throw error
}
