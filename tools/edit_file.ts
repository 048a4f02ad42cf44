import { createTwoFilesPatch } from 'diff'
import type { CatalogTool, PlanScope, ReadyPlan, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { sha256 } from '../src/util/ids.ts'
import { hashOf, isBinary, readWholeFile, writeWholeFile } from '../src/workspace/files.ts'
import { type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './edit_file.json' with { type: 'json' }
import { applyEdits, type Edit, EditError, replaceAll } from './support/edits.ts'
import { invalid, NOT_VALID, observed, pathAct, planned, stillAt } from './support/plans.ts'
import type { ToolSettings } from './support/settings.ts'

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

/** Exact replacements in a file that was read and has not changed since. */
export function createEditFileTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const wrong = shapeFault(args)
      if (wrong) return invalid(NOT_VALID, `Error: ${wrong}`)
      const place = await resolvePath(args.path, { root: scope.root, ownPaths: settings.ownPaths })
      const header = place.shown
      const before = await readWholeFile(place)
      const guard = readGuard(before, place, scope)
      if (guard) return invalid(header, `Error: ${guard}`)
      try {
        return await readyPlan({ args, place, before, scope, settings, change: changeOf(before, args) })
      } catch (error) {
        if (error instanceof EditError) return invalid(header, `Error: ${error.message}`)
        throw error
      }
    }),
  )
}

async function readyPlan(of: {
  args: Args
  place: ResolvedPath
  before: Buffer
  scope: PlanScope
  settings: ToolSettings
  change: Change
}): Promise<ReadyPlan> {
  const { args, place, before, scope, settings, change } = of
  const diff = createTwoFilesPatch(
    place.shown,
    place.shown,
    before.toString('utf8'),
    change.text,
    undefined,
    undefined,
    {
      context: 3,
    },
  )
  return {
    kind: 'ready',
    header: `${place.shown} (${change.summary})`,
    payload: { filename: 'change.diff', text: diff },
    needsApproval: true,
    label: 'edit_file',
    acts: [{ act: 'exec', label: 'edit_file', name: 'edit_file' }, pathAct('write', place)],
    ...(place.linked ? { warning: `the path is a symlink to ${place.path}` } : {}),
    fingerprint: JSON.stringify([place.path, hashOf(before), sha256(change.text)]),
    run: () => observed(() => run(args, place, scope, settings)),
  }
}

function shapeFault(args: Args): string | undefined {
  const batch = args.edits !== undefined && args.edits.length > 0
  if (batch && (args.old_string !== undefined || args.new_string !== undefined)) {
    return 'give either old_string and new_string, or edits, not both'
  }
  if (batch && args.replace_all) return 'replace_all cannot be combined with edits'
  if (args.replace_all && args.near_line !== undefined) return 'replace_all cannot be combined with near_line'
  for (const [edit, name] of editsOf(args)) {
    if (!edit.old_string) return `${name}old_string is missing`
    if (edit.old_string === edit.new_string) return `${name}old_string and new_string are the same`
  }
  return undefined
}

function editsOf(args: Args): readonly (readonly [Edit, string])[] {
  if (args.edits !== undefined && args.edits.length > 0) return args.edits.map((e, i) => [e, `edits[${i}]: `])
  const { old_string = '', new_string = '', near_line } = args
  return [[{ old_string, new_string, ...(near_line === undefined ? {} : { near_line }) }, '']]
}

function readGuard(before: Buffer, place: ResolvedPath, scope: PlanScope): string | undefined {
  if (isBinary(before)) return `${place.shown} is a binary file`
  if (!isExactUtf8(before)) return `${place.shown} is not valid UTF-8; edit it with bash`
  const known = scope.files.hashOf(place.path)
  if (known === undefined) return `${place.shown} must be read with read_file or diff_file before it is edited`
  if (known !== hashOf(before)) return `${place.shown} has changed since it was read; read it again`
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
    return { text: done.text, summary: `all ${done.count} places` }
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

async function run(args: Args, place: ResolvedPath, scope: PlanScope, settings: ToolSettings): Promise<ToolResult> {
  await stillAt(args.path, place, scope, settings)
  const before = await readWholeFile(place)
  const guard = readGuard(before, place, scope)
  if (guard) return failure(`Error: ${guard}. Nothing was changed.`)
  try {
    const change = changeOf(before, args)
    await writeWholeFile(place, change.text, settings.runAs)
    scope.files.markRead(place.path, sha256(change.text))
    return success(`Edited ${place.shown}: ${change.summary}.`)
  } catch (error) {
    if (error instanceof EditError) return failure(`Error: the file has changed: ${error.message}`)
    throw error
  }
}
