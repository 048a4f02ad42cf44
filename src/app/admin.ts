import { PLATFORMS, USER_ID } from '../config/config.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'
import { WAS_REMOVED, WAS_UNLINKED } from '../copy/commands.ts'
import { rejectCardsOf } from '../gateway/cards/reject-cards.ts'
import { Identities } from '../identity/identities.ts'
import { createLocalJobs } from '../jobs/local-jobs.ts'
import { openStore, type Store } from '../store/store.ts'
import { TurnstoneError } from '../util/errors.ts'
import { createLog } from '../util/log.ts'
import { createRedactor } from '../util/redact.ts'
import { systemClock } from '../util/time.ts'

/** Recorded as who did it. */
const ACTOR = 'turnstone admin'

interface Opened {
  readonly store: Store
  readonly identities: Identities
}

/** On the gateway's database, beside a running gateway, which sees the change within a second. */
async function withStore(flags: Flags, work: (desk: Opened) => Promise<void>): Promise<void> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  const store = await openStore(config.databaseFile)
  try {
    await work({ store, identities: new Identities(store, systemClock, config.users) })
  } finally {
    await store.close()
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function userAdd(flags: Flags, name: string, role: 'admin' | 'member'): Promise<void> {
  return withStore(flags, async ({ identities }) => {
    await identities.addUser(name, role, ACTOR)
    print(`added ${name} (${role})`)
  })
}

export function userList(flags: Flags): Promise<void> {
  return withStore(flags, async ({ identities }) => {
    const users = await identities.list()
    if (users.length === 0) print('no users')
    for (const { name, role, fixed, links } of users) {
      const linked = links.map((l) => `${l.platform}:${l.externalId}`).join(' ')
      print([name, role, fixed ? 'config.toml' : 'database', linked || '(no links)'].join('\t'))
    }
  })
}

export function userRemove(flags: Flags, name: string): Promise<void> {
  return withStore(flags, async ({ store, identities }) => {
    await identities.removeUser(name, ACTOR)
    await refuseOpenCards(store, name, WAS_REMOVED(name))
    print(`removed ${name}`)
  })
}

export function tokenCreate(flags: Flags, name: string): Promise<void> {
  return withStore(flags, async ({ identities }) => {
    const { id, token } = await identities.createToken(name, ACTOR)
    process.stderr.write(`token ${id} of ${name}; it is shown this once\n`)
    print(token)
  })
}

export function tokenRevoke(flags: Flags, nameOrId: string): Promise<void> {
  return withStore(flags, async ({ identities }) => {
    print(`revoked ${await identities.revokeTokens(nameOrId, ACTOR)} token(s)`)
  })
}

export function link(flags: Flags, name: string, channel: string, id: string): Promise<void> {
  return withStore(flags, async ({ identities }) => {
    const to = platformOf(channel)
    if (!USER_ID[to].test(id)) throw new TurnstoneError('refused', `${id}: that is not a ${channel} user id`)
    await identities.link(name, to, id, ACTOR)
    print(`linked ${channel} ${id} to ${name}`)
  })
}

export function unlink(flags: Flags, name: string, channel: string, id: string): Promise<void> {
  return withStore(flags, async ({ store, identities }) => {
    await identities.unlink(name, platformOf(channel), id, ACTOR)
    await refuseOpenCards(store, name, WAS_UNLINKED(name))
    print(`unlinked ${channel} ${id} from ${name}`)
  })
}

function platformOf(name: string): (typeof PLATFORMS)[number] {
  const known = PLATFORMS.find((p) => p === name)
  if (known) return known
  throw new TurnstoneError('refused', `${name}: the platform is discord or slack`)
}

/** The jobs are rows: a running gateway finds them, or the next one that starts. */
async function refuseOpenCards(store: Store, name: string, why: string): Promise<void> {
  const queue = createLocalJobs(store, systemClock, createLog('silent', createRedactor()))
  await rejectCardsOf({ store, clock: systemClock, queue }, name, why)
}
