import type { Address, MessageRef, PostLog, TurnCanvas } from '../../src/channel/channel-adapter.ts'
import { decodePostKey } from '../../src/channel/post-key.ts'
import { adoptPending, type PostDeps, PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import { isWorking, type TurnView } from '../../src/channel/turn-view.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import type { Api } from './api.ts'
import type { RawMessage } from './inbound.ts'
import { TIMES } from './limits.ts'
import type { RenderMemo } from './markdown.ts'
import { type Part, renderView } from './outbound.ts'
import { postContent, removePost } from './posts.ts'
import { Typing } from './typing.ts'

/** Waits after a round in which something failed, ms; the last one repeats. */
const WAITS_MS = [1000, 2000, 5000, 10_000, 30_000]
/** Failed rounds after which a canvas that nobody waits for gives up. */
const MAX_ROUNDS_ALONE = 10

/**
 * A first text is held back so long, ms, or until it is whole: a short answer then is one post instead of a post and an
 * edit that has to wait for its pace. Typing is shown meanwhile.
 */
const GATHER_MS = 250

/** When the last post or edit of a conversation was, so that turns that follow each other share one pace. */
export type Paces = Map<string, number>

export interface CanvasDeps {
  readonly api: Api
  readonly post: Omit<PostDeps, 'posts'>
  readonly clock: Clock
  readonly log: Log
  readonly paces: Paces
  /** Aborts when the adapter stops. */
  readonly stopped: AbortSignal
}

interface Shown {
  readonly ref: MessageRef
  /** What stands there; undefined where it is not known. */
  content: string | undefined
}

export class DiscordCanvas implements TurnCanvas {
  readonly #deps: CanvasDeps
  readonly #to: Address
  readonly #turn: string
  readonly #posts: PostLog
  readonly #typing: Typing
  readonly #abort = new AbortController()
  #view: TurnView | undefined
  /** Counts the draws; `#done` is the last one that stands complete. */
  #version = 0
  #done = 0
  #running: Promise<void> | undefined
  #waiting = 0
  #gathered = false
  /** Ends the gathering when the answer is whole. */
  #whole: () => void = () => {}
  readonly #memo: RenderMemo = { parts: new Map() }
  #shown: Map<string, Shown> | undefined
  /** Parts that Discord will not take or that a person deleted. */
  readonly #given = new Set<string>()

  constructor(deps: CanvasDeps, to: Address, turn: string, posts: PostLog) {
    this.#deps = deps
    this.#to = to
    this.#turn = turn
    this.#posts = posts
    const channel = to.replyIn ?? to.id
    this.#typing = new Typing(deps.clock, () =>
      deps.api.post(`/channels/${channel}/typing`).then(
        () => undefined,
        () => undefined,
      ),
    )
  }

  draw(view: TurnView): void {
    this.#view = view
    this.#version++
    if (isWorking(view.phase) && !this.#stopped()) this.#typing.on()
    else this.#typing.off()
    this.#kick()
  }

  async settle(signal: AbortSignal): Promise<void> {
    this.#typing.off()
    const abort = (): void => this.#abort.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#waiting++
    this.#whole()
    try {
      while (this.#done !== this.#version) {
        signal.throwIfAborted()
        this.#abort.signal.throwIfAborted()
        this.#deps.stopped.throwIfAborted()
        this.#kick()
        await this.#running
      }
    } finally {
      this.#waiting--
      signal.removeEventListener('abort', abort)
    }
  }

  #stopped(): boolean {
    return this.#abort.signal.aborted || this.#deps.stopped.aborted
  }

  #kick(): void {
    if (this.#running || this.#stopped()) return
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Works until the last draw stands, or the canvas is stopped. Does not reject. */
  async #run(): Promise<void> {
    const signal = AbortSignal.any([this.#abort.signal, this.#deps.stopped])
    for (let failed = 0; this.#done !== this.#version; ) {
      try {
        if (await this.#round(signal)) failed = 0
        else failed++
      } catch (error) {
        if (signal.aborted) return
        failed++
        this.#deps.log.warn({ reason: messageOf(error), turn: this.#turn }, 'an answer could not be shown yet')
      }
      if (failed >= MAX_ROUNDS_ALONE && this.#waiting === 0) return
      const wait = WAITS_MS[Math.min(failed, WAITS_MS.length) - 1]
      if (wait !== undefined && !(await this.#slept(wait, signal))) return
    }
  }

  #slept(ms: number, signal: AbortSignal): Promise<boolean> {
    return sleep(this.#deps.clock, ms, signal).then(
      () => true,
      () => false,
    )
  }

  /** Brings every part to the last view; false where something failed and is to be tried again. */
  async #round(signal: AbortSignal): Promise<boolean> {
    this.#shown ??= await this.#recall(signal)
    const failed = new Set<string>()
    let parts: readonly Part[] = []
    let version = 0
    for (;;) {
      signal.throwIfAborted()
      if (version !== this.#version) {
        version = this.#version
        parts = this.#view ? await renderView(this.#view, this.#turn, this.#memo) : []
      }
      const next = parts.find((part) => !failed.has(part.key) && this.#differs(part))
      if (!next) break
      if (this.#shown.size === 0 && !this.#gathered) {
        await this.#gather(signal)
        continue
      }
      const shown = this.#shown.get(next.key)
      if (shown && (await this.#paced(signal)) && version !== this.#version) continue
      if (!(await this.#bring(next, shown, signal))) failed.add(next.key)
    }
    // While text may still come, what stood there stays until it is written over: a key posted anew so soon would be
    // taken for the message that was removed.
    if ((this.#waiting > 0 || !this.#isGrowing()) && !(await this.#removeSurplus(parts))) return false
    if (failed.size === 0) this.#done = version
    return failed.size === 0
  }

  #gather(signal: AbortSignal): Promise<void> {
    this.#gathered = true
    if (this.#waiting > 0) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const cancel = this.#deps.clock.after(GATHER_MS, done)
      signal.addEventListener('abort', done, { once: true })
      this.#whole = done
    })
  }

  #isGrowing(): boolean {
    return this.#view !== undefined && isWorking(this.#view.phase)
  }

  #differs(part: Part): boolean {
    return !this.#given.has(part.key) && this.#shown?.get(part.key)?.content !== part.content
  }

  /** Parts from before a restart, with what stands there, so that only what differs is edited. */
  async #recall(signal: AbortSignal): Promise<Map<string, Shown>> {
    await adoptPending({ ...this.#deps.post, posts: this.#posts }, this.#to, this.#turn, signal)
    const known = await this.#posts.known(this.#turn)
    const shown = new Map<string, Shown>()
    for (const [key, ref] of known) {
      if (decodePostKey(key)?.kind !== 'part') continue
      const content = await this.#deps.api.get(`/channels/${ref.channel}/messages/${ref.id}`).then(
        (message) => (message as RawMessage).content,
        () => undefined,
      )
      shown.set(key, { ref, content })
    }
    return shown
  }

  /** Waits until the conversation may be edited again. */
  async #paced(signal: AbortSignal): Promise<true> {
    const { clock, paces } = this.#deps
    const last = paces.get(this.#to.id) ?? 0
    const wait = Math.min(last + TIMES.edit - clock.now(), TIMES.edit)
    if (wait > 0) await sleep(clock, wait, signal)
    return true
  }

  async #bring(part: Part, shown: Shown | undefined, signal: AbortSignal): Promise<boolean> {
    try {
      if (shown) await this.#edit(part, shown)
      else await this.#post(part, signal)
      return true
    } catch (error) {
      if (error instanceof PostRefusedError) {
        this.#deps.log.warn(
          { reason: error.reason, turn: this.#turn, part: part.key },
          'a part of an answer was refused',
        )
        this.#given.add(part.key)
        return true
      }
      if (signal.aborted) throw error
      this.#deps.log.warn({ reason: messageOf(error), turn: this.#turn }, 'a part of an answer is tried again')
      return false
    } finally {
      this.#deps.paces.set(this.#to.id, this.#deps.clock.now())
    }
  }

  async #edit(part: Part, shown: Shown): Promise<void> {
    const there = await this.#deps.api.edit(shown.ref.channel, shown.ref.id, { content: part.content })
    shown.content = part.content
    if (!there) this.#given.add(part.key)
  }

  async #post(part: Part, signal: AbortSignal): Promise<void> {
    const { key, content } = part
    const to = this.#to
    const first = key.endsWith('/0')
    const send = (): Promise<MessageRef> =>
      postContent(this.#deps.api, first || to.replyIn === undefined ? to : { ...to, id: to.replyIn }, { key, content })
    const tools = { ...this.#deps.post, posts: this.#posts }
    const { ref, posted } = await postOnce(tools, { key, to, kind: 'text', text: content, send }, signal)
    this.#shown?.set(key, { ref, content: posted ? content : undefined })
  }

  /** Messages that the view no longer needs go away. */
  async #removeSurplus(parts: readonly Part[]): Promise<boolean> {
    const wanted = new Set(parts.map((part) => part.key))
    let clean = true
    for (const [key, { ref }] of this.#shown ?? []) {
      if (wanted.has(key)) continue
      try {
        await removePost(this.#deps.api, ref)
      } catch (error) {
        this.#deps.log.warn({ reason: messageOf(error), part: key }, 'a part of an answer could not be removed')
        if (!(error instanceof PostRefusedError)) {
          clean = false
          continue
        }
      }
      await this.#posts.forget(key)
      this.#shown?.delete(key)
      this.#given.delete(key)
    }
    return clean
  }
}
