import { createHash } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'

/** The longest that the event loop may stand still, ms, on a machine as fast as the one it was set on. */
const LIMIT_MS = 50
/** What the calibration takes there, ms. */
const REFERENCE_MS = 25
/** However slow the machine is, a stop of 300 ms stays one. */
const MAX_FACTOR = 4
/** A stop over the limit is measured again: what the code causes comes back, what the machine causes does not. */
const TRIES = 3

export interface Stop {
  readonly ms: number
  readonly limit: number
  readonly ok: boolean
}

/** The longest stop of the event loop while `work` runs, ms. */
export async function longestStop(work: () => unknown): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // The monitor has to tick once before and once after, or it sees nothing.
  await wait(5)
  delays.reset()
  await wait(5)
  await work()
  await wait(5)
  delays.disable()
  return delays.max / 1e6
}

/** Runs `make`'s work until it keeps to the limit, at most three times; the limit grows with the machine's load. */
export async function measure(make: () => Promise<() => unknown> | (() => unknown)): Promise<Stop> {
  let best: Stop = { ms: Number.POSITIVE_INFINITY, limit: 0, ok: false }
  for (let n = 0; n < TRIES && !best.ok; n++) {
    const work = await make()
    const before = calibrate()
    const ms = await longestStop(work)
    const factor = Math.min(MAX_FACTOR, Math.max(1, before / REFERENCE_MS, calibrate() / REFERENCE_MS))
    const limit = LIMIT_MS * factor
    if (ms < best.ms) best = { ms, limit, ok: ms <= limit }
  }
  return best
}

/** A fixed piece of work of about 25 ms, in ms. */
function calibrate(): number {
  const start = performance.now()
  let digest = Buffer.alloc(64)
  for (let n = 0; n < 9000; n++) digest = createHash('sha256').update(digest).digest()
  return performance.now() - start
}

/** Keeps the event loop from everything else for so long. */
export function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
