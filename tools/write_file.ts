import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, readWholeFile, writeWholeFile } from '../src/workspace/files.ts'
import { PathError, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import { observed, pathAct, planned, stillAt } from './support/plans.ts'
import type { ToolSettings } from './support/settings.ts'
import file from './write_file.json' with { type: 'json' }

interface Args {
  readonly path: string
  readonly content: string
  readonly mode?: 'overwrite' | 'append'
}

/** Creates, replaces or appends; each of the three has its own approval label. */
export function createWriteFileTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const place = await resolvePath(args.path, { root: scope.root, ownPaths: settings.ownPaths })
      const before = place.exists ? await readWholeFile(place) : undefined
      const append = args.mode === 'append'
      const unread = before !== undefined && scope.files.hashOf(place.path) !== hashOf(before)
      const label = append ? 'append_file' : unread ? 'overwrite_file' : 'write_file'
      const warnings = [
        ...(unread && !append ? ['replaces a file that was not read in this conversation'] : []),
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
        run: () => observed(() => run(args, place, scope, settings)),
      }
    }),
  )
}

async function run(args: Args, place: ResolvedPath, scope: PlanScope, settings: ToolSettings): Promise<ToolResult> {
  await stillAt(args.path, place, scope, settings)
  const added = Buffer.from(args.content)
  let content = added
  if (args.mode === 'append') content = Buffer.concat([await existing(place), added])
  await writeWholeFile(place, content, settings.runAs)
  scope.files.markRead(place.path, hashOf(content))
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
