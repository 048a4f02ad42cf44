import { parentPort, workerData } from 'node:worker_threads'
import { doHeavyJob, type HeavyJob } from './heavy-jobs.ts'

// One job for each worker: it is ended by force where it takes too long.
parentPort?.postMessage(doHeavyJob(workerData as HeavyJob))
