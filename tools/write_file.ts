import type { Locks } from '../src/jobs/locks.ts'
import type { CatalogTool, PlanScope, ReadyPlan, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, readWholeFile, scanFile, writeWholeFile } from '../src/workspace/files.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import { changedMeanwhile, checkUnmoved, fileLock, observed, pathAct, planned } from './support/plans.ts'
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
  readonly locks: Locks
}

/** Creates, replaces or appends; each of the three has its own approval label. */
export function createWriteFileTool(deps: WriteFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const rules = { root: scope.root, ownPaths: deps.ownPaths }
      const place = await resolvePath(args.path, rules)
      const written = await scope.earlier.contentOf(place.path)
      const before = written ? await hashOf(written) : place.exists ? await scanFile(place) : undefined
      return readyPlan({ args, place, rules, scope, deps, before, written })
    }),
  )
}

interface WriteJob {
  readonly args: Args
  readonly place: ResolvedPath
  readonly rules: PathRules
  readonly scope: PlanScope
  readonly deps: WriteFileDeps
  /** Hash of the content before; undefined where the file does not exist. */
  readonly before: string | undefined
  /** The content before, where an earlier call of this step writes it. */
  readonly written: Uint8Array | undefined
}

function readyPlan(job: WriteJob): ReadyPlan {
  const { args, place, scope, before, written } = job
  const append = args.mode === 'append'
  const read = written !== undefined || scope.earlier.reads(place.path) || scope.files.hashOf(place.path) === before
  const unread = before !== undefined && !read
  const label = append ? 'append_file' : unread ? 'overwrite_file' : 'write_file'
  const warnings = [
    ...(unread && !append ? ['replaces a file that the model has not read'] : []),
    ...(place.linked ? [`the path is a symlink to ${place.path}`] : []),
  ]
  const verb = append ? 'append to' : before === undefined ? 'create' : 'replace'
  // What is appended to may grow on: only the text that is added was shown.
  const of = append ? before === undefined : before
  return {
    kind: 'ready',
    header: `${verb} ${place.shown} (${args.content.length} characters)`,
    payload: { filename: 'content.txt', text: args.content },
    needsApproval: true,
    label,
    acts: [{ act: 'exec', label, name: 'write_file' }, pathAct('write', place)],
    ...(warnings.length > 0 ? { warning: warnings.join('; ') } : {}),
    fingerprint: JSON.stringify([place.path, append, sha256(args.content), of ?? null]),
    effects: { writes: { path: place.path, content: () => contentAfter(job) } },
    run: () => observed(() => job.deps.locks.run(fileLock(place), () => run(job))),
  }
}

/** What the file will hold, as seen from the plan. */
async function contentAfter({ args, place, written }: WriteJob): Promise<Buffer> {
  const added = Buffer.from(args.content)
  if (args.mode !== 'append') return added
  return Buffer.concat([written ?? (await existing(place)), added])
}

async function run({ args, place, rules, scope, deps, before }: WriteJob): Promise<ToolResult> {
  await checkUnmoved(args.path, place, rules)
  const append = args.mode === 'append'
  if (!append && (await hashNow(place)) !== before) return failure(`Error: ${changedMeanwhile(place)}`)
  const added = Buffer.from(args.content)
  const content = append ? Buffer.concat([await existing(place), added]) : added
  await writeWholeFile(place, content, deps.runAs)
  scope.files.markRead(place.path, await hashOf(content))
  return success(`${append ? 'Appended' : 'Wrote'} ${args.content.length} characters to ${place.shown}.`)
}

async function hashNow(place: ResolvedPath): Promise<string | undefined> {
  try {
    return await scanFile(place)
  } catch (error) {
    if (error instanceof PathError && error.code === 'not-found') return undefined
    throw error
  }
}

async function existing(place: ResolvedPath): Promise<Buffer> {
  try {
    return await readWholeFile(place)
  } catch (error) {
    if (error instanceof PathError && error.code === 'not-found') return Buffer.alloc(0)
    throw error
  }
}
