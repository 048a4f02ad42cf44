import type { Core, ResponseUrl } from './core.ts'
import { removeMessage } from './methods/chat.ts'
import { checkedBlocks } from './methods/content.ts'
import { Args, SlackError } from './methods/method.ts'
import type { EphemeralLine, Json } from './world.ts'

interface Reply {
  status: number
  headers: Record<string, string>
  body: string
}

function reply(status: number, body: Json): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

/** A POST to a response_url: five times within half an hour. */
export function useResponseUrl(core: Core, key: string, given: Json): Reply {
  const target = core.responseUrls.get(key)
  if (!target) return reply(404, { ok: false, error: 'not_found' })
  if (core.clock.now() > target.until) return reply(404, { ok: false, error: 'expired_url' })
  if (target.uses >= core.rules.responseUrlUses) return reply(404, { ok: false, error: 'used_url' })
  target.uses++
  try {
    respond(core, target, given)
    return reply(200, { ok: true })
  } catch (error) {
    if (error instanceof SlackError) return reply(400, { ok: false, error: error.code })
    throw error
  }
}

/** What an ack body or a response_url shows. */
export function respond(core: Core, target: Omit<ResponseUrl, 'uses' | 'until'>, given: Json): void {
  const args = new Args(given)
  const line = core.world.ephemerals.find((one) => one.ts === target.ephemeralTs)
  const message = target.messageTs ? core.world.find(target.channel, target.messageTs) : undefined
  if (args.flag('delete_original')) {
    if (line) line.deleted = true
    if (message) removeMessage(core, message)
    return
  }
  const blocks = checkedBlocks(core, args)
  const text = args.text('text') ?? ''
  if (text === '' && !blocks) throw new SlackError('no_text')
  const shown = { text, ...(blocks ? { blocks } : {}) }
  if (args.flag('replace_original') && line) return void Object.assign(line, shown)
  if (args.flag('replace_original') && message) {
    const previous = core.world.wire(message, core.host)
    message.versions.push({
      at: core.clock.now(),
      text: message.text,
      ...(message.blocks ? { blocks: message.blocks } : {}),
    })
    delete message.blocks
    Object.assign(message, shown)
    core.changed(message, previous)
    return
  }
  const threadTs = args.text('thread_ts') ?? target.threadTs
  const thread = threadTs === undefined ? {} : { threadTs }
  if (args.text('response_type') === 'in_channel') {
    const { bot } = core.world
    const own = { user: bot.userId, botId: bot.botId, appId: bot.appId }
    core.posted(core.world.add(core.world.channel(target.channel), { ...shown, ...own, ...thread }))
    return
  }
  const made: EphemeralLine = {
    ts: core.world.nextTs(),
    at: core.clock.now(),
    channel: target.channel,
    user: target.user,
    ...shown,
    ...thread,
    deleted: false,
  }
  core.world.ephemerals.push(made)
}
