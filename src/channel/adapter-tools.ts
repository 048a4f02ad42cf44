import type { Log } from '../util/log.ts'
import type { Clock } from '../util/time.ts'
import type { CommandSpec } from './command-spec.ts'
import type { PostLanes } from './post-once.ts'

/** What every adapter is made with, beside its own configuration and tokens. */
export interface AdapterTools {
  readonly clock: Clock
  readonly log: Log
  readonly lanes: PostLanes
  /** To be offered on the platform. */
  readonly commands: readonly CommandSpec[]
}
