import { blockFaults, withIds } from '../blocks.ts'
import type { Core } from '../core.ts'
import type { Json, SlackMessage } from '../world.ts'
import { checkedBlocks, checkedMarkdown, checkedMetadata, checkedThread } from './content.ts'
import { type Args, type Methods, SlackError, writableChannel } from './method.ts'

interface Piece {
  markdown: string
  tasks: Json[]
  blocks: Json[]
}

const TASK_STATES = ['pending', 'in_progress', 'complete', 'error']

function available(core: Core): void {
  if (core.features.streaming !== true) throw new SlackError(core.features.streaming)
}

/** What one call adds to a stream; undefined where it gives nothing. */
function piece(core: Core, args: Args): Piece | undefined {
  const markdown = checkedMarkdown(core, args)
  const chunks = args.list('chunks', 'invalid_chunks')
  if (markdown === undefined && !chunks?.length) return undefined
  const out: Piece = { markdown: markdown ?? '', tasks: [], blocks: [] }
  for (const chunk of chunks ?? []) {
    if (chunk.type === 'markdown_text' && typeof chunk.text === 'string') out.markdown += chunk.text
    else if (chunk.type === 'task_update' && typeof chunk.id === 'string' && TASK_STATES.includes(String(chunk.status)))
      out.tasks.push(chunk)
    else if (chunk.type === 'plan_update' && typeof chunk.title === 'string') out.tasks.push(chunk)
    else if (chunk.type === 'blocks' && Array.isArray(chunk.blocks)) {
      const faults = blockFaults(chunk.blocks, core.rules)
      if (faults.length > 0) throw new SlackError('invalid_blocks', { response_metadata: { messages: faults } })
      out.blocks.push(...withIds(chunk.blocks))
    } else throw new SlackError('invalid_chunks')
  }
  if (out.markdown.length > core.rules.markdownText) throw new SlackError('msg_too_long')
  return out
}

function append(core: Core, message: SlackMessage, given: Piece): void {
  const text = (message.markdown ?? '') + given.markdown
  if (text.length > core.rules.streamChars) throw new SlackError('msg_too_long')
  message.markdown = text
  message.text = text
  if (given.blocks.length > 0) message.blocks = [...(message.blocks ?? []), ...given.blocks]
  message.stream?.tasks.push(...given.tasks)
  if (message.stream) message.stream.lastAt = core.clock.now()
}

function start(core: Core, args: Args): Json {
  available(core)
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const threadTs = checkedThread(core, args, channel)
  if (threadTs === undefined) throw new SlackError('invalid_thread_ts')
  if (channel.kind !== 'im') {
    if (!args.has('recipient_user_id')) throw new SlackError('missing_recipient_user_id')
    if (!args.has('recipient_team_id')) throw new SlackError('missing_recipient_team_id')
  }
  if (args.has('recipient_user_id') && !core.world.users.has(args.need('recipient_user_id')))
    throw new SlackError('user_not_found')
  const given = piece(core, args) ?? { markdown: '', tasks: [], blocks: [] }
  const { bot } = core.world
  const now = core.clock.now()
  const message = core.world.add(channel, {
    text: '',
    markdown: '',
    user: bot.userId,
    botId: bot.botId,
    appId: bot.appId,
    threadTs,
    stream: {
      state: 'in_progress',
      startedAt: now,
      lastAt: now,
      ...(args.has('recipient_user_id') ? { recipient: args.need('recipient_user_id') } : {}),
      stoppedByUser: false,
      tasks: [],
    },
  })
  append(core, message, given)
  core.posted(message)
  return { channel: channel.id, ts: message.ts }
}

/** The stream, as far as it still runs. */
function running(core: Core, args: Args): SlackMessage {
  available(core)
  const channel = writableChannel(core, args.need('channel', 'channel_not_found'))
  const message = core.world.find(channel.id, args.need('ts', 'message_not_found'))
  if (!message) throw new SlackError('message_not_found')
  if (!core.world.isOwn(message)) throw new SlackError('message_not_owned_by_app')
  core.expire(message)
  if (message.stream?.stoppedByUser) throw new SlackError('stopped_by_user')
  if (message.stream?.state !== 'in_progress') throw new SlackError('message_not_in_streaming_state')
  return message
}

function stop(core: Core, args: Args): Json {
  const message = running(core, args)
  const given = piece(core, args)
  const blocks = checkedBlocks(core, args)
  const metadata = checkedMetadata(core, args)
  const previous = core.world.wire(message, core.host)
  if (given) append(core, message, given)
  if (blocks) message.blocks = [...(message.blocks ?? []), ...blocks]
  if (metadata) message.metadata = metadata
  if (message.stream) message.stream.state = 'completed'
  core.changed(message, previous)
  return { channel: message.channel, ts: message.ts, message: core.world.wire(message, core.host, true) }
}

export const streamMethods: Methods = {
  'chat.startStream': { scope: 'chat:write', tier: 'tier2', run: start },
  'chat.appendStream': {
    scope: 'chat:write',
    tier: 'tier4',
    run(core, args) {
      const message = running(core, args)
      const given = piece(core, args)
      if (!given) throw new SlackError('no_text')
      append(core, message, given)
      return { channel: message.channel, ts: message.ts }
    },
  },
  'chat.stopStream': { scope: 'chat:write', tier: 'tier2', run: stop },
}
