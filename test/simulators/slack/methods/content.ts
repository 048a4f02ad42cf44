import { blockFaults, withIds } from '../blocks.ts'
import type { Core } from '../core.ts'
import { isJson, type Json, type SlackChannel } from '../world.ts'
import { type Args, SlackError } from './method.ts'

export interface Content {
  text: string
  blocks?: Json[]
  attachments?: Json[]
  markdown?: string
  metadata?: Json
  parse?: string
  warning?: string
}

export function checkedBlocks(core: Core, args: Args, key = 'blocks'): Json[] | undefined {
  const blocks = args.json(key, 'invalid_blocks_format')
  if (blocks === undefined) return undefined
  if (Array.isArray(blocks) && blocks.length > core.rules.messageBlocks) throw new SlackError('msg_blocks_too_many')
  const faults = blockFaults(blocks, core.rules)
  if (faults.length > 0)
    throw new SlackError('invalid_blocks', { errors: faults, response_metadata: { messages: faults } })
  return withIds(blocks as Json[])
}

/** undefined where there is none; null where it is to be cleared. */
export function checkedMetadata(core: Core, args: Args): Json | null | undefined {
  const value = args.json('metadata', 'invalid_metadata_format')
  if (value === undefined) return undefined
  if (!isJson(value)) throw new SlackError('invalid_metadata_format')
  if (Object.keys(value).length === 0) return null
  if (typeof value.event_type !== 'string' || !isJson(value.event_payload))
    throw new SlackError('invalid_metadata_schema')
  if (JSON.stringify(value).length > core.rules.metadataBytes) throw new SlackError('metadata_too_large')
  return value
}

export function checkedMarkdown(core: Core, args: Args): string | undefined {
  const markdown = args.text('markdown_text')
  if (markdown !== undefined && markdown.length > core.rules.markdownText) throw new SlackError('msg_too_long')
  return markdown === '' ? undefined : markdown
}

/** What a post, an update or an ephemeral line shows, checked. */
export function checkedContent(core: Core, args: Args): Content {
  const markdown = checkedMarkdown(core, args)
  if (markdown !== undefined && (args.has('text') || args.has('blocks'))) throw new SlackError('markdown_text_conflict')
  const blocks = checkedBlocks(core, args)
  const attachments = args.list('attachments', 'invalid_attachments')
  const metadata = checkedMetadata(core, args)
  const parse = args.text('parse') === 'full' || args.flag('link_names') ? 'full' : undefined
  const full = args.text('text') ?? ''
  const text = full.slice(0, core.rules.textHard)
  if (markdown === undefined && text.trim() === '' && !blocks?.length && !attachments?.length)
    throw new SlackError('no_text')
  return {
    text: markdown ?? text,
    ...(blocks?.length ? { blocks } : {}),
    ...(attachments?.length ? { attachments } : {}),
    ...(markdown === undefined ? {} : { markdown }),
    ...(metadata ? { metadata } : {}),
    ...(parse ? { parse } : {}),
    ...(full.length > text.length ? { warning: 'message_truncated' } : {}),
  }
}

/** The thread's root, which has to stand in that channel and be no reply itself. */
export function checkedThread(core: Core, args: Args, channel: SlackChannel): string | undefined {
  if (!args.has('thread_ts')) return undefined
  const ts = args.need('thread_ts')
  if (!/^\d{10}\.\d{6}$/.test(ts)) throw new SlackError('invalid_thread_ts')
  const root = core.world.find(channel.id, ts)
  if (!root) throw new SlackError('thread_not_found')
  if (root.threadTs) throw new SlackError('invalid_thread_ts')
  return ts
}
