import { type Clock, sleep } from '../../src/util/time.ts'

/** Latest time of an acknowledgement, ms: Slack and Discord give an interaction up after 3 s. */
const LATEST_MS = 2000

/**
 * Acknowledges what was committed, so that a crash in between shows the person a failure instead of losing the press.
 * Work that takes longer is acknowledged before it is done. Rejects with what the work rejects with, else with what the
 * acknowledgement does; neither is begun twice.
 */
export async function commitThenAcknowledge<T>(
  clock: Clock,
  work: () => Promise<T>,
  acknowledge: () => Promise<void>,
): Promise<T> {
  const late = new AbortController()
  const working = work()
  const over = working.then(
    () => undefined,
    () => undefined,
  )
  await Promise.race([over, sleep(clock, LATEST_MS, late.signal).catch(() => undefined)])
  late.abort()
  const acknowledged = acknowledge()
  acknowledged.catch(() => undefined)
  const result = await working.catch(async (error: unknown) => {
    await acknowledged.catch(() => undefined)
    throw error
  })
  await acknowledged
  return result
}
