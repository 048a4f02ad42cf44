import type {
  Address,
  Attachment,
  ChannelAdapter,
  EphemeralLine,
  HistoryMessage,
  InboundHandler,
  InboundMessage,
  MessageRef,
  Outgoing,
  PendingPost,
  Platform,
  PostLog,
  TurnCanvas,
} from '../../src/channel/channel-adapter.ts'
import { PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import type { TurnView } from '../../src/channel/turn-view.ts'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import { type Clock, systemClock } from '../../src/util/time.ts'

export interface FakePost {
  readonly id: string
  readonly to: Address
  readonly key: string
  outgoing: Outgoing
  deleted: boolean
  /** Ms since the epoch; a little before, so that what a person says to it is later. */
  readonly at: number
}

/** A platform in memory that keeps the port's promises; what it holds survives a "restart" when it is passed on. */
export class FakePlatform {
  readonly posts: FakePost[] = []
  /** 👀 as they were added and removed, in order. */
  readonly reactions: { ref: MessageRef; on: boolean }[] = []
  /** Lines for one person's eyes. */
  readonly privateLines: { to: Address; line: EphemeralLine }[] = []
  readonly opened: { channel: string; message: string }[] = []
  readonly closed: Address[] = []
  readonly files = new Map<string, Uint8Array>()
  readonly history: HistoryMessage[] = []
  /** Called before each send; may throw. */
  beforeSend: (outgoing: Outgoing) => void = () => undefined
  beforeEdit: (outgoing: Outgoing) => void = () => undefined
  /** So many sends are done without anybody hearing of it. */
  loseAnswers = 0
  #next = 1000

  nextId(): string {
    return String(this.#next++)
  }

  /** The texts that stand in a conversation, in order. */
  texts(id: string): string[] {
    return this.posts.flatMap((p) =>
      p.to.id === id && !p.deleted && p.outgoing.kind === 'text' ? [p.outgoing.text] : [],
    )
  }

  cards(id: string): Extract<Outgoing, { kind: 'card' }>['card'][] {
    return this.posts.flatMap((p) =>
      p.to.id === id && !p.deleted && p.outgoing.kind === 'card' ? [p.outgoing.card] : [],
    )
  }
}

/** How the fake shows a section of a view: one message each, plain lines. */
export function plainText(view: TurnView, section: number): string {
  return (view.sections[section]?.items ?? [])
    .map((i) => (i.kind === 'tool' ? `[${i.state}] ${i.header}` : i.kind === 'notice' ? `(${i.text})` : i.text))
    .filter((line) => line.trim() !== '')
    .join('\n')
}

export class FakeAdapter implements ChannelAdapter {
  readonly platform: Platform
  readonly displayName: string
  readonly ephemeralLines: boolean
  readonly readBackDelayMs = 0
  readonly world: FakePlatform
  readonly #clock: Clock
  readonly #lanes = createLocalLocks()
  inbound: InboundHandler | undefined

  /** `ephemeralLines`: whether lines for one person's eyes reach that person alone. */
  constructor(world: FakePlatform, options: { platform?: Platform; clock?: Clock; ephemeralLines?: boolean } = {}) {
    const { platform = 'discord', clock = systemClock, ephemeralLines = platform === 'slack' } = options
    this.world = world
    this.platform = platform
    this.displayName = platform.charAt(0).toUpperCase() + platform.slice(1)
    this.ephemeralLines = ephemeralLines
    this.#clock = clock
  }

  async start(inbound: InboundHandler): Promise<void> {
    this.inbound = inbound
  }

  async stop(): Promise<void> {
    this.inbound = undefined
  }

  state() {
    return { state: 'ready' as const }
  }

  commandHint(words: string): string {
    return `/${words}`
  }

  isDirect(channel: string): boolean {
    return channel.startsWith('D')
  }

  channelOf(to: Address): string {
    return to.id.split(':')[0] ?? to.id
  }

  replyAddress(location: InboundMessage['location']): Address {
    return location.kind === 'channel' && !this.ephemeralLines
      ? { platform: this.platform, id: location.channel }
      : location.to
  }

  async openThread(from: { channel: string; message: string }): Promise<{ to: Address; notice?: string }> {
    this.world.opened.push(from)
    return { to: { platform: this.platform, id: from.message } }
  }

  canvas(to: Address, turn: string, posts: PostLog): TurnCanvas {
    let latest: TurnView | undefined
    const tools = { adapter: this, posts, locks: this.#lanes, clock: this.#clock }
    return {
      draw(view) {
        latest = view
      },
      settle: async (signal) => {
        signal.throwIfAborted()
        const view = latest
        if (!view) return
        for (const [index] of view.sections.entries()) {
          const text = plainText(view, index)
          if (!text) continue
          const outgoing = { kind: 'text', text } as const
          const key = `${turn}/${index}/0`
          const one = { key, to, kind: 'text' as const, text }
          const post = () =>
            postOnce(tools, { ...one, send: (onFileId) => this.send(to, outgoing, key, onFileId) }, signal)
          const { ref } = await post()
          if (this.world.posts.some((p) => p.id === ref.id && p.deleted)) {
            await posts.forget(key)
            await post()
          } else await this.edit(ref, outgoing)
        }
      },
    }
  }

  async send(
    to: Address,
    outgoing: Outgoing,
    key: string,
    _onFileId: (fileId: string) => Promise<void>,
  ): Promise<MessageRef> {
    this.world.beforeSend(outgoing)
    const id = this.world.nextId()
    this.world.posts.push({ id, to, key, outgoing, deleted: false, at: Date.now() - 1 })
    if (this.world.loseAnswers > 0) {
      this.world.loseAnswers--
      throw new Error('no answer')
    }
    return { platform: this.platform, channel: this.channelOf(to), id }
  }

  async postEphemeral(to: Address, line: EphemeralLine): Promise<void> {
    const { onlyTo: _, ...text } = line
    if (this.ephemeralLines) this.world.privateLines.push({ to, line })
    else await this.send(to, { kind: 'text', ...text }, `line:${this.world.nextId()}`, async () => {})
  }

  async findPost(_to: Address, post: PendingPost): Promise<MessageRef | undefined> {
    const found = this.world.posts.find((p) => p.key === post.key && !p.deleted)
    return found && { platform: this.platform, channel: this.channelOf(found.to), id: found.id }
  }

  async edit(ref: MessageRef, outgoing: Outgoing): Promise<void> {
    this.world.beforeEdit(outgoing)
    const found = this.world.posts.find((p) => p.id === ref.id && !p.deleted)
    if (found) found.outgoing = outgoing
  }

  async remove(ref: MessageRef): Promise<void> {
    for (const p of this.world.posts) if (p.id === ref.id) p.deleted = true
  }

  filesBefore(): readonly number[] {
    return []
  }

  async addReaction(ref: MessageRef): Promise<void> {
    this.world.reactions.push({ ref, on: true })
  }

  async removeReaction(ref: MessageRef): Promise<void> {
    this.world.reactions.push({ ref, on: false })
  }

  async fetchMessages(to: Address): Promise<readonly HistoryMessage[]> {
    const author = { id: 'bot', name: 'turnstone', bot: true }
    const own = this.world.posts.flatMap(({ id, outgoing, ...post }) =>
      post.to.id === to.id && !post.deleted && outgoing.kind === 'text'
        ? [{ id, author, own: true, text: outgoing.text, sentAt: 0 }]
        : [],
    )
    return [...this.world.history, ...own]
  }

  async download(file: Attachment): Promise<Uint8Array> {
    const bytes = this.world.files.get(file.url)
    if (!bytes) throw new PostRefusedError('no such file')
    return bytes
  }

  async archive(to: Address): Promise<void> {
    this.world.closed.push(to)
  }

  postedAt({ id }: MessageRef): number {
    return this.world.posts.find((p) => p.id === id)?.at ?? 0
  }

  permalink(to: Address, ref?: MessageRef): string {
    return `fake://${this.channelOf(to)}/${ref?.id ?? ''}`
  }
}
