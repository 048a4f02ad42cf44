import type { Platform } from '../channel/channel-adapter.ts'
import { PLATFORMS, type UserConfig, userIdsOn } from '../config/config.ts'
import { USERS } from '../copy/cli.ts'
import { audit } from '../store/audit.ts'
import { isUniqueViolation, type Store } from '../store/store.ts'
import { TurnstoneError } from '../util/errors.ts'
import type { Clock } from '../util/time.ts'
import { deleteTokens, insertToken, revokeTokens, tokenUser } from './api-tokens.ts'
import { type Account, deleteLink, deleteLinks, insertLink, linkedUser, storedLinks } from './links.ts'
import { deleteUser, insertUser, type Role, storedUser, storedUsers, type User } from './users.ts'

export interface Link extends Account {
  readonly user: string
  /** From config.toml: a command cannot remove it. */
  readonly fixed: boolean
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/

/** Who is who: users of config.toml, which wins, and of the database. */
export class Identities {
  readonly #store: Store
  readonly #clock: Clock
  readonly #users: ReadonlyMap<string, UserConfig>

  constructor(store: Store, clock: Clock, users: Readonly<Record<string, UserConfig>>) {
    this.#store = store
    this.#clock = clock
    this.#users = new Map(Object.entries(users))
  }

  async userOf(platform: Platform, externalId: string): Promise<User | undefined> {
    for (const [name, user] of this.#users) {
      if (userIdsOn(user, platform).includes(externalId)) return { name, role: user.role }
    }
    const name = await linkedUser(this.#store.db, { platform, externalId })
    return name === undefined ? undefined : this.byName(name)
  }

  async byName(name: string): Promise<User | undefined> {
    const fixed = this.#users.get(name)
    return fixed ? { name, role: fixed.role } : storedUser(this.#store.db, name)
  }

  async list(): Promise<readonly (User & { links: readonly Link[]; fixed: boolean })[]> {
    const fixed = [...this.#users].map(([name, { role }]) => ({ name, role, fixed: true }))
    const stored = (await storedUsers(this.#store.db)).filter(({ name }) => !this.#users.has(name))
    const all = [...fixed, ...stored.map((user) => ({ ...user, fixed: false }))]
    return Promise.all(all.map(async (user) => ({ ...user, links: await this.linksOf(user.name) })))
  }

  async linksOf(user: string): Promise<readonly Link[]> {
    const fixed = PLATFORMS.flatMap((platform) =>
      userIdsOn(this.#users.get(user), platform).map((externalId) => ({ platform, externalId, user, fixed: true })),
    )
    const stored = await storedLinks(this.#store.db, user)
    return [...fixed, ...stored.map((account) => ({ ...account, user, fixed: false }))]
  }

  /** Throws TurnstoneError 'refused' where the name exists or has another form. */
  async addUser(name: string, role: Role, actor: string): Promise<void> {
    if (!NAME.test(name)) throw refused(USERS.badName(name))
    if (await this.byName(name)) throw refused(USERS.exists(name))
    const at = this.#clock.now()
    await this.#store.transaction(async (tx) => {
      await insertUser(tx.db, { name, role }, at)
      await audit(tx, { at, actor, action: 'user-add', detail: `${name} ${role}` })
    })
  }

  /** Removes the user with their links and tokens; of their workstreams only admins can decide then. */
  async removeUser(name: string, actor: string): Promise<void> {
    if (this.#users.has(name)) throw refused(USERS.inFile(name))
    if (!(await this.byName(name))) throw refused(USERS.unknown(name))
    const at = this.#clock.now()
    await this.#store.transaction(async (tx) => {
      await deleteUser(tx.db, name)
      await deleteLinks(tx.db, name)
      await deleteTokens(tx.db, name)
      await audit(tx, { at, actor, action: 'user-remove', detail: name })
    })
  }

  /** The only time that the token can be read. */
  async createToken(name: string, actor: string): Promise<{ id: string; token: string }> {
    if (!(await this.byName(name))) throw refused(USERS.unknown(name))
    const at = this.#clock.now()
    return this.#store.transaction(async (tx) => {
      const made = await insertToken(tx.db, name, at)
      await audit(tx, { at, actor, action: 'token-create', detail: `${name} ${made.id}` })
      return made
    })
  }

  /** One by its id, or all of a user by name. How many were revoked; throws TurnstoneError 'refused' where none was. */
  async revokeTokens(nameOrId: string, actor: string): Promise<number> {
    const at = this.#clock.now()
    const revoked = await this.#store.transaction(async (tx) => {
      const ids = await revokeTokens(tx.db, nameOrId, at)
      for (const id of ids) await audit(tx, { at, actor, action: 'token-revoke', detail: id })
      return ids.length
    })
    if (revoked === 0) throw refused(USERS.noToken(nameOrId))
    return revoked
  }

  /** The user whose live token this is. */
  async byToken(token: string): Promise<User | undefined> {
    const name = await tokenUser(this.#store.db, token)
    return name === undefined ? undefined : this.byName(name)
  }

  /** Throws TurnstoneError 'refused' where the account belongs to somebody or there is no such user. */
  async link(name: string, platform: Platform, externalId: string, actor: string): Promise<void> {
    if (!(await this.byName(name))) throw refused(USERS.unknown(name))
    const owner = await this.userOf(platform, externalId)
    if (owner) throw refused(USERS.linkedTo(platform, externalId, owner.name))
    const at = this.#clock.now()
    try {
      await this.#store.transaction(async (tx) => {
        await insertLink(tx.db, name, { platform, externalId }, at)
        await audit(tx, { at, actor, action: 'link', detail: `${name} ${platform} ${externalId}` })
      })
    } catch (error) {
      if (isUniqueViolation(error)) throw refused(USERS.linked(platform, externalId))
      throw error
    }
  }

  /** Throws TurnstoneError 'refused' where there is no such link, or config.toml has it. */
  async unlink(name: string, platform: Platform, externalId: string, actor: string): Promise<void> {
    if (userIdsOn(this.#users.get(name), platform).includes(externalId)) throw refused(USERS.linkInFile)
    const at = this.#clock.now()
    const gone = await this.#store.transaction(async (tx) => {
      if (!(await deleteLink(tx.db, name, { platform, externalId }))) return false
      await audit(tx, { at, actor, action: 'unlink', detail: `${name} ${platform} ${externalId}` })
      return true
    })
    if (!gone) throw refused(USERS.notLinked(platform, externalId, name))
  }
}

function refused(message: string): TurnstoneError {
  return new TurnstoneError('refused', message)
}
