import { createTwoFilesPatch } from 'diff'
import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { cutMiddle } from '../src/tool/limit-result.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { hashOf, isBinary, readWholeFile } from '../src/workspace/files.ts'
import { type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './diff_file.json' with { type: 'json' }
import { invalid, NOT_VALID, observed, pathAct, planned, stillAt } from './support/plans.ts'
import type { ToolSettings } from './support/settings.ts'

interface Args {
  readonly path_a: string
  readonly path_b?: string
  readonly content_b?: string
  readonly context_lines?: number
}

/** Work the diff may take before it is given up, edits; two unrelated large files would otherwise take minutes. */
const MAX_EDITS = 20_000

/** With content_b the text is the old side and the file the new one. */
export function createDiffFileTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const second = args.path_b || undefined
      if (second === undefined && args.content_b === undefined) {
        return invalid(NOT_VALID, 'Error: give path_b or content_b to compare path_a with')
      }
      if (second !== undefined && args.content_b !== undefined) {
        return invalid(NOT_VALID, 'Error: give either path_b or content_b, not both')
      }
      const a = await resolvePath(args.path_a, { root: scope.root, ownPaths: settings.ownPaths })
      const b =
        second === undefined ? undefined : await resolvePath(second, { root: scope.root, ownPaths: settings.ownPaths })
      const places = b ? [a, b] : [a]
      return {
        kind: 'ready',
        header: places.map((p) => p.shown).join(' and '),
        payload: { filename: 'paths.txt', text: places.map((p) => p.path).join('\n') },
        needsApproval: false,
        label: 'diff_file',
        acts: [{ act: 'exec', label: 'diff_file', name: 'diff_file' }, ...places.map((p) => pathAct('read', p))],
        fingerprint: JSON.stringify(places.map((p) => p.path)),
        run: ({ resultLimit }) => observed(() => run(args, { a, b }, resultLimit, scope, settings)),
      }
    }),
  )
}

async function run(
  args: Args,
  { a, b }: { a: ResolvedPath; b: ResolvedPath | undefined },
  limit: number,
  scope: PlanScope,
  settings: ToolSettings,
): Promise<ToolResult> {
  await stillAt(args.path_a, a, scope, settings)
  if (b) await stillAt(args.path_b ?? '', b, scope, settings)
  const first = await readWholeFile(a)
  const second = b ? await readWholeFile(b) : Buffer.from(args.content_b ?? '')
  for (const [bytes, place] of [[first, a] as const, ...(b ? [[second, b] as const] : [])]) {
    if (isBinary(bytes)) return failure(`Error: ${place.shown} is a binary file`)
    scope.files.markRead(place.path, hashOf(bytes))
  }
  const sides = b
    ? { oldName: a.shown, newName: b.shown, old: first, new: second }
    : { oldName: 'content_b', newName: a.shown, old: second, new: first }
  if (sides.old.equals(sides.new)) return success('(no differences)')
  const options = { context: args.context_lines ?? 3, maxEditLength: MAX_EDITS }
  const [before, after] = [sides.old.toString('utf8'), sides.new.toString('utf8')]
  const diff = createTwoFilesPatch(sides.oldName, sides.newName, before, after, undefined, undefined, options)
  if (diff === undefined) return success('The two differ too much for a diff to be of use; read them instead.')
  return success(cutMiddle(diff.replace(/^={10,}\n/, ''), limit))
}
