import type { Locks } from '../jobs/locks.ts'
import type { Log } from '../util/log.ts'
import type { Clock } from '../util/time.ts'
import type { CommandSpec } from './command-spec.ts'

/** What every adapter is made with, beside its own configuration and tokens. */
export interface AdapterDeps {
  readonly clock: Clock
  readonly log: Log
  readonly locks: Locks
  /** To be offered on the platform. */
  readonly commands: readonly CommandSpec[]
}
