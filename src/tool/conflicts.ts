import { isWithin } from '../workspace/paths.ts'
import type { ReadyPlan } from './catalog-tool.ts'

/**
 * Whether two calls of a step must run one after the other: one writes what the other touches. A call that needs
 * approval and names no path may touch anything: it keeps its order with those that name one, not with its like.
 */
export function conflict(a: ReadyPlan, b: ReadyPlan): boolean {
  const [ofA, ofB] = [pathsOf(a), pathsOf(b)]
  if (ofA.length === 0 || ofB.length === 0)
    return ofA.length + ofB.length > 0 && reachesAnything(ofA.length === 0 ? a : b)
  return ofA.some((x) => ofB.some((y) => (x.write || y.write) && overlap(x.path, y.path)))
}

function pathsOf({ acts }: ReadyPlan): { path: string; write: boolean }[] {
  return acts.flatMap((act) =>
    act.act === 'read' || act.act === 'write' ? [{ path: act.path, write: act.act === 'write' }] : [],
  )
}

function reachesAnything({ needsApproval }: ReadyPlan): boolean {
  return needsApproval
}

function overlap(a: string, b: string): boolean {
  return isWithin(a, b) || isWithin(b, a)
}
