import type { Kysely } from 'kysely'
import * as initial from './001-initial.ts'
import * as platformsAndKinds from './002-platforms-and-kinds.ts'
import * as growth from './003-growth.ts'

/** Forwards only, in this order; the schema's version is how many have run. Never change one that was released. */
export const migrations: readonly { up(db: Kysely<unknown>): Promise<void> }[] = [initial, platformsAndKinds, growth]
