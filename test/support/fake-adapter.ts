import type {
  Address,
  Attachment,
  ChannelAdapter,
  ChannelType,
  HistoryMessage,
  InboundHandler,
  MessageRef,
  Outgoing,
  PendingPost,
  PostLog,
  TurnCanvas,
} from '../../src/channel/channel-adapter.ts'
import { PostLanes, PostRefused, postOnce } from '../../src/channel/post-once.ts'
import type { TurnView } from '../../src/channel/turn-view.ts'
import { type Clock, systemClock } from '../../src/util/time.ts'

export interface FakePost {
  readonly id: string
  readonly to: Address
  readonly key: string
  outgoing: Outgoing
  deleted: boolean
}

/** A platform in memory that keeps the port's promises; what it holds survives a "restart" when it is passed on. */
export class FakePlatform {
  readonly posts: FakePost[] = []
  readonly marks: { ref: MessageRef; sign: string }[] = []
  readonly opened: { room: string; message: string }[] = []
  readonly closed: Address[] = []
  readonly files = new Map<string, Uint8Array>()
  readonly history: HistoryMessage[] = []
  /** Called before each send; may throw. */
  beforeSend: (outgoing: Outgoing) => void = () => undefined
  beforeEdit: (outgoing: Outgoing) => void = () => undefined
  #next = 1000

  nextId(): string {
    return String(this.#next++)
  }

  /** The texts that stand in a conversation, in order. */
  texts(id: string): string[] {
    return this.posts.flatMap((p) =>
      p.to.id === id && !p.deleted && p.outgoing.kind === 'text' && p.outgoing.onlyTo === undefined
        ? [p.outgoing.text]
        : [],
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
  readonly type: ChannelType
  readonly platform: FakePlatform
  readonly #clock: Clock
  readonly #lanes = new PostLanes()
  inbound: InboundHandler | undefined

  constructor(platform: FakePlatform, type: ChannelType = 'discord', clock: Clock = systemClock) {
    this.platform = platform
    this.type = type
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

  async open(from: { room: string; message: string }): Promise<{ to: Address; notice?: string }> {
    this.platform.opened.push(from)
    return { to: { channel: this.type, id: from.message } }
  }

  canvas(to: Address, turn: string, posts: PostLog): TurnCanvas {
    let latest: TurnView | undefined
    const tools = { adapter: this, posts, lanes: this.#lanes, clock: this.#clock }
    return {
      draw(view) {
        latest = view
      },
      settle: async (signal) => {
        const view = latest
        if (!view) return
        for (const [index] of view.sections.entries()) {
          const text = plainText(view, index)
          if (!text) continue
          const outgoing = { kind: 'text', text } as const
          const key = `${turn}/${index}/0`
          const { ref } = await postOnce(
            tools,
            { key, to, kind: 'text', text, send: (note) => this.send(to, outgoing, key, note) },
            signal,
          )
          await this.edit(ref, outgoing)
        }
      },
    }
  }

  async send(
    to: Address,
    outgoing: Outgoing,
    key: string,
    _note: (mark: string) => Promise<void>,
  ): Promise<MessageRef> {
    this.platform.beforeSend(outgoing)
    const id = this.platform.nextId()
    this.platform.posts.push({ id, to, key, outgoing, deleted: false })
    return { channel: this.type, room: to.id, id }
  }

  async find(_to: Address, post: PendingPost): Promise<MessageRef | undefined> {
    const found = this.platform.posts.find((p) => p.key === post.key && !p.deleted)
    return found && { channel: this.type, room: found.to.id, id: found.id }
  }

  async edit(ref: MessageRef, outgoing: Outgoing): Promise<void> {
    this.platform.beforeEdit(outgoing)
    const found = this.platform.posts.find((p) => p.id === ref.id && !p.deleted)
    if (found) found.outgoing = outgoing
  }

  async remove(ref: MessageRef): Promise<void> {
    for (const p of this.platform.posts) if (p.id === ref.id) p.deleted = true
  }

  filesBefore(): readonly number[] {
    return []
  }

  async mark(ref: MessageRef, sign: 'received' | 'none'): Promise<void> {
    this.platform.marks.push({ ref, sign })
  }

  async history(): Promise<readonly HistoryMessage[]> {
    return this.platform.history
  }

  async download(file: Attachment): Promise<Uint8Array> {
    const bytes = this.platform.files.get(file.url)
    if (!bytes) throw new PostRefused('no such file')
    return bytes
  }

  async close(to: Address): Promise<void> {
    this.platform.closed.push(to)
  }

  link(to: Address, ref?: MessageRef): string {
    return `fake://${to.id}/${ref?.id ?? ''}`
  }
}
