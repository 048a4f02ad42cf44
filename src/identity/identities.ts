import { randomBytes } from 'node:crypto'
import type { Platform } from '../channel/channel-adapter.ts'
import { PLATFORMS, type UserConfig, userIdsOn } from '../config/config.ts'
import { audit } from '../store/audit.ts'
import { isUniqueViolation, type Store } from '../store/store.ts'
import { TurnstoneError } from '../util/errors.ts'
import { newId, sha256 } from '../util/ids.ts'
import type { Clock } from '../util/time.ts'

export interface User {
  readonly name: string
  readonly role: 'admin' | 'member'
}

export interface Link {
  readonly platform: Platform
  readonly externalId: string
  readonly user: string
  /** From config.toml: cannot be taken off by a command. */
  readonly fixed: boolean
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/

/** Who is who: people of config.toml, which wins, and of the database. */
export class Identities {
  readonly #store: Store
  readonly #clock: Clock
  readonly #users: Readonly<Record<string, UserConfig>>

  constructor(store: Store, clock: Clock, users: Readonly<Record<string, UserConfig>>) {
    this.#store = store
    this.#clock = clock
    this.#users = users
  }

  async userOf(platform: Platform, externalId: string): Promise<User | undefined> {
    for (const [name, user] of Object.entries(this.#users)) {
      if (userIdsOn(user, platform).includes(externalId)) return { name, role: user.role }
    }
    const row = await this.#store.db
      .selectFrom('links')
      .select('user_name')
      .where('platform', '=', platform)
      .where('external_id', '=', externalId)
      .executeTakeFirst()
    return row && this.byName(row.user_name)
  }

  async byName(name: string): Promise<User | undefined> {
    const fixed = this.#users[name]
    if (fixed) return { name, role: fixed.role }
    return this.#store.db.selectFrom('users').select(['name', 'role']).where('name', '=', name).executeTakeFirst()
  }

  async list(): Promise<readonly (User & { links: readonly Link[]; fixed: boolean })[]> {
    const rows = await this.#store.db.selectFrom('users').select(['name', 'role']).orderBy('name').execute()
    const fixed = Object.entries(this.#users).map(([name, u]) => ({ name, role: u.role, fixed: true }))
    const stored = rows.filter((r) => !this.#users[r.name]).map((r) => ({ ...r, fixed: false }))
    return Promise.all([...fixed, ...stored].map(async (u) => ({ ...u, links: await this.linksOf(u.name) })))
  }

  async linksOf(name: string): Promise<readonly Link[]> {
    const fixed = PLATFORMS.flatMap((platform) =>
      userIdsOn(this.#users[name], platform).map((externalId) => ({ platform, externalId, user: name, fixed: true })),
    )
    const rows = await this.#store.db.selectFrom('links').selectAll().where('user_name', '=', name).execute()
    const stored = rows.map((r) => ({
      platform: r.platform as Platform,
      externalId: r.external_id,
      user: name,
      fixed: false,
    }))
    return [...fixed, ...stored]
  }

  /** Throws TurnstoneError 'refused' where the name exists or is no name. */
  async addUser(name: string, role: User['role'], actor: string): Promise<void> {
    if (!NAME.test(name)) throw refused(`${name}: a user name has 1 to 64 letters, digits, dots, dashes, underscores`)
    if (await this.byName(name)) throw refused(`there is a user ${name} already`)
    const at = this.#clock.now()
    await this.#store.transaction(async (tx) => {
      await tx.db.insertInto('users').values({ name, role, created_at: at }).execute()
      await audit(tx, { at, actor, action: 'user-add', detail: `${name} ${role}` })
    })
  }

  /** Takes the user, their links and tokens; their workstreams stay, without anybody to decide for them but admins. */
  async removeUser(name: string, actor: string): Promise<void> {
    await this.#needStored(name)
    const at = this.#clock.now()
    await this.#store.transaction(async (tx) => {
      await tx.db.deleteFrom('users').where('name', '=', name).execute()
      await tx.db.deleteFrom('links').where('user_name', '=', name).execute()
      await tx.db.deleteFrom('api_tokens').where('user_name', '=', name).execute()
      await audit(tx, { at, actor, action: 'user-remove', detail: name })
    })
  }

  async #needStored(name: string): Promise<void> {
    if (this.#users[name]) throw refused(`${name} is a user of config.toml: change that file`)
    if (!(await this.byName(name))) throw refused(`there is no user ${name}`)
  }

  /** The token, told this once; only its hash is kept. */
  async createToken(name: string, actor: string): Promise<{ id: string; token: string }> {
    if (!(await this.byName(name))) throw refused(`there is no user ${name}`)
    const token = `ts_${randomBytes(32).toString('hex')}`
    const id = newId()
    const at = this.#clock.now()
    await this.#store.transaction(async (tx) => {
      await tx.db
        .insertInto('api_tokens')
        .values({ id, user_name: name, hash: sha256(token), created_at: at, revoked_at: null })
        .execute()
      await audit(tx, { at, actor, action: 'token-create', detail: `${name} ${id}` })
    })
    return { id, token }
  }

  /** One by its id, or all of a user by name. The number revoked; throws where there was none. */
  async revokeTokens(nameOrId: string, actor: string): Promise<number> {
    const at = this.#clock.now()
    const gone = await this.#store.transaction(async (tx) => {
      const rows = await tx.db
        .updateTable('api_tokens')
        .set({ revoked_at: at })
        .where('revoked_at', 'is', null)
        .where((e) => e.or([e('id', '=', nameOrId), e('user_name', '=', nameOrId)]))
        .returning('id')
        .execute()
      for (const { id } of rows) await audit(tx, { at, actor, action: 'token-revoke', detail: id })
      return rows.length
    })
    if (gone === 0) throw refused(`${nameOrId}: no such user with a token, and no such token id`)
    return gone
  }

  /** The user whose live token this is. */
  async byToken(token: string): Promise<User | undefined> {
    if (!/^ts_[0-9a-f]{64}$/.test(token)) return undefined
    const row = await this.#store.db
      .selectFrom('api_tokens')
      .select('user_name')
      .where('hash', '=', sha256(token))
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return row && this.byName(row.user_name)
  }

  /** Throws TurnstoneError 'refused' where the id belongs to somebody already or there is no such user. */
  async link(name: string, platform: Platform, externalId: string, actor: string): Promise<void> {
    if (!(await this.byName(name))) throw refused(`there is no user ${name}`)
    const owner = await this.userOf(platform, externalId)
    if (owner) throw refused(`${platform} ${externalId} is linked to ${owner.name} already`)
    const at = this.#clock.now()
    try {
      await this.#store.transaction(async (tx) => {
        await tx.db
          .insertInto('links')

          .values({ platform, external_id: externalId, user_name: name, created_at: at })
          .execute()
        await audit(tx, { at, actor, action: 'link', detail: `${name} ${platform} ${externalId}` })
      })
    } catch (error) {
      if (isUniqueViolation(error)) throw refused(`${platform} ${externalId} is linked already`)
      throw error
    }
  }

  /** Throws TurnstoneError 'refused' where there is no such link, or it stands in config.toml. */
  async unlink(name: string, platform: Platform, externalId: string, actor: string): Promise<void> {
    if (userIdsOn(this.#users[name], platform).includes(externalId)) {
      throw refused(`this link stands in config.toml: change that file`)
    }
    const at = this.#clock.now()
    const gone = await this.#store.transaction(async (tx) => {
      const rows = await tx.db
        .deleteFrom('links')
        .where('platform', '=', platform)
        .where('external_id', '=', externalId)
        .where('user_name', '=', name)
        .returning('user_name')
        .execute()
      if (rows.length > 0) await audit(tx, { at, actor, action: 'unlink', detail: `${name} ${platform} ${externalId}` })
      return rows.length
    })
    if (gone === 0) throw refused(`${platform} ${externalId} is not linked to ${name}`)
  }
}

function refused(message: string): TurnstoneError {
  return new TurnstoneError('refused', message)
}
