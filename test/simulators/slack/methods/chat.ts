import type { Core } from '../core.ts'
import type { Json, SlackMessage } from '../world.ts'
import { type Content, checkedContent, checkedMetadata, checkedThread } from './content.ts'
import { type Args, kindScope, type Methods, SlackError, writableChannel } from './method.ts'

function shown(content: Content): Omit<Content, 'warning'> {
  const { warning: _, ...rest } = content
  return rest
}

function warned(content: Content): Json {
  return content.warning ? { warning: content.warning, response_metadata: { warnings: [content.warning] } } : {}
}

function post(core: Core, args: Args): Json {
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const content = checkedContent(core, args)
  const threadTs = checkedThread(core, args, channel)
  const { bot } = core.world
  const broadcast = threadTs !== undefined && args.flag('reply_broadcast')
  const message = core.world.add(channel, {
    ...shown(content),
    user: bot.userId,
    botId: bot.botId,
    appId: bot.appId,
    ...(threadTs === undefined ? {} : { threadTs }),
    ...(broadcast ? { broadcast, subtype: 'thread_broadcast' } : {}),
  })
  core.posted(message)
  return { channel: channel.id, ts: message.ts, message: core.world.wire(message, core.host, true), ...warned(content) }
}

/** The app's own message, or the error Slack has for it. */
function own(core: Core, args: Args, notOwn: string): SlackMessage {
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const message = core.world.find(channel.id, args.need('ts', 'message_not_found'))
  if (!message) throw new SlackError('message_not_found')
  if (!core.world.isOwn(message)) throw new SlackError(notOwn)
  return message
}

function update(core: Core, args: Args): Json {
  const message = own(core, args, 'cant_update_message')
  core.expire(message)
  if (message.stream?.state === 'in_progress') throw new SlackError('streaming_state_conflict')
  if ((args.text('text') ?? '').length > core.rules.updateText) throw new SlackError('msg_too_long')
  const metadata = checkedMetadata(core, args)
  const previous = core.world.wire(message, core.host)
  const only = !args.has('text') && !args.has('blocks') && !args.has('attachments') && !args.has('markdown_text')
  if (!only || metadata === undefined) {
    const content = checkedContent(core, args)
    message.versions.push({
      at: core.clock.now(),
      text: message.text,
      ...(message.blocks ? { blocks: message.blocks } : {}),
    })
    replaceContent(message, content, args)
  }
  if (metadata === null) delete message.metadata
  else if (metadata) message.metadata = metadata
  if (!args.has('blocks')) message.edited = { user: core.world.bot.userId, ts: core.world.nextTs() }
  core.changed(message, previous)
  return {
    channel: message.channel,
    ts: message.ts,
    text: message.text,
    message: core.world.wire(message, core.host, true),
  }
}

/** New text without blocks takes the old blocks away; attachments stay until replaced. */
function replaceContent(message: SlackMessage, content: Content, args: Args): void {
  const keepBlocks = !args.has('blocks') && !args.has('text') && content.markdown === undefined
  if (args.has('text') || content.markdown !== undefined || args.has('blocks')) message.text = content.text
  if (!keepBlocks) {
    delete message.markdown
    delete message.blocks
  }
  if (content.blocks) message.blocks = content.blocks
  if (content.markdown !== undefined) message.markdown = content.markdown
  if (args.has('attachments')) message.attachments = content.attachments ?? []
}

function remove(core: Core, args: Args): Json {
  const message = own(core, args, 'cant_delete_message')
  removeMessage(core, message)
  return { channel: message.channel, ts: message.ts }
}

/** Takes a message away and tells so; a root with replies stays as a tombstone. */
export function removeMessage(core: Core, message: SlackMessage): void {
  const channel = core.world.channel(message.channel)
  const previous = core.world.wire(message, core.host)
  if (core.world.replies(message).length > 0) {
    message.subtype = 'tombstone'
    message.text = 'This message was deleted.'
    message.user = 'USLACKBOT'
    for (const key of ['blocks', 'markdown', 'attachments', 'metadata', 'botId', 'stream'] as const) delete message[key]
  } else channel.messages.splice(channel.messages.indexOf(message), 1)
  const ts = core.world.nextTs()
  core.messageEvent(channel, {
    subtype: 'message_deleted',
    hidden: true,
    deleted_ts: message.ts,
    previous_message: previous,
    ts,
    event_ts: ts,
  })
}

function ephemeral(core: Core, args: Args): Json {
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const user = args.need('user')
  if (!core.world.users.has(user)) throw new SlackError('user_not_found')
  if (!channel.members.has(user)) throw new SlackError('user_not_in_channel')
  const content = checkedContent(core, args)
  if (content.attachments && content.blocks) throw new SlackError('invalid_attachments')
  const threadTs = checkedThread(core, args, channel)
  const ts = core.world.nextTs()
  const { text, blocks, markdown } = content
  core.world.ephemerals.push({
    ts,
    at: core.clock.now(),
    channel: channel.id,
    user,
    text,
    ...(blocks ? { blocks } : {}),
    ...(markdown === undefined ? {} : { markdown }),
    ...(threadTs === undefined ? {} : { threadTs }),
    deleted: false,
  })
  return { message_ts: ts }
}

function reaction(core: Core, args: Args): { name: string; users: Set<string>; message: SlackMessage } {
  const name = args.need('name', 'no_reaction').replaceAll(':', '').split('::')[0] ?? ''
  if (!/^[\w+'-]+$/u.test(name)) throw new SlackError('invalid_name')
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const message = core.world.find(channel.id, args.need('timestamp', 'no_item_specified'))
  if (!message) throw new SlackError('message_not_found')
  return { name, users: message.reactions.get(name) ?? new Set(), message }
}

export const chatMethods: Methods = {
  'chat.postMessage': { scope: 'chat:write', tier: 'post', run: post },
  'chat.update': { scope: 'chat:write', tier: 'tier3', run: update },
  'chat.delete': { scope: 'chat:write', tier: 'tier3', run: remove },
  'chat.postEphemeral': { scope: 'chat:write', tier: 'tier4', run: ephemeral },
  'chat.getPermalink': {
    scope: kindScope('read'),
    tier: 'tierSpecial',
    run(core, args) {
      const channel = args.need('channel')
      const ts = args.need('message_ts')
      if (!core.world.find(channel, ts)) throw new SlackError('message_not_found')
      return { channel, permalink: `${core.world.team.url}archives/${channel}/p${ts.replace('.', '')}` }
    },
  },
  'reactions.add': {
    scope: 'reactions:write',
    tier: 'tier3',
    run(core, args) {
      const { name, users, message } = reaction(core, args)
      if (users.has(core.world.bot.userId)) throw new SlackError('already_reacted')
      message.reactions.set(name, users.add(core.world.bot.userId))
      return {}
    },
  },
  'reactions.remove': {
    scope: 'reactions:write',
    tier: 'tier2',
    run(core, args) {
      const { name, users, message } = reaction(core, args)
      if (!users.delete(core.world.bot.userId)) throw new SlackError('no_reaction')
      if (users.size === 0) message.reactions.delete(name)
      return {}
    },
  },
}
