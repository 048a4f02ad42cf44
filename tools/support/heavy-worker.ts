import { parentPort, workerData } from 'node:worker_threads'
import { buffersOf, doHeavyJob, type HeavyJob } from './heavy-jobs.ts'

// One job for each worker: it is ended by force where it takes too long.
const result = doHeavyJob(workerData as HeavyJob)
parentPort?.postMessage(result, buffersOf(typeof result === 'object' ? [result.change?.bytes] : []))
