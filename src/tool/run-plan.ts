import { messageOf } from '../util/errors.ts'
import type { ReadyPlan, RunContext, ToolResult } from './catalog-tool.ts'

/** Calls of one step run at most this many at once. */
export const CALLS_AT_ONCE = 4

/**
 * Runs `task` for each item, at most CALLS_AT_ONCE at a time, begun in their order. `task` must not reject but for what
 * ends the turn: the first rejection is passed on when all that had begun are over, and nothing new begins after it.
 */
export async function forEachLimit<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  let failed: { error: unknown } | undefined
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const item = items[next++] as T
      try {
        await task(item)
      } catch (error) {
        failed ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, items.length) }, worker))
  if (failed) throw failed.error
}

/** A result whatever happens, but for an abort, whose reason is passed on. */
export async function runPlan(plan: ReadyPlan, context: RunContext): Promise<ToolResult> {
  try {
    return await plan.run(context)
  } catch (error) {
    context.signal.throwIfAborted()
    return failure(`The tool failed: ${messageOf(error)}`)
  }
}

export function failure(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

export function success(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: false }
}
