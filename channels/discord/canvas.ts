import type { Address, MessageRef, PostLog, TurnCanvas } from '../../src/channel/channel-adapter.ts'
import { decodePostKey, encodePostKey } from '../../src/channel/post-key.ts'
import { adoptPending, type PostDeps, PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import { isWorking, type TurnView } from '../../src/channel/turn-view.ts'
import { LOG } from '../../src/copy/log.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { CanvasLoop, type CanvasPainter, type Round, type RoundOutcome } from '../canvas/canvas-loop.ts'
import type { EditPace } from '../canvas/edit-pace.ts'
import { type Api, codeOf } from './api.ts'
import type { RawMessage } from './inbound.ts'
import type { RenderMemo } from './markdown.ts'
import { type Part, renderView } from './parts.ts'
import { postContent, removePost } from './posts.ts'
import { Typing } from './status.ts'

/** How often a message of an answer that somebody deleted, or that cannot be changed, is replaced by a new one. */
const MAX_RENEWALS = 3

export interface CanvasDeps {
  readonly api: Api
  readonly post: Omit<PostDeps, 'posts'>
  readonly clock: Clock
  readonly log: Log
  readonly pace: EditPace
  /** Aborts when the adapter stops. */
  readonly life: AbortSignal
}

interface Shown {
  /** Under which the message was posted; the part's own key, or one of a renewal. */
  readonly key: string
  readonly renewals: number
  readonly ref: MessageRef
  /** What the message says; undefined where it is not known. */
  content: string | undefined
}

export class DiscordCanvas implements TurnCanvas {
  readonly #loop: CanvasLoop
  readonly #typing: Typing
  readonly #life: AbortSignal

  constructor(deps: CanvasDeps, to: Address, turn: string, posts: PostLog) {
    this.#life = deps.life
    this.#loop = new CanvasLoop(deps, new DiscordPainter(deps, to, turn, posts))
    const channel = to.replyIn ?? to.id
    this.#typing = new Typing(deps.clock, () =>
      deps.api.post(`/channels/${channel}/typing`).then(
        () => undefined,
        () => undefined,
      ),
    )
  }

  draw(view: TurnView): void {
    if (isWorking(view.phase) && !this.#life.aborted) this.#typing.on()
    else this.#typing.off()
    this.#loop.draw(view)
  }

  settle(signal: AbortSignal): Promise<void> {
    this.#typing.off()
    return this.#loop.settle(signal)
  }
}

class DiscordPainter implements CanvasPainter {
  readonly #deps: CanvasDeps
  readonly #to: Address
  readonly #turn: string
  readonly #posts: PostLog
  readonly #memo: RenderMemo = { parts: new Map() }
  /** By the part's own key. */
  readonly #shown = new Map<string, Shown>()
  /** Parts whose message is to be replaced, with the number of the next renewal. */
  readonly #lost = new Map<string, number>()
  /** Parts that Discord will not take, or that were lost too often. */
  readonly #abandoned = new Set<string>()

  constructor(deps: CanvasDeps, to: Address, turn: string, posts: PostLog) {
    this.#deps = deps
    this.#to = to
    this.#turn = turn
    this.#posts = posts
  }

  isEmpty(): boolean {
    return this.#shown.size === 0
  }

  delayMs(): number {
    return this.isEmpty() ? 0 : this.#deps.pace.delayMs(this.#to.id)
  }

  async finish(): Promise<void> {}

  /** Parts from before a restart, with what they say, so that only what differs is edited. */
  async resume(signal: AbortSignal): Promise<void> {
    await adoptPending({ ...this.#deps.post, posts: this.#posts }, this.#to, this.#turn, signal)
    this.#shown.clear()
    for (const [key, ref] of await this.#posts.known(this.#turn)) {
      const found = decodePostKey(key)
      if (found?.kind !== 'part') continue
      const { again = 0, ...part } = found
      const own = encodePostKey(part)
      if ((this.#shown.get(own)?.renewals ?? -1) < again)
        this.#shown.set(own, { key, renewals: again, ref, content: undefined })
    }
    for (const shown of this.#shown.values()) {
      shown.content = await this.#deps.api.get(`/channels/${shown.ref.channel}/messages/${shown.ref.id}`).then(
        (message) => (message as RawMessage).content,
        () => undefined,
      )
    }
  }

  async paint({ view, final, outdated, signal }: Round): Promise<RoundOutcome> {
    const parts = await renderView(view, this.#turn, this.#memo)
    const failures: unknown[] = []
    for (const part of parts) {
      if (!this.#differs(part)) continue
      signal.throwIfAborted()
      if (this.#shown.has(part.key)) await this.#paced(signal)
      if (outdated()) return 'again'
      await this.#bring(part, signal).catch((error: unknown) => {
        signal.throwIfAborted()
        failures.push(error)
      })
    }
    // While text may still come, what was posted stays until it is written over: a key posted again so soon would be
    // taken for the message that was removed.
    if (final) await this.#removeSurplus(parts)
    if (failures.length > 0) throw failures[0]
    return parts.some((part) => this.#differs(part)) ? 'again' : 'shown'
  }

  #differs(part: Part): boolean {
    return !this.#abandoned.has(part.key) && this.#shown.get(part.key)?.content !== part.content
  }

  async #paced(signal: AbortSignal): Promise<void> {
    const wait = this.#deps.pace.delayMs(this.#to.id)
    if (wait > 0) await sleep(this.#deps.clock, wait, signal)
  }

  async #bring(part: Part, signal: AbortSignal): Promise<void> {
    const shown = this.#shown.get(part.key)
    try {
      if (shown) await this.#edit(part, shown)
      else await this.#post(part, signal)
    } catch (error) {
      if (!(error instanceof PostRefusedError)) throw error
      if (shown && !LOST_PLACE.has(codeOf(error) ?? 0)) await this.#renew(part, shown, error.reason)
      else this.#abandon(part, error.reason)
    } finally {
      this.#deps.pace.note(this.#to.id)
    }
  }

  async #edit(part: Part, shown: Shown): Promise<void> {
    if (await this.#deps.api.edit(shown.ref.channel, shown.ref.id, { content: part.content })) {
      shown.content = part.content
      return
    }
    this.#lose(part, shown, 'the message was deleted')
  }

  /** Discord will not change this message: a new one takes its place. */
  async #renew(part: Part, shown: Shown, reason: string): Promise<void> {
    await removePost(this.#deps.api, shown.ref).catch((error: unknown) => {
      if (!(error instanceof PostRefusedError)) throw error
    })
    this.#lose(part, shown, reason)
  }

  /** The next round posts the part as a new message. Its old row stays: it says how often that was done. */
  #lose(part: Part, shown: Shown, reason: string): void {
    if (shown.renewals >= MAX_RENEWALS) {
      this.#abandon(part, reason)
      return
    }
    this.#deps.log.info({ reason, turn: this.#turn, part: part.key }, LOG.partReposted)
    this.#lost.set(part.key, shown.renewals + 1)
    this.#shown.delete(part.key)
  }

  #abandon(part: Part, reason: string): void {
    this.#deps.log.warn({ reason, turn: this.#turn, part: part.key }, LOG.partRefused)
    this.#abandoned.add(part.key)
  }

  async #post(part: Part, signal: AbortSignal): Promise<void> {
    const { content } = part
    const renewals = this.#lost.get(part.key) ?? 0
    const key = renewedKey(part.key, renewals)
    const to = this.#to
    const first = part.key.endsWith('/0')
    const send = (): Promise<MessageRef> =>
      postContent(this.#deps.api, first || to.replyIn === undefined ? to : { ...to, id: to.replyIn }, { key, content })
    const deps = { ...this.#deps.post, posts: this.#posts }
    const { ref, posted } = await postOnce(deps, { key, to, kind: 'text', text: content, send }, signal)
    this.#shown.set(part.key, { key, renewals, ref, content: posted ? content : undefined })
  }

  /** Messages that the view no longer needs go away. */
  async #removeSurplus(parts: readonly Part[]): Promise<void> {
    const wanted = new Set(parts.map((part) => part.key))
    for (const [own, { key, ref }] of this.#shown) {
      if (wanted.has(own)) continue
      await removePost(this.#deps.api, ref).catch((error: unknown) => {
        if (!(error instanceof PostRefusedError)) throw error
        this.#deps.log.warn({ reason: error.reason, part: key }, LOG.partNotRemoved)
      })
      await this.#posts.forget(key)
      this.#shown.delete(own)
      this.#abandoned.delete(own)
    }
  }
}

function renewedKey(key: string, renewals: number): string {
  const found = renewals > 0 ? decodePostKey(key) : undefined
  return found?.kind === 'part' ? encodePostKey({ ...found, again: renewals }) : key
}

/** Refusals of the place, not of the message: unknown channel or server, no access, no permission, locked. */
const LOST_PLACE: ReadonlySet<number> = new Set([10003, 10004, 50001, 50007, 50013, 160005])
