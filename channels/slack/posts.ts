import type { Address, MessageRef, PendingPost } from '../../src/channel/channel-adapter.ts'
import { REFUSED } from '../../src/copy/platforms.ts'
import type { Clock } from '../../src/util/time.ts'
import { msOf, type PostTarget, postTargetOf, tsOf } from './address.ts'
import type { CallOptions, SlackApi } from './api.ts'
import { codeOf, SlackRefusedError, SlackUnclearError } from './errors.ts'
import { isJson, type Json, listIn, objectIn, textIn } from './json.ts'

/** Messages may be dated a little before the row that announces them: clocks differ, ms. */
const CLOCK_SKEW_MS = 5000
/** Pages of 200 messages that a read-back goes through. */
const MAX_PAGES = 5

/** Codes that say that the blocks, not the message, are the fault. */
const BLOCKS = new Set([
  'invalid_blocks',
  'invalid_blocks_format',
  'msg_blocks_too_long',
  'msg_blocks_too_many',
  'block_mismatch',
  'blocks_not_supported',
])

export function metadataOf(key: string, more: Json = {}): Json {
  return { event_type: 'turnstone_post', event_payload: { key, ...more } }
}

function payloadOf(message: Json): Json {
  return objectIn(objectIn(message, 'metadata'), 'event_payload')
}

/** Posts, changes, removes and reads back messages. Each post carries its key in the message's metadata. */
export class Poster {
  readonly #api: SlackApi
  readonly #clock: Clock
  readonly #directs = new Map<string, string>()
  readonly #removed = new Map<string, number>()
  /** Texts of several messages of which only some stand: the index in the text, and the message. */
  readonly #standing = new Map<string, Map<number, MessageRef>>()
  /** Who we are; set once known. */
  botId = ''

  constructor(api: SlackApi, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  /** Where a message goes; opens the direct messages with a person. */
  async targetOf(to: Address): Promise<PostTarget> {
    const place = postTargetOf(to)
    if (!/^[UW]/.test(place.channel)) return place
    const known = this.#directs.get(place.channel)
    if (known) return { ...place, channel: known }
    const opened = await this.#api.call('conversations.open', { users: place.channel }, { tries: 3 })
    const channel = textIn(objectIn(opened, 'channel'), 'id') ?? place.channel
    if (this.#directs.size > 1000) this.#directs.clear()
    this.#directs.set(place.channel, channel)
    return { ...place, channel }
  }

  /** `plain` is what stands in for blocks that Slack refuses. */
  async post(
    to: Address,
    post: { body: Json; plain?: Json; metadata?: Json },
    how: CallOptions = {},
  ): Promise<MessageRef> {
    const { channel, thread } = await this.targetOf(to)
    const base = {
      channel,
      ...(thread ? { thread_ts: thread } : {}),
      ...(post.metadata ? { metadata: post.metadata } : {}),
      unfurl_links: false,
      unfurl_media: false,
    }
    const answer = await this.#api.call('chat.postMessage', { ...base, ...post.body }, how).catch((error: unknown) => {
      if (!post.plain || !BLOCKS.has(codeOf(error) ?? '')) throw error
      return this.#api.call('chat.postMessage', { ...base, ...post.plain }, how)
    })
    return refOf(answer, channel)
  }

  /** A text of several messages under one key; those that stand already are left out. */
  async postAll(to: Address, key: string, bodies: readonly { body: Json; plain: Json }[]): Promise<MessageRef> {
    const standing = this.#standing.get(key) ?? new Map<number, MessageRef>()
    this.#standing.set(key, standing)
    const of = bodies.length
    for (const [part, one] of bodies.entries()) {
      if (standing.has(part)) continue
      standing.set(part, await this.post(to, { ...one, metadata: metadataOf(key, of > 1 ? { part, of } : {}) }))
    }
    this.#standing.delete(key)
    const first = standing.get(0)
    if (!first) throw new SlackRefusedError('no_text', REFUSED.empty)
    return first
  }

  /** For one person's eyes; nothing finds or changes it later. */
  async postEphemeral(to: Address, user: string, body: Json): Promise<MessageRef> {
    const { channel, thread } = await this.targetOf(to)
    const args = { channel, user, ...(thread ? { thread_ts: thread } : {}), ...body }
    const answer = await this.#api.call('chat.postEphemeral', args, { tries: 2 })
    return { platform: 'slack', channel, id: textIn(answer, 'message_ts') ?? '' }
  }

  /** Whether the message still stands. A stream that was left open is ended first. Rejects with SlackRefused. */
  async update(ref: MessageRef, body: Json, how: CallOptions = {}): Promise<boolean> {
    const args = { channel: ref.channel, ts: ref.id, parse: 'none', ...body }
    try {
      await this.#api.call('chat.update', args, how)
      return true
    } catch (error) {
      const code = codeOf(error)
      if (code === 'message_not_found') return false
      if (code !== 'streaming_state_conflict') throw error
      await this.endStream(ref)
      await this.#api.call('chat.update', args, how)
      return true
    }
  }

  /** Ends a stream of which nothing more is known; one that has ended is fine. */
  async endStream(ref: MessageRef): Promise<void> {
    await this.#api
      .call('chat.stopStream', { channel: ref.channel, ts: ref.id }, { tries: 4 })
      .catch((error: unknown) => {
        if (!(error instanceof SlackRefusedError)) throw error
      })
  }

  async remove(ref: MessageRef): Promise<void> {
    this.#noteRemoved(ref)
    const gone = ref.id.startsWith('F')
      ? this.#api.call('files.delete', { file: ref.id }, { tries: 4 })
      : this.#api.call('chat.delete', { channel: ref.channel, ts: ref.id }, { tries: 4 })
    await gone.catch((error: unknown) => {
      const code = codeOf(error)
      if (code !== 'message_not_found' && code !== 'file_not_found' && code !== 'file_deleted') throw error
    })
  }

  /** Whether it was us who removed the message. */
  removedByUs(ref: MessageRef): boolean {
    return this.#removed.has(`${ref.channel}/${ref.id}`)
  }

  #noteRemoved(ref: MessageRef): void {
    this.#removed.set(`${ref.channel}/${ref.id}`, this.#clock.now())
    const oldest = this.#removed.keys().next().value
    if (this.#removed.size > 1000 && oldest !== undefined) this.#removed.delete(oldest)
  }

  /** Our own messages of the place since `from`, oldest first, with their metadata. */
  async own(to: Address, from: number): Promise<Json[]> {
    if (!this.botId) throw new SlackUnclearError('Slack has not told us yet who we are')
    const { channel, thread } = await this.targetOf(to)
    const method = thread ? 'conversations.replies' : 'conversations.history'
    const base = { channel, oldest: tsOf(from), inclusive: true, limit: 200, include_all_metadata: true }
    const out: Json[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES; page++) {
      const args = { ...base, ...(thread ? { ts: thread } : {}), ...(cursor ? { cursor } : {}) }
      const answer = await this.#api.call(method, args, { tries: 2 })
      out.push(...listIn(answer, 'messages').filter((m) => textIn(m, 'bot_id') === this.botId))
      cursor = textIn(objectIn(answer, 'response_metadata'), 'next_cursor')
      if (!cursor) break
    }
    return out.sort((a, b) => msOf(textIn(a, 'ts') ?? '0') - msOf(textIn(b, 'ts') ?? '0'))
  }

  /** A message that bears the post's key, or its card, or a stream that nobody owns. Rejects where it could not read. */
  async find(to: Address, post: PendingPost): Promise<MessageRef | undefined> {
    const from = post.at - CLOCK_SKEW_MS
    const { channel } = await this.targetOf(to)
    const messages = (await this.own(to, from)).filter((m) => msOf(textIn(m, 'ts') ?? '0') >= from)
    const keyed = messages.filter((m) => payloadOf(m).key === post.key)
    const ref = (m: Json | undefined): MessageRef | undefined => (m ? refOf(m, channel) : undefined)
    const of = Number(payloadOf(keyed[0] ?? {}).of) || 1
    if (of === 1) {
      const free = messages.filter((m) => !post.owned.has(textIn(m, 'ts') ?? ''))
      return ref(keyed[0] ?? free.find((m) => isCardOf(m, post)) ?? free.find((m) => isLooseStream(m, post)))
    }
    const standing = new Map(keyed.map((m) => [Number(payloadOf(m).part), refOf(m, channel)]))
    if (standing.size === of) return standing.get(0)
    this.#standing.set(post.key, standing)
    return undefined
  }
}

function refOf(answer: Json, channel: string): MessageRef {
  return { platform: 'slack', channel: textIn(answer, 'channel') ?? channel, id: textIn(answer, 'ts') ?? '' }
}

/** A card names its approval in its buttons, and a key names the approval of its card. */
function isCardOf(message: Json, post: PendingPost): boolean {
  if (post.kind !== 'card') return false
  const ids = post.key.split(/[:/#]/)
  return listIn(message, 'blocks').some((block) =>
    listIn(block, 'elements').some(
      (e) => (textIn(e, 'action_id') ?? '').startsWith('ts:') && ids.includes(textIn(e, 'value') ?? ' '),
    ),
  )
}

/** A stream gets its key when it is ended: until then it is known by having none. */
function isLooseStream(message: Json, post: PendingPost): boolean {
  if (post.kind !== 'stream' && post.kind !== 'text') return false
  return message.streaming_state !== undefined && !isJson(message.metadata)
}
