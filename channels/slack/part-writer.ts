import type { Address, ChannelAdapter, PostLog } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import { LOG } from '../../src/copy/log.ts'
import type { Locks } from '../../src/jobs/locks.ts'
import { messageOf } from '../../src/util/errors.ts'
import { sha256 } from '../../src/util/ids.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import type { EditPace } from '../canvas/edit-pace.ts'
import { isDirect, msOf, postTargetOf } from './address.ts'
import type { CallOptions, SlackApi } from './api.ts'
import { codeOf, SlackRefusedError, SlackUnclearError } from './errors.ts'
import { objectIn, textIn } from './json.ts'
import { LIMITS } from './limits.ts'
import { markdownBody, plainBody } from './outbound.ts'
import type { Part, Target } from './parts.ts'
import { metadataOf, type Poster } from './posts.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { type Feature, isMissing } from './status.ts'

export interface WriterDeps {
  readonly api: SlackApi
  readonly poster: Poster
  readonly adapter: Pick<ChannelAdapter, 'findPost' | 'readBackDelayMs'>
  readonly pacer: RateLimiter
  readonly pace: EditPace
  readonly clock: Clock
  readonly log: Log
  readonly locks: Locks
  readonly life: AbortSignal
  /** Native streaming. */
  readonly streaming: Feature
  readonly team: () => string
  /** Who is answered in this conversation; a stream in a channel must name somebody. */
  readonly recipient: (to: Address) => string | undefined
}

/** Codes by which Slack says that a stream has ended. */
const ENDED = new Set(['message_not_in_streaming_state', 'stopped_by_user', 'streaming_not_found', 'stream_expired'])

/** How often a message of an answer that somebody deleted, or that cannot be changed, is replaced by a new one. */
const MAX_RENEWALS = 3

/** `later`: the budget is short. `cut`: the stream ended, the rest belongs to the next part. `again`: plan anew. */
export type WriteOutcome = 'done' | 'later' | 'cut' | 'again'

/** Brings one message of an answer to its content: by a native stream while text only grows, else by edits. */
export class PartWriter {
  readonly #deps: WriterDeps
  readonly #to: Address
  readonly #posts: PostLog
  readonly #onPost: () => void
  #native = true

  constructor(deps: WriterDeps, to: Address, posts: PostLog, onPost: () => void) {
    this.#deps = deps
    this.#to = to
    this.#posts = posts
    this.#onPost = onPost
  }

  async bring(part: Part, target: Target): Promise<WriteOutcome> {
    const { text } = target
    if (text === undefined || text.trim() === '' || part.mode === 'sealed' || part.mode === 'gone') return 'done'
    if (part.mode === 'none') return this.#begin(part, text, target)
    if (part.mode === 'posted') return this.#edit(part, text, target)
    if (part.shown === undefined || !text.startsWith(part.shown)) {
      if (!target.complete && !this.#mayGrow('chat.update')) return 'later'
      await this.#slot()
      await this.#deps.poster.endStream(part.ref ?? noRef())
      part.mode = 'posted'
      part.shown = undefined
      return this.#edit(part, text, target)
    }
    return target.complete ? this.#stop(part, text, target) : this.#append(part, text, target)
  }

  /** What a restart left: its content's hash, and whether a stream is open. Where it cannot be read all is rewritten. */
  async inspect(parts: readonly Part[]): Promise<void> {
    const first = Math.min(...parts.map((p) => msOf(p.ref?.id ?? '0')))
    const messages = await this.#deps.poster.own(this.#to, first - 1000).catch((error: unknown) => {
      this.#deps.log.debug({ reason: messageOf(error) }, LOG.answerNotReadBack)
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
    if (part.mode === 'stream') await this.#deps.poster.endStream(part.ref)
    await this.#deps.poster.remove(part.ref).catch((error: unknown) => {
      if (!(error instanceof PostRefusedError)) throw error
      this.#deps.log.warn({ reason: error.reason }, LOG.partNotRemoved)
    })
    await this.#posts.forget(part.key)
  }

  #mayGrow(method: string): boolean {
    return this.#deps.pacer.delayFor(method, 'growing', postTargetOf(this.#to).channel) === 0
  }

  /** One edit or append in 1.5 s for the whole conversation. */
  async #slot(): Promise<void> {
    const { pace, clock, life } = this.#deps
    for (let wait = pace.delayMs(this.#to.id); wait > 0; wait = pace.delayMs(this.#to.id))
      await sleep(clock, wait, life)
    pace.note(this.#to.id)
  }

  #mayStream(): boolean {
    const { channel, thread } = postTargetOf(this.#to)
    if (!this.#native || !this.#deps.streaming.on || !thread) return false
    if (!isDirect(channel) && !this.#deps.recipient(this.#to)) return false
    return this.#mayGrow('chat.startStream') && this.#mayGrow('chat.stopStream')
  }

  async #begin(part: Part, text: string, target: Target): Promise<WriteOutcome> {
    // A part that begins with a tool's line will have to change: it is no stream.
    const stream = !target.complete && !/^- \p{Extended_Pictographic}/u.test(text) && this.#mayStream()
    if (!target.complete && !stream && !this.#mayGrow('chat.postMessage')) return 'later'
    try {
      const { ref, posted } = await postOnce(
        { adapter: this.#deps.adapter, posts: this.#posts, locks: this.#deps.locks, clock: this.#deps.clock },
        {
          key: part.key,
          to: this.#to,
          kind: stream ? 'stream' : 'text',
          text: stream ? '' : text,
          send: () => (stream ? this.#start(text) : this.#post(part.key, text)),
        },
        this.#deps.life,
      )
      this.#deps.pace.note(this.#to.id)
      this.#onPost()
      const now = this.#deps.clock.now()
      Object.assign(part, { ref, startedAt: now, touchedAt: now, covered: target.covered })
      part.mode = stream || !posted ? 'stream' : 'posted'
      part.shown = posted ? text : undefined
      return posted ? 'done' : 'again'
    } catch (error) {
      if (!(error instanceof PostRefusedError)) throw error
      if (!stream) return this.#giveUp(part, error.reason)
      this.#native = false
      if (isMissing(error)) this.#deps.streaming.on = false
      this.#deps.log.info({ reason: error.reason }, LOG.noSlackStream)
      return 'again'
    }
  }

  async #start(text: string) {
    const { channel, thread } = await this.#deps.poster.targetOf(this.#to)
    const user = this.#deps.recipient(this.#to)
    const answer = await this.#deps.api.call('chat.startStream', {
      channel,
      thread_ts: thread,
      markdown_text: text,
      ...(user ? { recipient_user_id: user, recipient_team_id: this.#deps.team() } : {}),
    })
    return { platform: 'slack' as const, channel, id: textIn(answer, 'ts') ?? '' }
  }

  #post(key: string, text: string) {
    const metadata = metadataOf(key, { sum: sha256(text) })
    return this.#deps.poster.post(this.#to, { body: markdownBody(text), plain: plainBody(text), metadata })
  }

  async #append(part: Part, text: string, { covered }: Target): Promise<WriteOutcome> {
    const now = this.#deps.clock.now()
    const more = text.slice(part.shown?.length ?? 0)
    if (now - part.startedAt >= LIMITS.streamMs) return this.#roll(part, 'cut')
    if (more === '') return now - part.touchedAt >= LIMITS.streamIdleMs ? this.#roll(part, 'done') : 'done'
    if (!this.#mayGrow('chat.appendStream')) return 'later'
    await this.#slot()
    const { channel, id } = part.ref ?? noRef()
    try {
      const args = { channel, ts: id, markdown_text: more }
      await this.#deps.api.call('chat.appendStream', args, { priority: 'growing' })
      Object.assign(part, { shown: text, covered, touchedAt: this.#deps.clock.now() })
      return 'done'
    } catch (error) {
      return this.#lost(part, error)
    }
  }

  /** Ends the stream as it stands: the rest goes into the next part, or, after a silence, on by edits. */
  async #roll(part: Part, next: 'cut' | 'done'): Promise<WriteOutcome> {
    await this.#deps.poster.endStream(part.ref ?? noRef())
    part.mode = next === 'cut' ? 'sealed' : 'posted'
    return next
  }

  async #stop(part: Part, text: string, { covered }: Target): Promise<WriteOutcome> {
    const more = text.slice(part.shown?.length ?? 0)
    if (more) await this.#slot()
    const { channel, id } = part.ref ?? noRef()
    const metadata = metadataOf(part.key, { sum: sha256(text) })
    try {
      const args = { channel, ts: id, metadata, ...(more ? { markdown_text: more } : {}) }
      await this.#deps.api.call('chat.stopStream', args)
    } catch (error) {
      if (more === '' && ENDED.has(codeOf(error) ?? '')) part.mode = 'posted'
      else return this.#lost(part, error)
    }
    Object.assign(part, { mode: 'posted', shown: text, covered })
    return 'done'
  }

  /** An append or a stop did not get through as it should. */
  async #lost(part: Part, error: unknown): Promise<WriteOutcome> {
    const code = codeOf(error) ?? ''
    if (error instanceof SlackUnclearError && error.retryAfterMs !== undefined) {
      if (code !== 'budget') throw error
      return 'later'
    }
    if (ENDED.has(code)) {
      part.mode = 'sealed'
      return 'cut'
    }
    if (code === 'message_not_found') return this.#replace(part, 'the message was deleted')
    if (!(error instanceof SlackUnclearError || error instanceof SlackRefusedError)) throw error
    // It may have landed or not: the whole text is written over it.
    part.shown = undefined
    return 'again'
  }

  async #edit(part: Part, text: string, target: Target): Promise<WriteOutcome> {
    if (part.shown === text || (part.shown === undefined && part.sum === sha256(text))) {
      part.shown = text
      return 'done'
    }
    if (!target.complete && !this.#mayGrow('chat.update')) return 'later'
    await this.#slot()
    const how: CallOptions = target.complete ? { tries: 4 } : { priority: 'growing' }
    const body = { ...markdownBody(text), metadata: metadataOf(part.key, { sum: sha256(text) }) }
    try {
      if (!(await this.#deps.poster.update(part.ref ?? noRef(), body, how)))
        return await this.#replace(part, 'the message was deleted')
      Object.assign(part, { shown: text, covered: target.covered })
      return 'done'
    } catch (error) {
      if (error instanceof SlackUnclearError && error.code === 'budget') return 'later'
      if (!(error instanceof SlackRefusedError)) throw error
      return this.#renew(part, error)
    }
  }

  /** Slack will not change this message: it is removed and a new one takes its place. */
  async #renew(part: Part, why: SlackRefusedError): Promise<WriteOutcome> {
    if (LOST_PLACE.has(why.code)) return this.#giveUp(part, why.reason)
    await this.remove(part)
    return this.#replace(part, why.reason)
  }

  /** The message is gone: the next round posts the part again. */
  async #replace(part: Part, reason: string): Promise<WriteOutcome> {
    if (part.renewals >= MAX_RENEWALS) return this.#giveUp(part, reason)
    this.#deps.log.info({ reason }, LOG.partReposted)
    await this.#posts.forget(part.key)
    delete part.ref
    Object.assign(part, { mode: 'none', shown: undefined, renewals: part.renewals + 1 })
    return 'again'
  }

  #giveUp(part: Part, reason: string): WriteOutcome {
    this.#deps.log.warn({ reason }, LOG.partRefused)
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
