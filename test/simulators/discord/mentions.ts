import { asArray, asObject, asString, isObject } from './json.ts'
import type { Pinged, SimChannel } from './model.ts'
import type { World } from './world.ts'
import { flatComponents } from './world.ts'

export interface Mentions {
  everyone: boolean
  users: string[]
  roles: string[]
}

/** What a text names, outside of code; nothing is said yet about who is notified. */
function named(text: string): Mentions {
  const plain = text.replace(/```[\s\S]*?```|``[\s\S]*?``|`[^`\n]*`/g, ' ')
  const ids = (pattern: RegExp): string[] => [...new Set([...plain.matchAll(pattern)].map((m) => m[1] ?? ''))]
  return { everyone: /@(everyone|here)\b/.test(plain), users: ids(/<@!?(\d+)>/g), roles: ids(/<@&(\d+)>/g) }
}

export interface MentionInput {
  channel: SimChannel
  authorId: string
  content: string
  components: unknown[]
  allowed: unknown
  /** What counts without allowed_mentions: everything for a message, users only for interactions and webhooks. */
  fallback: 'all' | 'users'
  /** Author of the message replied to. */
  repliedTo: string | undefined
}

/** Discord docs: Message, Allowed Mentions. What the message mentions, which is whom it notifies when it is new. */
export function resolveMentions(world: World, m: MentionInput): Mentions & { pinged: Pinged } {
  const texts = flatComponents(m.components).map((c) => (c.type === 10 ? asString(c.content) : ''))
  const found = named([m.content, ...texts].join('\n'))
  const given = isObject(m.allowed) ? m.allowed : undefined
  const parse = given ? asArray(given.parse) : m.fallback === 'all' ? ['users', 'roles', 'everyone'] : ['users']
  const listed = (kind: 'users' | 'roles', id: string): boolean =>
    parse.includes(kind) || asArray(asObject(given)[kind]).includes(id)
  const guild = m.channel.guildId ? world.guild(m.channel.guildId) : undefined
  const mayAll = Boolean(guild) && world.can(m.channel, m.authorId, 'MENTION_EVERYONE')
  const users = found.users.filter((id) => world.users.has(id) && listed('users', id))
  const replied = m.repliedTo && (given ? given.replied_user === true : true) ? [m.repliedTo] : []
  const everyone = found.everyone && parse.includes('everyone') && mayAll
  const roles = found.roles.filter((id) => {
    const role = guild?.roles.get(id)
    return role && listed('roles', id) && (role.mentionable || mayAll)
  })
  const all = [...new Set([...users, ...replied])]
  const others = all.filter((id) => id !== m.authorId)
  return { everyone, users: all, roles, pinged: { everyone, users: others, roles } }
}
