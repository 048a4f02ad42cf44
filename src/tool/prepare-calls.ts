import { setImmediate } from 'node:timers/promises'
import type { ToolCall } from '../model/message.ts'
import { messageOf } from '../util/errors.ts'
import { REDACTED, type Redactor } from '../util/redact.ts'
import { oneLine } from '../util/visible.ts'
import { parseArguments } from './arguments.ts'
import type { CallEffects, EarlierCalls, InvalidPlan, PlanScope, ToolPlan } from './catalog-tool.ts'
import type { ToolSnapshot } from './tool-catalog.ts'

const HOLDS_SECRET =
  `Nothing was run: the arguments contain a secret, or ${REDACTED} in place of one. ` +
  'Secrets cannot be passed through tool calls. Let the program read them from its own configuration.'

/** Arguments that are longer are worked on in pieces of a turn of the event loop each. */
const LARGE_CHARS = 64 * 1024

export interface PreparedCall {
  readonly call: ToolCall
  readonly plan: ToolPlan
}

export interface Preparation {
  readonly tools: ToolSnapshot
  readonly redactor: Redactor
  readonly scope: Omit<PlanScope, 'earlier'>
  /** False where the answer with the calls was cut off. */
  readonly whole: boolean
}

/**
 * A plan for each call, in the model's order, each for the world as the calls before it leave it. Nothing has run; a
 * planner that throws fails only its own call.
 */
export async function prepareCalls(
  calls: readonly ToolCall[],
  preparation: Preparation,
): Promise<readonly PreparedCall[]> {
  const prepared: PreparedCall[] = []
  const reads = new Set<string>()
  const writes = new Map<string, NonNullable<CallEffects['writes']>>()
  const earlier: EarlierCalls = {
    reads: (path) => reads.has(path),
    contentOf: async (path) => writes.get(path)?.content(),
    knows: (path) => writes.get(path)?.known === true,
  }
  for (const call of calls) {
    const plan = await prepare(call, preparation, earlier)
    prepared.push({ call, plan })
    if (plan.kind !== 'ready') continue
    for (const path of plan.effects?.reads ?? []) {
      reads.add(path)
      const write = writes.get(path)
      if (write) writes.set(path, { ...write, known: true })
    }
    if (plan.effects?.writes) writes.set(plan.effects.writes.path, plan.effects.writes)
  }
  return prepared
}

async function prepare(
  call: ToolCall,
  { tools, redactor, scope, whole }: Preparation,
  earlier: EarlierCalls,
): Promise<ToolPlan> {
  const name = call.name.trim()
  const tool = tools.get(name)
  if (!tool) {
    return invalid(`There is no tool named "${oneLine(name, 100)}". Available tools: ${[...tools.names].join(', ')}.`)
  }
  if (call.arguments.includes(REDACTED) || redactor.containsSecret(call.arguments)) return invalid(HOLDS_SECRET)
  const pause = (): Promise<void> | undefined => (call.arguments.length > LARGE_CHARS ? setImmediate() : undefined)
  await pause()
  const parsed = parseArguments(call.arguments, tool.primaryKey, whole)
  if (!parsed.ok) return invalid(parsed.error)
  await pause()
  // JSON escapes may hide one in the text.
  if (someText(parsed.args, (t) => t.includes(REDACTED) || redactor.containsSecret(t))) return invalid(HOLDS_SECRET)
  await pause()
  const checked = tools.check(tool, parsed.args)
  if (!checked.ok) return invalid(checked.error)
  try {
    return await tool.plan(checked.args, { ...scope, earlier })
  } catch (error) {
    return invalid(`The call could not be prepared: ${redactor.redact(messageOf(error))}`)
  }
}

function someText(value: unknown, test: (text: string) => boolean): boolean {
  if (typeof value === 'string') return test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, v]) => test(key) || someText(v, test))
}

function invalid(error: string): InvalidPlan {
  return { kind: 'invalid', header: 'not a valid call', error }
}
