import type { Act, InvalidPlan, PlanScope, ToolPlan, ToolResult } from '../../src/tool/catalog-tool.ts'
import { failure } from '../../src/tool/execute-calls.ts'
import { locate, PathFault, type Place } from './file-access.ts'
import type { ToolSettings } from './settings.ts'

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
    if (error instanceof PathFault) return invalid(NOT_VALID, `Error: ${error.message}`)
    throw error
  }
}

/** A result, or the path's fault as one. Other errors are passed on. */
export async function observed(run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof PathFault) return failure(`Error: ${error.message}`)
    throw error
  }
}

export function pathAct(act: 'read' | 'write', { path, zone }: Place): Act {
  return { act, path, zone }
}

/** Throws PathFault where the path leads elsewhere than when it was planned. */
export async function stillAt(raw: string, place: Place, scope: PlanScope, settings: ToolSettings): Promise<void> {
  const now = await locate(raw, scope, settings)
  if (now.path !== place.path) throw new PathFault(`${raw} leads elsewhere than when it was planned; nothing was done`)
}
