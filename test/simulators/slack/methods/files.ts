import type { Core } from '../core.ts'
import type { Json, SlackFile } from '../world.ts'
import { checkedBlocks, checkedThread } from './content.ts'
import { type Args, type Methods, SlackError, writableChannel } from './method.ts'

const TYPES: Record<string, string> = {
  txt: 'text/plain',
  md: 'text/markdown',
  json: 'application/json',
  png: 'image/png',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
}

export function mimetype(name: string): string {
  return TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream'
}

function getUrl(core: Core, args: Args): Json {
  const name = args.need('filename')
  const length = args.number('length', Number.NaN)
  if (!Number.isInteger(length) || length <= 0) throw new SlackError('missing_argument')
  const file: SlackFile = {
    id: core.world.id('F'),
    name,
    title: name,
    mimetype: mimetype(name),
    bytes: Buffer.alloc(0),
    user: core.world.bot.userId,
    created: core.clock.now(),
    pending: true,
    expected: length,
    shares: [],
  }
  core.world.files.set(file.id, file)
  return { upload_url: `${core.host}/upload/v1/${file.id}`, file_id: file.id }
}

function takeFiles(core: Core, args: Args): SlackFile[] {
  const wanted = args.list('files', 'invalid_arguments') ?? []
  if (wanted.length === 0) throw new SlackError('invalid_arguments')
  return wanted.map((one) => {
    const file = core.world.files.get(String(one.id))
    // A file is completed once.
    if (!file?.pending || file.bytes.length === 0) throw new SlackError('file_not_found')
    if (typeof one.title === 'string') file.title = one.title
    return file
  })
}

function complete(core: Core, args: Args): Json {
  const files = takeFiles(core, args)
  const channelId = args.text('channel_id')
  const blocks = checkedBlocks(core, args)
  if (blocks && args.has('initial_comment')) throw new SlackError('invalid_arguments')
  if (channelId === undefined && args.has('thread_ts')) throw new SlackError('invalid_arguments')
  const channel = channelId === undefined ? undefined : writableChannel(core, channelId)
  const threadTs = channel ? checkedThread(core, args, channel) : undefined
  for (const file of files) file.pending = false
  const { bot } = core.world
  if (channel)
    core.clock.after(core.rules.fileShareMs, () => {
      const message = core.world.add(channel, {
        text: args.text('initial_comment') ?? '',
        ...(blocks ? { blocks } : {}),
        user: bot.userId,
        botId: bot.botId,
        appId: bot.appId,
        ...(threadTs === undefined ? {} : { threadTs }),
        files,
        subtype: 'file_share',
      })
      for (const file of files)
        file.shares.push({ channel: channel.id, ts: message.ts, ...(threadTs === undefined ? {} : { threadTs }) })
      core.posted(message)
    })
  return { files: files.map((file) => core.world.fileWire(file, core.host)) }
}

function known(core: Core, args: Args): SlackFile {
  const file = core.world.files.get(args.need('file', 'file_not_found'))
  if (!file || file.pending) throw new SlackError('file_not_found')
  return file
}

export const fileMethods: Methods = {
  'files.getUploadURLExternal': { scope: 'files:write', tier: 'tier4', run: getUrl },
  'files.completeUploadExternal': { scope: 'files:write', tier: 'tier4', run: complete },
  'files.info': {
    scope: 'files:read',
    tier: 'tier4',
    run: (core, args) => ({ file: core.world.fileWire(known(core, args), core.host) }),
  },
  'files.delete': {
    scope: 'files:write',
    tier: 'tier3',
    run(core, args) {
      core.world.files.delete(known(core, args).id)
      return {}
    },
  },
}
