import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, readWholeFile, scanFile, writeWholeFile } from '../src/workspace/files.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import { checkUnmoved, observed, pathAct, planned } from './support/plans.ts'
import file from './write_file.json' with { type: 'json' }

interface Args {
  readonly path: string
  readonly content: string
  readonly mode?: 'overwrite' | 'append'
}

export interface WriteFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
  readonly runAs: RunAs | undefined
}

/** Creates, replaces or appends; each of the three has its own approval label. */
export function createWriteFileTool({ ownPaths, runAs }: WriteFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const rules = { root: scope.root, ownPaths }
      const place = await resolvePath(args.path, rules)
      const before = place.exists ? await scanFile(place) : undefined
      const append = args.mode === 'append'
      const unread = before !== undefined && scope.files.hashOf(place.path) !== before
      const label = append ? 'append_file' : unread ? 'overwrite_file' : 'write_file'
      const warnings = [
        ...(unread && !append ? ['replaces a file that the model has not read'] : []),
        ...(place.linked ? [`the path is a symlink to ${place.path}`] : []),
      ]
      const verb = append ? 'append to' : before === undefined ? 'create' : 'replace'
      return {
        kind: 'ready',
        header: `${verb} ${place.shown} (${args.content.length} characters)`,
        payload: { filename: 'content.txt', text: args.content },
        needsApproval: true,
        label,
        acts: [{ act: 'exec', label, name: 'write_file' }, pathAct('write', place)],
        ...(warnings.length > 0 ? { warning: warnings.join('; ') } : {}),
        fingerprint: JSON.stringify([place.path, append, sha256(args.content), before === undefined]),
        run: () => observed(() => run(args, { place, rules, runAs }, scope)),
      }
    }),
  )
}

async function run(
  args: Args,
  { place, rules, runAs }: { place: ResolvedPath; rules: PathRules; runAs: RunAs | undefined },
  scope: PlanScope,
): Promise<ToolResult> {
  await checkUnmoved(args.path, place, rules)
  const added = Buffer.from(args.content)
  let content = added
  if (args.mode === 'append') content = Buffer.concat([await existing(place), added])
  await writeWholeFile(place, content, runAs)
  scope.files.markRead(place.path, await hashOf(content))
  const verb = args.mode === 'append' ? 'Appended' : 'Wrote'
  return success(`${verb} ${args.content.length} characters to ${place.shown}.`)
}

async function existing(place: ResolvedPath): Promise<Buffer> {
  try {
    return await readWholeFile(place)
  } catch (error) {
    if (error instanceof PathError && error.code === 'not-found') return Buffer.alloc(0)
    throw error
  }
}
