import { messageOf } from '../util/errors.ts'
import type { Clock } from '../util/time.ts'
import type { ReadyPlan, RunContext, ToolResult } from './catalog-tool.ts'
import { DeadlineError, startDeadline } from './deadline.ts'

/** Calls of one step run at most this many at once. */
export const CALLS_AT_ONCE = 4

/**
 * Runs `task` for each item, at most `limit` at a time, started in their order. `task` may reject only for what
 * ends the turn: after the first rejection nothing new starts, and it is passed on when all that had started are over.
 */
export async function forEachLimit<T>(
  items: readonly T[],
  limit: number,
  task: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  let failed: { error: unknown } | undefined
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const index = next++
      try {
        await task(items[index] as T, index)
      } catch (error) {
        failed ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  if (failed) throw failed.error
}

/** A tool with a time limit of its own gets this much longer, ms: its own report of the timeout says more. */
const OWN_LIMIT_GRACE_MS = 10_000

export interface RunLimit {
  readonly clock: Clock
  /** For plans that name none of their own, ms. */
  readonly timeLimitMs: number
}

/**
 * A result whatever happens, within the time limit even from a tool that does not heed its signal. Rejects only with the
 * reason of the caller's signal.
 */
export async function runPlan(plan: ReadyPlan, context: RunContext, limit: RunLimit): Promise<ToolResult> {
  const own = plan.timeLimitMs
  const deadline = startDeadline(limit.clock, own === undefined ? limit.timeLimitMs : own + OWN_LIMIT_GRACE_MS)
  const signal = AbortSignal.any([context.signal, deadline.signal])
  const expired = new Promise<never>((_, reject) => {
    deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason), { once: true })
  })
  try {
    const ask: RunContext['ask'] = (question) => deadline.whileWaiting(context.ask(question))
    return await Promise.race([plan.run({ ...context, signal, ask }), expired])
  } catch (error) {
    context.signal.throwIfAborted()
    if (deadline.signal.reason instanceof DeadlineError) return timedOut(deadline.signal.reason)
    return failure(`The tool failed: ${messageOf(error)}`)
  } finally {
    deadline.cancel()
  }
}

function timedOut(reason: DeadlineError): ToolResult {
  return failure(`The tool was stopped: ${reason.message}. How much of the call took effect is unknown.`)
}

export function failure(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

export function success(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: false }
}
