import type { CatalogTool, PlanScope, ReadyPlan, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, isBinary, readWholeFile, writeWholeFile } from '../src/workspace/files.ts'
import { type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import file from './edit_file.json' with { type: 'json' }
import { changeDiff } from './support/change-diff.ts'
import { applyEdits, type Edit, EditError, replaceAll } from './support/edits.ts'
import { checkUnmoved, invalid, NOT_VALID, observed, pathAct, planned } from './support/plans.ts'

interface Args {
  readonly path: string
  readonly old_string?: string
  readonly new_string?: string
  readonly near_line?: number
  readonly replace_all?: boolean
  readonly edits?: readonly Edit[]
}

interface Change {
  readonly text: string
  readonly summary: string
}

export interface EditFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
  readonly runAs: RunAs | undefined
}

/** Exact replacements in a file that was read and has not changed since. */
export function createEditFileTool({ ownPaths, runAs }: EditFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const wrong = shapeFault(args)
      if (wrong) return invalid(NOT_VALID, `Error: ${wrong}`)
      const rules = { root: scope.root, ownPaths }
      const place = await resolvePath(args.path, rules)
      const header = place.shown
      const before = await readWholeFile(place)
      const guard = readGuard(before, place, scope)
      if (guard) return invalid(header, `Error: ${guard}`)
      try {
        return await readyPlan({ args, place, rules, before, scope, runAs, change: changeOf(before, args) })
      } catch (error) {
        if (error instanceof EditError) return invalid(header, `Error: ${error.message}`)
        throw error
      }
    }),
  )
}

interface EditJob {
  readonly args: Args
  readonly place: ResolvedPath
  readonly rules: PathRules
  readonly scope: PlanScope
  readonly runAs: RunAs | undefined
}

async function readyPlan(job: EditJob & { before: Buffer; change: Change }): Promise<ReadyPlan> {
  const { place, before, change } = job
  const diff = changeDiff(place.shown, before.toString('utf8'), change.text)
  return {
    kind: 'ready',
    header: `${place.shown} (${change.summary})`,
    payload: { filename: 'change.diff', text: diff },
    needsApproval: true,
    label: 'edit_file',
    acts: [{ act: 'exec', label: 'edit_file', name: 'edit_file' }, pathAct('write', place)],
    ...(place.linked ? { warning: `the path is a symlink to ${place.path}` } : {}),
    fingerprint: JSON.stringify([place.path, hashOf(before), sha256(change.text)]),
    run: () => observed(() => run(job)),
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

function readGuard(before: Buffer, place: ResolvedPath, scope: PlanScope): string | undefined {
  if (isBinary(before)) return `${place.shown} is a binary file.`
  if (!isExactUtf8(before)) return `${place.shown} is not valid UTF-8. Edit it with bash.`
  const known = scope.files.hashOf(place.path)
  if (known === undefined) return `${place.shown} must be read with read_file or diff_file before you edit it.`
  if (known !== hashOf(before)) return `${place.shown} has changed since you read it. Read it again.`
  return undefined
}

/** Otherwise writing it back would change bytes that no edit names. */
function isExactUtf8(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}

function changeOf(before: Buffer, args: Args): Change {
  const text = before.toString('utf8')
  const edits = editsOf(args)
  if (args.replace_all) {
    const [only] = edits
    const done = replaceAll(text, only?.[0] ?? { old_string: '', new_string: '' })
    return { text: done.text, summary: done.count === 1 ? '1 replacement' : `${done.count} replacements` }
  }
  const done = applyEdits(
    text,
    edits.map(([e]) => e),
    edits.length > 1,
  )
  const removed = edits.reduce((n, [e]) => n + (e.new_string === '' ? e.old_string.length : 0), 0)
  const what = edits.length === 1 ? '1 replacement' : `${edits.length} replacements`
  return { text: done, summary: removed > 0 ? `${what}, ${removed} characters removed` : what }
}

async function run({ args, place, rules, scope, runAs }: EditJob): Promise<ToolResult> {
  await checkUnmoved(args.path, place, rules)
  const before = await readWholeFile(place)
  const guard = readGuard(before, place, scope)
  if (guard) return failure(`Error: ${guard} Nothing was changed.`)
  try {
    const change = changeOf(before, args)
    await writeWholeFile(place, change.text, runAs)
    scope.files.markRead(place.path, sha256(change.text))
    return success(`Edited ${place.shown}: ${change.summary}.`)
  } catch (error) {
    if (error instanceof EditError) return failure(`Error: The file has changed. ${error.message}`)
    throw error
  }
}
