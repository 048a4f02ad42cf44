import { isWithin } from '../workspace/paths.ts'
import type { ReadyPlan } from './catalog-tool.ts'

/**
 * Whether two calls of a step must run one after the other: one writes what the other touches. A call that needs
 * approval and names no path, such as a script, may touch anything.
 */
export function conflict(a: ReadyPlan, b: ReadyPlan): boolean {
  const [ofA, ofB] = [pathsOf(a), pathsOf(b)]
  const anything = (plan: ReadyPlan, paths: readonly unknown[]): boolean => paths.length === 0 && plan.needsApproval
  if (anything(a, ofA) || anything(b, ofB))
    return (ofA.length > 0 || anything(a, ofA)) && (ofB.length > 0 || anything(b, ofB))
  return ofA.some((x) => ofB.some((y) => (x.write || y.write) && overlap(x.path, y.path)))
}

function pathsOf({ acts }: ReadyPlan): { path: string; write: boolean }[] {
  return acts.flatMap((act) =>
    act.act === 'read' || act.act === 'write' ? [{ path: act.path, write: act.act === 'write' }] : [],
  )
}

function overlap(a: string, b: string): boolean {
  return isWithin(a, b) || isWithin(b, a)
}
