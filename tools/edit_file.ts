import type { Locks } from '../src/jobs/locks.ts'
import type { CatalogTool, PlanScope, ReadyPlan, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import type { Clock } from '../src/util/time.ts'
import { readWholeFile, scanFile, writeWholeFile } from '../src/workspace/files.ts'
import { type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import file from './edit_file.json' with { type: 'json' }
import type { Edit } from './support/edits.ts'
import type { EditedFile } from './support/heavy-jobs.ts'
import {
  changedMeanwhile,
  characters,
  checkUnmoved,
  fileLock,
  invalid,
  NOT_VALID,
  observed,
  pathAct,
  planned,
} from './support/plans.ts'
import { HeavyJobError, runHeavy } from './support/run-heavy.ts'

interface Args {
  readonly path: string
  readonly old_string?: string
  readonly new_string?: string
  readonly near_line?: number
  readonly replace_all?: boolean
  readonly edits?: readonly Edit[]
}

/** A change that is longer cannot be read by who approves it, characters. */
const MAX_SHOWN_CHARS = 512 * 1024

type Change = NonNullable<EditedFile['change']>

export interface EditFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
  readonly runAs: RunAs | undefined
  readonly clock: Clock
  readonly locks: Locks
}

/** Exact replacements in a file that was read and has not changed since. */
export function createEditFileTool({ ownPaths, runAs, clock, locks }: EditFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const wrong = shapeFault(args)
      if (wrong) return invalid(NOT_VALID, `Error: ${wrong}`)
      const rules = { root: scope.root, ownPaths }
      const place = await resolvePath(args.path, rules)
      const edited = await edit({ args, place, scope, clock })
      if ('error' in edited) return invalid(place.shown, `Error: ${edited.error}`)
      if (edited.change.diff.length > MAX_SHOWN_CHARS) return invalid(place.shown, `Error: ${TOO_LARGE}`)
      const job = { args, place, rules, scope, runAs, edited }
      return readyPlan(job, (run) => locks.run(fileLock(place), run))
    }),
  )
}

const TOO_LARGE =
  'The change is too large to be shown to the person who approves it. Make several smaller edits, or use bash.'

interface Edited {
  /** Hash of the content before. */
  readonly before: string
  readonly change: Change
}

interface EditJob {
  readonly args: Args
  readonly place: ResolvedPath
  readonly rules: PathRules
  readonly scope: PlanScope
  readonly runAs: RunAs | undefined
  readonly edited: Edited
}

/** The file with its edits made, or what is wrong: for the model. */
async function edit({
  args,
  place,
  scope,
  clock,
}: Pick<EditJob, 'args' | 'place' | 'scope'> & { clock: Clock }): Promise<Edited | { readonly error: string }> {
  const edits = editsOf(args).map(([e]) => e)
  const written = await scope.earlier.contentOf(place.path)
  // A copy: the worker takes its bytes away.
  const bytes = written ? new Uint8Array(written) : await readWholeFile(place)
  try {
    const { shown } = place
    const found = await runHeavy({ kind: 'edit', shown, bytes, edits, all: args.replace_all === true }, clock)
    const { before, fault, change, error = '' } = found
    if (fault === 'binary') return { error: `${shown} is a binary file.` }
    if (fault === 'not-utf8') return { error: `${shown} is not valid UTF-8. Edit it with bash.` }
    const known = (written ? scope.earlier.knows(place.path) : scope.earlier.reads(place.path))
      ? before
      : await scope.files.hashOf(place.path)
    if (known === undefined) return { error: `${shown} must be read with read_file or diff_file before you edit it.` }
    if (known !== before) return { error: `${shown} has changed since you read it. Read it again.` }
    return change ? { before, change } : { error }
  } catch (error) {
    if (error instanceof HeavyJobError)
      return { error: `The edits of ${place.shown} take too long. Make fewer at once.` }
    throw error
  }
}

function readyPlan(job: EditJob, locked: (run: () => Promise<ToolResult>) => Promise<ToolResult>): ReadyPlan {
  const { place, args } = job
  const { before, change } = job.edited
  return {
    kind: 'ready',
    header: `${place.shown} (${summaryOf(args, change)})`,
    payload: { filename: 'change.diff', text: change.diff },
    needsApproval: true,
    label: 'edit_file',
    acts: [{ act: 'exec', label: 'edit_file', name: 'edit_file' }, pathAct('write', place)],
    ...(place.linked ? { warning: `the path is a symlink to ${place.path}` } : {}),
    fingerprint: JSON.stringify([place.path, before, change.hash]),
    effects: { writes: { path: place.path, content: async () => change.bytes, known: true } },
    run: (context) => observed(() => locked(() => run(job, context))),
  }
}

function shapeFault(args: Args): string | undefined {
  const batch = args.edits !== undefined && args.edits.length > 0
  if (batch && (args.old_string !== undefined || args.new_string !== undefined)) {
    return 'Give either old_string and new_string, or edits, not both.'
  }
  if (batch && args.replace_all) return 'replace_all cannot be combined with edits.'
  if (args.replace_all && args.near_line !== undefined) return 'replace_all cannot be combined with near_line.'
  for (const [edit, name] of editsOf(args)) {
    if (!edit.old_string) return `${name}old_string is missing.`
    if (edit.old_string === edit.new_string) return `${name}old_string and new_string are the same.`
  }
  return undefined
}

function editsOf(args: Args): readonly (readonly [Edit, string])[] {
  if (args.edits !== undefined && args.edits.length > 0) return args.edits.map((e, i) => [e, `edits[${i}]: `])
  const { old_string = '', new_string = '', near_line } = args
  return [[{ old_string, new_string, ...(near_line === undefined ? {} : { near_line }) }, '']]
}

function summaryOf(args: Args, { count }: Change): string {
  const what = count === 1 ? '1 replacement' : `${count} replacements`
  const edits = args.replace_all ? [] : editsOf(args)
  const removed = edits.reduce((n, [e]) => n + (e.new_string === '' ? e.old_string.length : 0), 0)
  return removed > 0 ? `${what}, ${characters(removed)} removed` : what
}

/** Writes what was planned, or nothing: the file must be what the plan was made for. */
async function run({ args, place, rules, scope, runAs, edited }: EditJob, { signal }: RunContext): Promise<ToolResult> {
  const { before, change } = edited
  await checkUnmoved(args.path, place, rules)
  const now = await scanFile(place)
  signal.throwIfAborted()
  if (now !== before) return failure(`Error: ${changedMeanwhile(place)}`)
  if ((await scope.files.hashOf(place.path)) !== before) {
    return failure(
      `Error: ${place.shown} must be read with read_file or diff_file before you edit it. Nothing was changed.`,
    )
  }
  await writeWholeFile(place, change.bytes, runAs)
  scope.files.markRead(place.path, change.hash)
  return success(`Edited ${place.shown}: ${summaryOf(args, change)}.`)
}
