import type { CardView } from './card.ts'
import type { TurnView } from './turn-view.ts'

/** A platform's short name as in the configuration: `discord`, `slack`, … The set is open. */
export type Platform = string

/** Where a conversation is held. Two addresses with one `channel` and one `id` are the same conversation. */
export interface Address {
  readonly platform: Platform
  /** Discord: a channel, thread or DM channel id. Slack: `C…:<thread_ts>`, `C…` or `D…`. */
  readonly id: string
  /** Slack DMs only: the thread in which this is answered; not part of the conversation's identity. */
  readonly thread?: string
  /** Discord only, where no thread could be made: the channel in which `id`, a message, is answered by replies. */
  readonly replyIn?: string
}

/** One posted message. */
export interface MessageRef {
  readonly platform: Platform
  /** The platform's channel (Discord channel or thread id; Slack C… or D…). */
  readonly channel: string
  /** Discord message id; Slack ts. */
  readonly id: string
}

export interface Person {
  /** The platform's user id. */
  readonly id: string
  /** As shown on the platform; untrusted text. */
  readonly name: string
  readonly bot: boolean
}

export interface Attachment {
  readonly name: string
  readonly url: string
  readonly size: number
  readonly mime?: string
}

export interface InboundMessage {
  /** The same for every delivery of one message: `discord:<id>`, `slack:<team>:<channel>:<ts>`. */
  readonly key: string
  readonly platform: Platform
  readonly author: Person
  /** What the model reads: the bot's own mention removed, others as @name, platform escapes undone. */
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly ref: MessageRef
  /** Milliseconds since the epoch, from the platform. */
  readonly sentAt: number
  /** How it concerns the bot: names it; is a direct message; or only appears in a thread that may be the bot's. */
  readonly addressed: 'mention' | 'direct' | 'thread'
  /** An existing thread or DM; or a message in a channel from which a thread is yet to be made. */
  readonly location:
    | { readonly kind: 'conversation'; readonly to: Address; readonly startedByPeople: boolean }
    | { readonly kind: 'channel'; readonly channel: string; readonly to: Address }
  /** The message this one replies to, where the platform says so. */
  readonly replyTo?: string
}

/** A line of a conversation, read back as context. */
export interface HistoryMessage {
  readonly id: string
  readonly author: Person
  readonly own: boolean
  readonly text: string
  readonly sentAt: number
}

export type DecisionAction = 'approve' | 'always' | 'reject'

export interface InboundDecision {
  readonly platform: Platform
  readonly approval: string
  readonly action: DecisionAction
  readonly note?: string
  readonly by: Person
}

/** `text` is for the person who pressed, privately; empty where the redrawn card says it all. */
export interface DecisionReceipt {
  readonly effective: boolean
  readonly text: string
}

export interface InboundCommand {
  /** Unique for this use of the command: interaction id, trigger id or message key. */
  readonly key: string
  readonly platform: Platform
  readonly by: Person
  readonly name: string
  readonly args: Readonly<Record<string, string>>
  /** The channel or DM in which it was given. */
  readonly channel: string
  /** The conversation it was given in; undefined where there is none or the platform does not say (Slack slash commands). */
  readonly to?: Address
}

export interface CommandReply {
  readonly text: string
  /** True: for the caller's eyes alone. */
  readonly private: boolean
}

/** What one message of the bot carries. Text is the model's Markdown; the adapter renders it. */
export type Outgoing =
  | { readonly kind: 'text'; readonly text: string; readonly replyTo?: string }
  | { readonly kind: 'card'; readonly card: CardView }
  | { readonly kind: 'file'; readonly name: string; readonly content: string; readonly comment: string }

/** A line for one person's eyes. */
export interface EphemeralLine {
  readonly text: string
  /** The platform's id of that person. */
  readonly onlyTo: string
  /** The message that it answers, where the line is an ordinary reply. */
  readonly replyTo?: string
}

export type PostKind = Outgoing['kind'] | 'stream'

/** What `findPost` looks for: a post that was sent and whose answer never came. */
export interface PendingPost {
  readonly key: string
  /** When it was sent, ms since the epoch. */
  readonly at: number
  readonly kind: PostKind
  /** The text as it was handed to the platform; empty for cards and streams. */
  readonly text: string
  /** Ids of messages in this channel that other rows already own. */
  readonly owned: ReadonlySet<string>
  /** What `send` passed to `onFileId`. */
  readonly fileId?: string
}

export type ChannelState = 'ready' | 'starting' | 'degraded' | 'standby' | 'failed' | 'off'

/** How a turn's answer appears. Draws are coalesced, paced and split; each part is posted once under its own key. */
export interface TurnCanvas {
  /** Must not throw and must not wait. */
  draw(view: TurnView): void
  /** Resolves when the platform shows the last drawn view whole; rejects only when `signal` aborts. */
  settle(signal: AbortSignal): Promise<void>
}

/** The durable record of what was posted: a row before each post, its ref right after. */
export interface PostLog {
  /** Makes the row, or finds it. `fresh`: nobody can have posted it yet. Throws where another process owns the turn. */
  begin(
    key: string,
    to: Address,
    kind: PostKind,
    text: string,
  ): Promise<{ ref?: MessageRef; fresh: boolean; at: number; text: string; fileId?: string }>
  /** It was not found and is about to be posted with this text. */
  retry(key: string, text: string): Promise<void>
  /** The id by which an upload is found again; recorded before the platform is asked to complete it. */
  recordFileId(key: string, fileId: string): Promise<void>
  sent(key: string, ref: MessageRef): Promise<void>
  /** Ids of messages of this conversation that rows other than `key` own. */
  owned(to: Address, key: string): Promise<ReadonlySet<string>>
  /** Rows without a ref: posts that were sent and whose answer never came. */
  pending(prefix: string): Promise<readonly Omit<PendingPost, 'owned'>[]>
  /** All rows of this turn that have a ref, by key; what a canvas resumes from after a restart. */
  known(prefix: string): Promise<ReadonlyMap<string, MessageRef>>
  /** The bot removed the message; its key may be posted again. */
  forget(key: string): Promise<void>
}

/** A platform: transport only. It cannot decide anything. */
export interface ChannelAdapter {
  readonly platform: Platform
  /** As people know it: `Discord`. */
  readonly displayName: string
  /** Whether `postEphemeral` reaches one person alone. Where it does not, a line that is only worth it privately is dropped. */
  readonly ephemeralLines: boolean
  /** A message may be missing from a read-back until it is this old, ms; 0 where it shows at once. */
  readonly readBackDelayMs: number
  /** How people type a command here: `/status`, or `/turnstone status`. */
  commandHint(words: string): string
  /** Whether the channel is a direct conversation with one person. */
  isDirect(channel: string): boolean
  /** The platform's channel in which a conversation is held. */
  channelOf(to: Address): string
  /** Where a line goes that answers a message without starting a conversation. */
  replyAddress(location: InboundMessage['location']): Address
  /** Resolves when the first connection attempt is done, whether or not it succeeded; keeps trying afterwards. */
  start(inbound: InboundHandler): Promise<void>
  /** Afterwards no handler is called. */
  stop(): Promise<void>
  state(): { readonly state: ChannelState; readonly reason?: string }
  /** Prepares where a message is answered; a thread that exists is adopted. `notice` says what was missing. */
  openThread(from: { channel: string; message: string }, title: string): Promise<{ to: Address; notice?: string }>
  canvas(to: Address, turn: string, posts: PostLog): TurnCanvas
  /** One message; `onFileId` must be awaited before an upload is completed. Rejects with PostRefusedError for a final no. */
  send(to: Address, outgoing: Outgoing, key: string, onFileId: (fileId: string) => Promise<void>): Promise<MessageRef>
  /** For one person's eyes where the platform can (`ephemeralLines`), else an ordinary reply. It cannot be found or edited later. */
  postEphemeral(to: Address, line: EphemeralLine): Promise<void>
  /** Reads back; rejects where it could not read. */
  findPost(to: Address, post: PendingPost): Promise<MessageRef | undefined>
  /** Of a deleted message: resolves. */
  edit(ref: MessageRef, outgoing: Outgoing): Promise<void>
  /** Of a deleted message: resolves. */
  remove(ref: MessageRef): Promise<void>
  /**
   * Indexes of the card's calls whose payload must be uploaded before the card; [] where files are part of the card.
   * Throws PostRefusedError where the platform would not take the card.
   */
  filesBefore(card: CardView): readonly number[]
  /** Shows 👀 on a message: it was received and waits. Must not reject. */
  addReaction(ref: MessageRef): Promise<void>
  /** Must not reject. */
  removeReaction(ref: MessageRef): Promise<void>
  /** The last `limit` messages of the conversation, of those before `before`; oldest first. */
  fetchMessages(to: Address, range: { limit: number; before?: string }): Promise<readonly HistoryMessage[]>
  /** Refuses hosts that are not the platform's own, redirects elsewhere, and login pages. */
  download(file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>
  /** Archives a thread where the platform can. */
  archive(to: Address): Promise<void>
  /** When the platform took the message, ms since the epoch; of the same clock as `InboundMessage.sentAt`. */
  postedAt(ref: MessageRef): number
  /** A link to the message, or to the conversation without one. */
  permalink(to: Address, ref?: MessageRef): string
}

/** What an adapter reports to the gateway. */
export interface InboundHandler {
  /** Resolves when committed (or when nothing is to be stored); only then may the adapter acknowledge to a platform that repeats. */
  message(m: InboundMessage): Promise<void>
  /** Resolves when committed; only then does the adapter acknowledge the press, unless that takes longer than 2 s. */
  decision(d: InboundDecision): Promise<DecisionReceipt>
  /** As for a decision: committed, then acknowledged. */
  command(c: InboundCommand): Promise<CommandReply>
  /** A message was deleted on the platform; it may be the card of an open approval. */
  deleted(ref: MessageRef): Promise<void>
  /** What to read back on ready: open conversations and when the last message of each was accepted, ms. */
  missedConversations(platform: Platform): Promise<readonly { to: Address; after: number }[]>
}
