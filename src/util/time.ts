/** Time as the product sees it. Everything that waits takes a Clock, so that a test drives it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Calls `run` once after `ms`; the returned function cancels it. A timer does not keep the process alive. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    // Above 2^31-1 ms Node fires at once; such a timer is re-armed in pieces.
    const longest = 2_147_000_000
    let timer: NodeJS.Timeout
    const arm = (left: number): void => {
      timer = setTimeout(() => (left > longest ? arm(left - longest) : run()), Math.min(Math.max(left, 0), longest))
      timer.unref()
    }
    arm(ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const PARTS =
  /^(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/

/**
 * A duration in milliseconds: `<number>d|h|m|s|ms` parts in falling order ("1h30m"), or seconds as a number or a
 * plain numeric string. Undefined where the text is neither, is negative or is not finite.
 */
export function parseDuration(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value * 1000 : undefined
  const text = value.trim().toLowerCase()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const found = text.replace(/\s+/g, '').match(PARTS)
  if (!text || !found) return undefined
  const factors = [UNITS.d, UNITS.h, UNITS.m, UNITS.s, UNITS.ms]
  return factors.reduce((sum, factor, i) => sum + Number(found[i + 1] ?? 0) * factor, 0)
}
