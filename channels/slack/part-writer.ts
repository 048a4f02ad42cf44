import type { Address, ChannelAdapter, PostLog } from '../../src/channel/channel-adapter.ts'
import { type PostLanes, PostRefused, postOnce } from '../../src/channel/post-once.ts'
import { messageOf } from '../../src/util/errors.ts'
import { sha256 } from '../../src/util/ids.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { isDirect, msOf, placeOf } from './address.ts'
import type { CallHow, SlackApi } from './api.ts'
import { codeOf, SlackRefused, SlackUnclear } from './errors.ts'
import { objectIn, textIn } from './json.ts'
import { LIMITS } from './limits.ts'
import { markdownBody, plainBody } from './outbound.ts'
import type { Pacer } from './pacer.ts'
import type { Part, Target } from './parts.ts'
import { metadataOf, type Poster } from './poster.ts'
import { type Feature, isMissing } from './status.ts'

export interface WriterParts {
  readonly api: SlackApi
  readonly poster: Poster
  readonly adapter: Pick<ChannelAdapter, 'find'>
  readonly pacer: Pacer
  readonly clock: Clock
  readonly log: Log
  readonly lanes: PostLanes
  readonly life: AbortSignal
  /** Native streaming. */
  readonly streaming: Feature
  readonly team: () => string
  /** Who is answered in this conversation; a stream in a channel must name somebody. */
  readonly recipient: (to: Address) => string | undefined
}

/** Codes by which Slack says that a stream has ended. */
const ENDED = new Set(['message_not_in_streaming_state', 'stopped_by_user', 'streaming_not_found', 'stream_expired'])

/** `later`: the budget is short. `cut`: the stream ended, the rest belongs to the next part. `again`: plan anew. */
export type Brought = 'done' | 'later' | 'cut' | 'again'

/** Brings one message of an answer to its content: by a native stream while text only grows, else by edits. */
export class PartWriter {
  readonly #p: WriterParts
  readonly #to: Address
  readonly #posts: PostLog
  readonly #onPost: () => void
  #native = true

  constructor(parts: WriterParts, to: Address, posts: PostLog, onPost: () => void) {
    this.#p = parts
    this.#to = to
    this.#posts = posts
    this.#onPost = onPost
  }

  async bring(part: Part, target: Target): Promise<Brought> {
    const { text } = target
    if (text === undefined || text.trim() === '' || part.mode === 'sealed' || part.mode === 'gone') return 'done'
    if (part.mode === 'none') return this.#begin(part, text, target)
    if (part.mode === 'posted') return this.#edit(part, text, target)
    if (part.shown === undefined || !text.startsWith(part.shown)) {
      if (!target.complete && !this.#mayGrow('chat.update')) return 'later'
      await this.#slot()
      await this.#p.poster.endStream(part.ref ?? noRef())
      part.mode = 'posted'
      part.shown = undefined
      return this.#edit(part, text, target)
    }
    return target.complete ? this.#stop(part, text, target) : this.#append(part, text, target)
  }

  /** What a restart left: its content's hash, and whether a stream is open. Where it cannot be read all is rewritten. */
  async inspect(parts: readonly Part[]): Promise<void> {
    const first = Math.min(...parts.map((p) => msOf(p.ref?.id ?? '0')))
    const messages = await this.#p.poster.own(this.#to, first - 1000).catch((error: unknown) => {
      this.#p.log.debug({ reason: messageOf(error) }, 'an answer could not be read back')
      return undefined
    })
    for (const [i, part] of parts.entries()) {
      const found = messages?.find((m) => textIn(m, 'ts') === part.ref?.id)
      const sum = textIn(objectIn(objectIn(found, 'metadata'), 'event_payload'), 'sum')
      if (sum) part.sum = sum
      const open = found ? found.streaming_state === 'in_progress' : !messages && i === parts.length - 1
      if (open) part.mode = 'stream'
    }
  }

  async remove(part: Part): Promise<void> {
    if (!part.ref || part.mode === 'gone') return
    if (part.mode === 'stream') await this.#p.poster.endStream(part.ref)
    await this.#p.poster.remove(part.ref).catch((error: unknown) => {
      if (!(error instanceof PostRefused)) throw error
      this.#p.log.warn({ reason: error.reason }, 'a message could not be removed')
    })
    await this.#posts.forget(part.key)
  }

  #mayGrow(method: string): boolean {
    return this.#p.pacer.wait(method, 'growing', placeOf(this.#to).room) === 0
  }

  /** One edit or append in 1.5 s for the whole conversation. */
  async #slot(): Promise<void> {
    const { pacer, clock, life } = this.#p
    for (let wait = pacer.untilEdit(this.#to.id); wait > 0; wait = pacer.untilEdit(this.#to.id))
      await sleep(clock, wait, life)
    pacer.noteEdit(this.#to.id)
  }

  #mayStream(): boolean {
    const { room, thread } = placeOf(this.#to)
    if (!this.#native || !this.#p.streaming.on || !thread) return false
    if (!isDirect(room) && !this.#p.recipient(this.#to)) return false
    return this.#mayGrow('chat.startStream') && this.#mayGrow('chat.stopStream')
  }

  async #begin(part: Part, text: string, target: Target): Promise<Brought> {
    // A part that begins with a tool's line will have to change: it is no stream.
    const stream = !target.complete && !/^- \p{Extended_Pictographic}/u.test(text) && this.#mayStream()
    if (!target.complete && !stream && !this.#mayGrow('chat.postMessage')) return 'later'
    try {
      const { ref, posted } = await postOnce(
        { adapter: this.#p.adapter, posts: this.#posts, lanes: this.#p.lanes, clock: this.#p.clock },
        {
          key: part.key,
          to: this.#to,
          kind: stream ? 'stream' : 'text',
          text: stream ? '' : text,
          send: () => (stream ? this.#start(text) : this.#post(part.key, text)),
        },
        this.#p.life,
      )
      this.#p.pacer.noteEdit(this.#to.id)
      this.#onPost()
      const now = this.#p.clock.now()
      Object.assign(part, { ref, startedAt: now, touchedAt: now, covered: target.covered })
      part.mode = stream || !posted ? 'stream' : 'posted'
      part.shown = posted ? text : undefined
      return posted ? 'done' : 'again'
    } catch (error) {
      if (!(error instanceof PostRefused)) throw error
      if (!stream) return this.#giveUp(part, error)
      this.#native = false
      if (isMissing(error)) this.#p.streaming.on = false
      this.#p.log.info({ reason: error.reason }, 'Slack does not stream here; answers grow by edits')
      return 'again'
    }
  }

  async #start(text: string) {
    const { room, thread } = await this.#p.poster.place(this.#to)
    const user = this.#p.recipient(this.#to)
    const answer = await this.#p.api.call('chat.startStream', {
      channel: room,
      thread_ts: thread,
      markdown_text: text,
      ...(user ? { recipient_user_id: user, recipient_team_id: this.#p.team() } : {}),
    })
    return { channel: 'slack' as const, room, id: textIn(answer, 'ts') ?? '' }
  }

  #post(key: string, text: string) {
    const metadata = metadataOf(key, { sum: sha256(text) })
    return this.#p.poster.post(this.#to, { body: markdownBody(text), plain: plainBody(text), metadata })
  }

  async #append(part: Part, text: string, { covered }: Target): Promise<Brought> {
    const now = this.#p.clock.now()
    const more = text.slice(part.shown?.length ?? 0)
    if (now - part.startedAt >= LIMITS.streamMs) return this.#roll(part, 'cut')
    if (more === '') return now - part.touchedAt >= LIMITS.streamIdleMs ? this.#roll(part, 'done') : 'done'
    if (!this.#mayGrow('chat.appendStream')) return 'later'
    await this.#slot()
    const { room, id } = part.ref ?? noRef()
    try {
      const args = { channel: room, ts: id, markdown_text: more }
      await this.#p.api.call('chat.appendStream', args, { urgency: 'growing' })
      Object.assign(part, { shown: text, covered, touchedAt: this.#p.clock.now() })
      return 'done'
    } catch (error) {
      return this.#lost(part, error)
    }
  }

  /** Ends the stream as it stands: the rest goes into the next part, or, after a silence, on by edits. */
  async #roll(part: Part, next: 'cut' | 'done'): Promise<Brought> {
    await this.#p.poster.endStream(part.ref ?? noRef())
    part.mode = next === 'cut' ? 'sealed' : 'posted'
    return next
  }

  async #stop(part: Part, text: string, { covered }: Target): Promise<Brought> {
    const more = text.slice(part.shown?.length ?? 0)
    if (more) await this.#slot()
    const { room, id } = part.ref ?? noRef()
    const metadata = metadataOf(part.key, { sum: sha256(text) })
    try {
      const args = { channel: room, ts: id, metadata, ...(more ? { markdown_text: more } : {}) }
      await this.#p.api.call('chat.stopStream', args)
    } catch (error) {
      if (more === '' && ENDED.has(codeOf(error) ?? '')) part.mode = 'posted'
      else return this.#lost(part, error)
    }
    Object.assign(part, { mode: 'posted', shown: text, covered })
    return 'done'
  }

  /** An append or a stop did not get through as it should. */
  #lost(part: Part, error: unknown): Brought {
    const code = codeOf(error) ?? ''
    if (error instanceof SlackUnclear && error.retryAfterMs !== undefined) {
      if (code !== 'budget') throw error
      return 'later'
    }
    if (ENDED.has(code)) {
      part.mode = 'sealed'
      return 'cut'
    }
    if (code === 'message_not_found') {
      part.mode = 'gone'
      return 'done'
    }
    if (!(error instanceof SlackUnclear || error instanceof SlackRefused)) throw error
    // It may have landed or not: the whole text is written over it.
    part.shown = undefined
    return 'again'
  }

  async #edit(part: Part, text: string, target: Target): Promise<Brought> {
    if (part.shown === text || (part.shown === undefined && part.sum === sha256(text))) {
      part.shown = text
      return 'done'
    }
    if (!target.complete && !this.#mayGrow('chat.update')) return 'later'
    await this.#slot()
    const how: CallHow = target.complete ? { tries: 4 } : { urgency: 'growing' }
    const body = { ...markdownBody(text), metadata: metadataOf(part.key, { sum: sha256(text) }) }
    try {
      if (!(await this.#p.poster.update(part.ref ?? noRef(), body, how))) part.mode = 'gone'
      else Object.assign(part, { shown: text, covered: target.covered })
      return 'done'
    } catch (error) {
      if (error instanceof SlackUnclear && error.code === 'budget') return 'later'
      if (!(error instanceof SlackRefused)) throw error
      return this.#renew(part, error)
    }
  }

  /** Slack will not change this message: it is removed and posted anew, once. */
  async #renew(part: Part, why: SlackRefused): Promise<Brought> {
    if (part.renewed || LOST_PLACE.has(why.code)) return this.#giveUp(part, why)
    this.#p.log.info({ reason: why.reason }, 'a message cannot be changed and is posted anew')
    await this.remove(part)
    delete part.ref
    Object.assign(part, { mode: 'none', shown: undefined, renewed: true })
    return 'again'
  }

  #giveUp(part: Part, error: PostRefused): Brought {
    this.#p.log.warn({ reason: error.reason }, 'an answer cannot be shown')
    part.mode = 'gone'
    return 'done'
  }
}

/** Refusals of the place, not of the message. */
const LOST_PLACE = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'missing_scope',
  'restricted_action',
  'thread_not_found',
])

function noRef(): never {
  throw new Error('a part without a message')
}
