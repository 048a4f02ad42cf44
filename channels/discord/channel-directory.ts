import { PermissionFlagsBits } from 'discord.js'

/** What the adapter keeps of a channel or thread. */
export interface ChannelInfo {
  readonly id: string
  readonly type: number
  readonly name: string
  readonly guild?: string | undefined
  readonly parent?: string | undefined
  /** Who made it; threads only. */
  readonly owner?: string | undefined
  readonly overwrites: readonly Overwrite[]
}

interface Overwrite {
  readonly id: string
  readonly allow: bigint
  readonly deny: bigint
}

interface Guild {
  readonly owner: string
  readonly roles: Map<string, { name: string; permissions: bigint }>
  ownRoles: readonly string[]
}

/** Places kept; one that was dropped is asked for again when somebody speaks there. */
const MAX_CHANNELS = 10_000

type Raw = Record<string, unknown>
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const list = (value: unknown): Raw[] => (Array.isArray(value) ? (value as Raw[]) : [])

/** A channel's JSON as a place. */
export function channelInfoOf(raw: Raw, guild?: string): ChannelInfo {
  return {
    id: text(raw.id),
    type: typeof raw.type === 'number' ? raw.type : -1,
    name: text(raw.name),
    guild: text(raw.guild_id) || guild,
    parent: text(raw.parent_id) || undefined,
    owner: text(raw.owner_id) || undefined,
    overwrites: list(raw.permission_overwrites).map((o) => ({
      id: text(o.id),
      allow: BigInt(text(o.allow) || '0'),
      deny: BigInt(text(o.deny) || '0'),
    })),
  }
}

/** Channels, roles and our own roles of every server, kept up by events; no messages, no members. */
export class ChannelDirectory {
  readonly #places = new Map<string, ChannelInfo>()
  readonly #guilds = new Map<string, Guild>()
  #self = ''

  get(id: string): ChannelInfo | undefined {
    return this.#places.get(id)
  }

  channelName(id: string): string | undefined {
    return this.#places.get(id)?.name
  }

  roleName(guild: string | undefined, id: string): string | undefined {
    return guild === undefined ? undefined : this.#guilds.get(guild)?.roles.get(id)?.name
  }

  keep(place: ChannelInfo): void {
    this.#places.delete(place.id)
    this.#places.set(place.id, place)
    const [oldest] = this.#places.keys()
    if (this.#places.size > MAX_CHANNELS && oldest !== undefined) this.#places.delete(oldest)
  }

  /** Takes one gateway event into account; those that are none of its own are nothing to it. */
  applyEvent(event: string, data: Raw): void {
    const guild = text(data.guild_id)
    switch (event) {
      case 'READY':
        this.#self = text((data.user as Raw | undefined)?.id)
        break
      case 'GUILD_CREATE':
        this.#takeGuild(data)
        break
      case 'GUILD_DELETE':
        this.#guilds.delete(text(data.id))
        for (const p of this.#places.values()) if (p.guild === text(data.id)) this.#places.delete(p.id)
        break
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'THREAD_CREATE':
      case 'THREAD_UPDATE':
        this.keep(channelInfoOf(data))
        break
      case 'THREAD_LIST_SYNC':
        for (const thread of list(data.threads)) this.keep(channelInfoOf(thread, guild))
        break
      case 'CHANNEL_DELETE':
      case 'THREAD_DELETE':
        this.#places.delete(text(data.id))
        break
      case 'GUILD_ROLE_CREATE':
      case 'GUILD_ROLE_UPDATE':
        this.#takeRole(guild, data.role as Raw)
        break
      case 'GUILD_ROLE_DELETE':
        this.#guilds.get(guild)?.roles.delete(text(data.role_id))
        break
      case 'GUILD_MEMBER_UPDATE':
        if (text((data.user as Raw | undefined)?.id) === this.#self) this.#ownRoles(guild, data)
        break
    }
  }

  #takeGuild(data: Raw): void {
    const id = text(data.id)
    this.#guilds.set(id, { owner: text(data.owner_id), roles: new Map(), ownRoles: [] })
    for (const role of list(data.roles)) this.#takeRole(id, role)
    for (const channel of [...list(data.channels), ...list(data.threads)]) this.keep(channelInfoOf(channel, id))
    const own = list(data.members).find((m) => text((m.user as Raw | undefined)?.id) === this.#self)
    if (own) this.#ownRoles(id, own)
  }

  #takeRole(guild: string, role: Raw): void {
    const made = { name: text(role.name), permissions: BigInt(text(role.permissions) || '0') }
    this.#guilds.get(guild)?.roles.set(text(role.id), made)
  }

  #ownRoles(guild: string, member: Raw): void {
    const known = this.#guilds.get(guild)
    if (known) known.ownRoles = (member.roles as string[] | undefined) ?? []
  }

  /**
   * Our permissions in a channel (Discord docs: Permissions, overwrites): base, then everyone, roles, member.
   * Undefined where the server is not known.
   */
  permissions(channel: string): bigint | undefined {
    const place = this.#places.get(channel)
    const guild = place?.guild === undefined ? undefined : this.#guilds.get(place.guild)
    if (!place?.guild || !guild) return undefined
    const roles = [place.guild, ...guild.ownRoles]
    let held = roles.reduce((sum, id) => sum | (guild.roles.get(id)?.permissions ?? 0n), 0n)
    if (guild.owner === this.#self || held & PermissionFlagsBits.Administrator) return ~0n
    const layers = [[place.guild], guild.ownRoles, [this.#self]].map((ids) =>
      place.overwrites.filter((o) => ids.includes(o.id)),
    )
    for (const layer of layers) {
      for (const o of layer) held &= ~o.deny
      for (const o of layer) held |= o.allow
    }
    return held
  }
}
