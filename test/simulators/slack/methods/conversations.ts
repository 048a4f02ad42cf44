import type { Core } from '../core.ts'
import type { Json, SlackChannel, SlackMessage, SlackUser } from '../world.ts'
import { type Args, kindScope, type Methods, SlackError, visibleChannel } from './method.ts'

function micro(ts: string): number {
  return Math.round(Number(ts) * 1_000_000)
}

/** Messages within oldest and latest; `always` stays whatever the range. */
function within(args: Args, messages: SlackMessage[], always?: SlackMessage): SlackMessage[] {
  const inclusive = args.flag('inclusive')
  const oldest = args.has('oldest') ? micro(args.need('oldest')) : Number.NEGATIVE_INFINITY
  const latest = args.has('latest') ? micro(args.need('latest')) : Number.POSITIVE_INFINITY
  return messages.filter((message) => {
    if (message === always) return true
    const at = micro(message.ts)
    return inclusive ? at >= oldest && at <= latest : at > oldest && at < latest
  })
}

function page(core: Core, args: Args, messages: SlackMessage[]): Json {
  const limit = Math.trunc(args.number('limit', core.rules.pageDefault))
  if (limit < 1 || limit > core.rules.pageMost) throw new SlackError('invalid_limit')
  const cursor = args.text('cursor')
  const from = cursor
    ? Number(
        Buffer.from(cursor, 'base64')
          .toString()
          .match(/^next:(\d+)$/)?.[1] ?? Number.NaN,
      )
    : 0
  if (Number.isNaN(from)) throw new SlackError('invalid_cursor')
  const next = from + limit
  const more = next < messages.length
  for (const message of messages) core.expire(message)
  return {
    messages: messages.slice(from, next).map((m) => core.world.wire(m, core.host, args.flag('include_all_metadata'))),
    has_more: more,
    ...(more ? { response_metadata: { next_cursor: Buffer.from(`next:${next}`).toString('base64') } } : {}),
  }
}

function readable(core: Core, args: Args): SlackChannel {
  const channel = visibleChannel(core, args.need('channel', 'channel_not_found'))
  if (!channel.members.has(core.world.bot.userId)) throw new SlackError('not_in_channel')
  return channel
}

function replies(core: Core, args: Args): Json {
  const channel = readable(core, args)
  const asked = core.world.find(channel.id, args.need('ts', 'thread_not_found'))
  const root = asked?.threadTs ? core.world.find(channel.id, asked.threadTs) : asked
  if (!root) throw new SlackError('thread_not_found')
  const all = [root, ...core.world.replies(root)].sort((a, b) => micro(a.ts) - micro(b.ts))
  return page(core, args, within(args, all, root))
}

function history(core: Core, args: Args): Json {
  const channel = readable(core, args)
  const roots = channel.messages.filter((message) => !message.threadTs || message.broadcast)
  return page(core, args, within(args, roots).reverse())
}

function channelWire(core: Core, channel: SlackChannel): Json {
  const other = [...channel.members].find((id) => id !== core.world.bot.userId)
  return {
    id: channel.id,
    ...(channel.kind === 'im' ? { user: other } : { name: channel.name, name_normalized: channel.name }),
    is_channel: channel.kind === 'public',
    is_group: channel.kind === 'private',
    is_im: channel.kind === 'im',
    is_mpim: channel.kind === 'mpim',
    is_private: channel.kind !== 'public',
    is_archived: channel.archived,
    is_member: channel.members.has(core.world.bot.userId),
    context_team_id: core.world.team.id,
  }
}

function open(core: Core, args: Args): Json {
  if (args.has('channel')) return { channel: channelWire(core, visibleChannel(core, args.need('channel'))) }
  const users = args.need('users', 'users_list_not_supplied').split(',').filter(Boolean)
  for (const id of users) if (!core.world.users.has(id)) throw new SlackError('user_not_found')
  const [first] = users
  if (users.length === 1 && first) return { channel: channelWire(core, core.world.im(first)) }
  const members = [...users, core.world.bot.userId]
  const found = [...core.world.channels.values()].find(
    (channel) =>
      channel.kind === 'mpim' &&
      channel.members.size === members.length &&
      members.every((m) => channel.members.has(m)),
  )
  return { channel: channelWire(core, found ?? core.world.addChannel(`mpdm-${users.join('-')}`, 'mpim', members)) }
}

export function userWire(core: Core, user: SlackUser): Json {
  return {
    id: user.id,
    team_id: core.world.team.id,
    name: user.name,
    real_name: user.realName,
    deleted: false,
    is_bot: user.isBot,
    tz: 'Europe/Berlin',
    profile: { real_name: user.realName, display_name: user.name, team: core.world.team.id },
  }
}

export const conversationMethods: Methods = {
  'conversations.replies': { scope: kindScope('history'), tier: 'tier3', run: replies },
  'conversations.history': { scope: kindScope('history'), tier: 'tier3', run: history },
  'conversations.open': {
    scope: (_, args) => ((args.text('users') ?? '').includes(',') ? 'mpim:write' : 'im:write'),
    tier: 'tier3',
    run: open,
  },
  'conversations.info': {
    scope: kindScope('read'),
    tier: 'tier3',
    run: (core, args) => ({
      channel: channelWire(core, visibleChannel(core, args.need('channel', 'channel_not_found'))),
    }),
  },
  'conversations.members': {
    scope: kindScope('read'),
    tier: 'tier4',
    run(core, args) {
      const channel = visibleChannel(core, args.need('channel', 'channel_not_found'))
      return { members: [...channel.members], response_metadata: { next_cursor: '' } }
    },
  },
  'users.info': {
    scope: 'users:read',
    tier: 'tier4',
    run(core, args) {
      const user = core.world.users.get(args.need('user', 'user_not_found'))
      if (!user) throw new SlackError('user_not_found')
      return { user: userWire(core, user) }
    },
  },
}
