import type { SimChannel, SimGuild } from './model.ts'

/** Discord docs: Permissions, Bitwise Permission Flags. */
export const PERMISSION = {
  ADMINISTRATOR: 1n << 3n,
  MANAGE_CHANNELS: 1n << 4n,
  MANAGE_GUILD: 1n << 5n,
  ADD_REACTIONS: 1n << 6n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  MANAGE_MESSAGES: 1n << 13n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
  USE_EXTERNAL_EMOJIS: 1n << 18n,
  USE_APPLICATION_COMMANDS: 1n << 31n,
  MANAGE_THREADS: 1n << 34n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  CREATE_PRIVATE_THREADS: 1n << 36n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
} as const

export type PermissionName = keyof typeof PERMISSION

export const bits = (names: readonly PermissionName[]): bigint => names.reduce((sum, n) => sum | PERMISSION[n], 0n)

/** What @everyone of a fresh server may do; like Discord's own default it includes MENTION_EVERYONE. */
export const EVERYONE_DEFAULT = bits([
  'ADD_REACTIONS',
  'VIEW_CHANNEL',
  'SEND_MESSAGES',
  'EMBED_LINKS',
  'ATTACH_FILES',
  'READ_MESSAGE_HISTORY',
  'MENTION_EVERYONE',
  'USE_EXTERNAL_EMOJIS',
  'USE_APPLICATION_COMMANDS',
  'CREATE_PUBLIC_THREADS',
  'CREATE_PRIVATE_THREADS',
  'SEND_MESSAGES_IN_THREADS',
])

const ALL = Object.values(PERMISSION).reduce((a, b) => a | b, 0n)

/** Discord docs: Permissions, Permission Overwrites (base, then @everyone, then roles, then the member). */
export function computePermissions(guild: SimGuild, channel: SimChannel, userId: string): bigint {
  const member = guild.members.get(userId)
  if (!member) return 0n
  if (guild.ownerId === userId) return ALL
  let sum = guild.roles.get(guild.id)?.permissions ?? 0n
  for (const id of member.roles) sum |= guild.roles.get(id)?.permissions ?? 0n
  if (sum & PERMISSION.ADMINISTRATOR) return ALL
  const everyone = channel.overwrites.get(guild.id)
  if (everyone) sum = (sum & ~everyone.deny) | everyone.allow
  let allow = 0n
  let deny = 0n
  for (const id of member.roles) {
    const o = channel.overwrites.get(id)
    if (o) {
      allow |= o.allow
      deny |= o.deny
    }
  }
  sum = (sum & ~deny) | allow
  const own = channel.overwrites.get(userId)
  return own ? (sum & ~own.deny) | own.allow : sum
}
