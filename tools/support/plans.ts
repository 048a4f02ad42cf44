import type { Act, InvalidPlan, ToolPlan, ToolResult } from '../../src/tool/catalog-tool.ts'
import { failure } from '../../src/tool/run-plan.ts'
import { PathError, type PathRules, type ResolvedPath, resolvePath } from '../../src/workspace/paths.ts'

/** What a tool's line says of a call that could not even be planned. */
export const NOT_VALID = 'not a valid call'

export function invalid(header: string, error: string): InvalidPlan {
  return { kind: 'invalid', header, error }
}

/** A plan, or what is wrong with its paths. Other errors are passed on. */
export async function planned(make: () => Promise<ToolPlan>): Promise<ToolPlan> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof PathError) return invalid(NOT_VALID, `Error: ${error.message}`)
    throw error
  }
}

/** A result, or the path's fault as one. Other errors are passed on. */
export async function observed(run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof PathError) return failure(`Error: ${error.message}`)
    throw error
  }
}

export function pathAct(act: 'read' | 'write', { path, zone }: ResolvedPath): Act {
  return { act, path, zone }
}

/** Throws PathError 'changed' where the path leads elsewhere than when it was planned. */
export async function checkUnmoved(raw: string, planned: ResolvedPath, rules: PathRules): Promise<void> {
  const now = await resolvePath(raw, rules)
  if (now.path !== planned.path) {
    throw new PathError('changed', `${raw} now points to a different file than before. Nothing was done.`)
  }
}

/** Reading, checking and writing one file is one piece of work, in whatever workstream. */
export function fileLock({ path }: ResolvedPath): string {
  return `file:${path}`
}

/** `1 character`, `2 characters`. */
export function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`
}

/** For the model: the file is not what the call was planned, and perhaps approved, for. */
export function changedMeanwhile({ shown }: ResolvedPath): string {
  return `${shown} has changed since this call was planned. Nothing was changed. Read it again and repeat the call.`
}
