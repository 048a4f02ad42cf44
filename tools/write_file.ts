import type { Locks } from '../src/jobs/locks.ts'
import type { CatalogTool, PlanScope, ReadyPlan, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, readWholeFile, scanFile, writeWholeFile } from '../src/workspace/files.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import { changedMeanwhile, characters, checkUnmoved, fileLock, observed, pathAct, planned } from './support/plans.ts'
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
      const known = written ? scope.earlier.knows(place.path) : (await scope.files.hashOf(place.path)) === before
      return readyPlan({ args, place, rules, scope, deps, before, written, known })
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
  /** The model knows the whole content before. */
  readonly known: boolean
}

function readyPlan(job: WriteJob): ReadyPlan {
  const { args, place, before, known } = job
  const append = args.mode === 'append'
  // A read of the same step does not count: its result came after this call was written.
  const read = known
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
    header: `${verb} ${place.shown} (${characters(args.content.length)})`,
    payload: { filename: 'content.txt', text: args.content },
    needsApproval: true,
    label,
    acts: [{ act: 'exec', label, name: 'write_file' }, pathAct('write', place)],
    ...(warnings.length > 0 ? { warning: warnings.join('; ') } : {}),
    fingerprint: JSON.stringify([place.path, append, sha256(args.content), of ?? null]),
    effects: {
      writes: {
        path: place.path,
        content: () => contentAfter(job),
        known: !append || before === undefined || known || job.scope.earlier.reads(place.path),
      },
    },
    run: (context) => observed(() => job.deps.locks.run(fileLock(place), () => run(job, context))),
  }
}

/** What the file will hold, as seen from the plan. */
async function contentAfter({ args, place, written }: WriteJob): Promise<Buffer> {
  const added = Buffer.from(args.content)
  if (args.mode !== 'append') return added
  return Buffer.concat([written ?? (await existing(place)), added])
}

async function run(job: WriteJob, { signal }: RunContext): Promise<ToolResult> {
  const { args, place, rules, scope, deps, before } = job
  await checkUnmoved(args.path, place, rules)
  const append = args.mode === 'append'
  if (!append && (await hashNow(place)) !== before) return failure(`Error: ${changedMeanwhile(place)}`)
  const added = Buffer.from(args.content)
  const old = append ? await existing(place) : Buffer.alloc(0)
  const content = append ? Buffer.concat([old, added]) : added
  signal.throwIfAborted()
  await writeWholeFile(place, content, deps.runAs)
  // Of a file that was not read the model knows only what it added.
  if (!append || old.length === 0 || (await scope.files.hashOf(place.path)) === (await hashOf(old)))
    scope.files.markRead(place.path, await hashOf(content))
  return success(`${append ? 'Appended' : 'Wrote'} ${characters(args.content.length)} to ${place.shown}.`)
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
