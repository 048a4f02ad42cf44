import { Worker } from 'node:worker_threads'
import type { Clock } from '../../src/util/time.ts'
import { buffersOf, doHeavyJob, type HeavyJob, type HeavyResults } from './heavy-jobs.ts'

/** How long a job may take, ms. */
const DEADLINE_MS = 5000
/** Memory of one job, MB. */
const MAX_HEAP_MB = 512
/** Jobs in work at once; the others wait in line. */
const AT_ONCE = 2
/** A job with less text and fewer lines than this is done at once: a worker takes longer to start. */
const SMALL_CHARS = 16 * 1024
const SMALL_LINES = 200

/** A job was ended because it took too long or too much memory. */
export class HeavyJobError extends Error {
  readonly code = 'too-heavy'
  constructor() {
    super('This took too long.')
    this.name = 'HeavyJobError'
  }
}

let running = 0
const waiting: (() => void)[] = []

/** The job's result, worked out beside the event loop; its bytes are gone afterwards. Rejects with HeavyJobError where it cannot be done in time. */
export async function runHeavy<K extends HeavyJob['kind']>(
  job: Extract<HeavyJob, { kind: K }>,
  clock: Clock,
): Promise<HeavyResults[K]> {
  if (isSmall(job)) return doHeavyJob(job) as HeavyResults[K]
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return (await inWorker(job, clock)) as HeavyResults[K]
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

function isSmall(job: HeavyJob): boolean {
  const texts = job.kind === 'edit' ? [job.bytes] : [job.old, job.new]
  const edits = job.kind === 'edit' ? job.edits.reduce((n, e) => n + e.old_string.length + e.new_string.length, 0) : 0
  if (texts.reduce((n, bytes) => n + bytes.length, edits) > SMALL_CHARS) return false
  return (
    texts.reduce((n, bytes) => n + bytes.reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0), 0) <= SMALL_LINES
  )
}

function inWorker(job: HeavyJob, clock: Clock): Promise<unknown> {
  // The sources run as they are, or built: the worker's file ends as this one does.
  const file = new URL(`./heavy-worker${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url)
  const transferList = buffersOf(job.kind === 'edit' ? [job.bytes] : [job.old, job.new])
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB }
  const worker = new Worker(file, { workerData: job, transferList, resourceLimits })
  return new Promise<unknown>((resolve, reject) => {
    const stopWaiting = clock.after(DEADLINE_MS, () => reject(new HeavyJobError()))
    worker.once('message', resolve)
    worker.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new HeavyJobError() : error),
    )
    worker.once('exit', () => reject(new HeavyJobError()))
    worker.once('exit', stopWaiting)
  }).finally(() => worker.terminate())
}
