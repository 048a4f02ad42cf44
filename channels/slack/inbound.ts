import type { Attachment, InboundMessage, MessageRef } from '../../src/channel/channel-adapter.ts'
import { withoutMention } from '../support/mentions.ts'
import { isDirect, msOf } from './address.ts'
import { type Json, listIn, objectIn, textIn } from './json.ts'

export interface InboundContext {
  readonly team: string
  readonly botUser: string
  readonly botId: string
  /** Channels that are heard; empty for all. Direct messages always are. */
  readonly channels: readonly string[]
  /** Ids of bots that may speak. */
  readonly bots: readonly string[]
  /** The shown name of a user, where it is known. */
  readonly name: (id: string) => string | undefined
}

export type Inbound =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | { readonly kind: 'deleted'; readonly ref: MessageRef }

const SPOKEN = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message'])
/** Slack escapes what people write as <: no reference holds one. */
const REFERENCE = /<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>/g
/** Longest text of a message that is read; Slack cuts at 40,000 characters. */
const MAX_TEXT_CHARS = 40_000

function textOfEvent(event: Json): string {
  return (textIn(event, 'text') ?? '').slice(0, MAX_TEXT_CHARS)
}

/** The users whose names `toInbound` will ask for. */
export function peopleIn(event: Json): string[] {
  const named = [...textOfEvent(event).matchAll(/<@([UWB]\w+)(?:\|[^<>]*)?>/g)].map((m) => m[1] ?? '')
  return [...new Set([textIn(event, 'user') ?? '', ...named].filter(Boolean))].slice(0, 20)
}

/** What an event says to us; undefined where it is not for us. Pure: the same for `message` and `app_mention`. */
export function toInbound(event: Json, context: InboundContext): Inbound | undefined {
  const channel = textIn(event, 'channel')
  if (!channel || !heard(channel, context)) return undefined
  const subtype = textIn(event, 'subtype')
  if (subtype === 'message_deleted') {
    const ts = textIn(event, 'deleted_ts')
    const ours = textIn(objectIn(event, 'previous_message'), 'bot_id')
    return ts && (ours === undefined || ours === context.botId)
      ? { kind: 'deleted', ref: { platform: 'slack', channel, id: ts } }
      : undefined
  }
  if (event.hidden === true || (event.type === 'app_mention' && event.edited)) return undefined
  const ts = textIn(event, 'ts')
  if (!ts || !isSpoken(event, subtype, context)) return undefined
  return spoken(event, channel, ts, context)
}

function heard(channel: string, { channels }: InboundContext): boolean {
  return isDirect(channel) || channels.length === 0 || channels.includes(channel)
}

/** Not ours, not Slack's own, and of a bot only where it may speak. Messages of bots carry no subtype, but a bot_id. */
function isSpoken(event: Json, subtype: string | undefined, context: InboundContext): boolean {
  const user = textIn(event, 'user')
  const bot = textIn(event, 'bot_id')
  if (user === context.botUser || bot === context.botId || user === 'USLACK' || user === 'USLACKBOT') return false
  if (!user && !bot) return false
  const mayBot = [bot, user, textIn(event, 'app_id')].some((id) => id !== undefined && context.bots.includes(id))
  if (bot && !mayBot) return false
  return SPOKEN.has(subtype) || (subtype === 'bot_message' && mayBot)
}

function spoken(event: Json, channel: string, ts: string, context: InboundContext): Inbound | undefined {
  const raw = textOfEvent(event)
  const threadTs = textIn(event, 'thread_ts')
  const thread = threadTs === ts ? undefined : threadTs
  const named = event.type === 'app_mention' || new RegExp(`<@${context.botUser}(?:\\|[^<>]*)?>`).test(raw)
  const direct = isDirect(channel) || event.channel_type === 'im'
  if (!direct && !thread && !named) return undefined
  const user = textIn(event, 'user') ?? textIn(event, 'bot_id') ?? ''
  const root = thread ?? ts
  const parent = textIn(event, 'parent_user_id')
  const location: InboundMessage['location'] = direct
    ? { kind: 'conversation', to: { platform: 'slack', id: channel, thread: root }, startedByPeople: false }
    : thread
      ? {
          kind: 'conversation',
          to: { platform: 'slack', id: `${channel}:${thread}` },
          startedByPeople: parent !== context.botUser,
        }
      : { kind: 'channel', channel, to: { platform: 'slack', id: `${channel}:${ts}` } }
  const message: InboundMessage = {
    key: `slack:${context.team}:${channel}:${ts}`,
    platform: 'slack',
    author: {
      id: user,
      name: context.name(user) ?? textIn(event, 'username') ?? user,
      bot: textIn(event, 'bot_id') !== undefined,
    },
    text: decodeText(raw, context),
    attachments: attachments(event),
    ref: { platform: 'slack', channel, id: ts },
    sentAt: msOf(ts),
    addressed: direct ? 'direct' : named ? 'mention' : 'thread',
    location,
    ...(thread ? { replyTo: thread } : {}),
  }
  return message.text === '' && message.attachments.length === 0 && !named ? undefined : { kind: 'message', message }
}

/** Slack's text as it was meant: references by name, links by address and label, entities undone, our mention gone. */
export function decodeText(raw: string, context: Pick<InboundContext, 'botUser' | 'name'>): string {
  const rest = withoutMention(raw, new RegExp(`<@${context.botUser}(?:\\|[^<>]*)?>`))
  const named = rest.replace(REFERENCE, (_whole, mark: string, what: string, label: string | undefined) =>
    reference(mark, what, label, context.name),
  )
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }
  return named.replace(/&(?:lt|gt|amp);/g, (entity) => entities[entity] ?? entity).trim()
}

function reference(mark: string, what: string, label: string | undefined, name: InboundContext['name']): string {
  switch (mark) {
    case '@':
      return `@${name(what) ?? label ?? what}`
    case '#':
      return `#${label || what}`
    case '!':
      return label || `@${what.replace(/^subteam\^/, '').replace(/\^.*$/s, '')}`
    default:
      return link(what, label)
  }
}

function link(url: string, label: string | undefined): string {
  const target = url.replace(/^(?:mailto|tel):/, '')
  if (!label || label === url || label === target || `http://${label}` === url || `https://${label}` === url)
    return label && label !== url ? label : target
  return `${label} (${url})`
}

/** A file that Slack Connect does not yet describe is named by its id; `download` asks for it. */
export const FILE_SCHEME = 'slack-file:'

function attachments(event: Json): Attachment[] {
  return listIn(event, 'files').flatMap((file) => {
    const id = textIn(file, 'id')
    const url = textIn(file, 'url_private_download') ?? textIn(file, 'url_private') ?? (id && FILE_SCHEME + id)
    const mime = textIn(file, 'mimetype')
    if (!url || file.mode === 'tombstone' || file.mode === 'hidden_by_limit') return []
    const name = textIn(file, 'name') ?? textIn(file, 'title') ?? 'file'
    return [{ name, url, size: typeof file.size === 'number' ? file.size : 0, ...(mime ? { mime } : {}) }]
  })
}

/** The workspace the app is installed in; in shared channels the envelope may name another. */
export function teamOf(body: Json): string | undefined {
  const [first] = Array.isArray(body.authorizations) ? body.authorizations : []
  return textIn(first, 'team_id') ?? textIn(body, 'team_id')
}
