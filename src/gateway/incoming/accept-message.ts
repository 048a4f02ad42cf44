import type { InboundCommand, InboundMessage } from '../../channel/channel-adapter.ts'
import { ASKS, ONLY_BOTS, TOO_MANY_A_MINUTE, TOO_MANY_WAITING } from '../../copy/chat.ts'
import type { User } from '../../identity/users.ts'
import { claimOnce } from '../../store/seen.ts'
import { acceptMessage, type NewInboxMessage, newestMessages, queuedMessages } from '../../turn/inbox-messages.ts'
import { RateLimiter } from '../../util/rate-limiter.ts'
import { escapeMarkup, oneLine } from '../../util/visible.ts'
import { openWorkstream, recentWorkstreamsIn, touchWorkstream, type Workstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

/** Messages that may wait in one workstream. */
export const MAX_WAITING = 20
/** Messages that a person may send in a minute. */
const MAX_PER_MINUTE = 30
const MINUTE_MS = 60_000
/** Turns in a row that bots may begin. */
const MAX_BOT_TURNS = 10

/** `refused`: why it was not accepted; '' where that was said already. `known`: it was accepted before. */
export type Acceptance =
  | { readonly kind: 'accepted'; readonly workstream: string }
  | { readonly kind: 'known' }
  | { readonly kind: 'refused'; readonly why: string }

type Beginning = Parameters<typeof openWorkstream>[1]

/** Makes messages and questions rows, within the limits of a person and of a conversation. */
export class Acceptor {
  readonly #deps: GatewayDeps
  readonly #rate: RateLimiter

  constructor(deps: GatewayDeps) {
    this.#deps = deps
    this.#rate = new RateLimiter(MAX_PER_MINUTE, MINUTE_MS, deps.clock)
  }

  async message(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<Acceptance> {
    const refused = await this.#refusal(m, user, workstream)
    if (refused !== undefined) return { kind: 'refused', why: refused }
    const { location } = m
    const startedByPeople = location.kind === 'conversation' && location.startedByPeople
    return this.#store({ owner: user.name, ...this.#beginning(m) }, (created) => ({
      key: m.key,
      author: user.name,
      authorName: m.author.name,
      bot: m.author.bot,
      text: m.text,
      attachments: m.attachments,
      ref: m.ref,
      replyTo: location.to,
      context: created && startedByPeople && m.addressed === 'mention',
      sentAt: m.sentAt,
    }))
  }

  /** A question given by command: in a thread or DM it joins that conversation, in a channel it starts one. */
  async question(
    command: InboundCommand,
    user: User,
    asked: { text: string; model?: string; to: NewInboxMessage['replyTo'] | undefined },
  ): Promise<Acceptance & { line: string }> {
    const { text, model, to } = asked
    const { platform, channel } = command
    const line = ASKS(escapeMarkup(oneLine(command.by.name, 80)), text)
    if (!this.#rate.acquire(user.name)) return { kind: 'refused', why: TOO_MANY_A_MINUTE(MAX_PER_MINUTE), line }
    const replyTo = to ?? { platform, id: `ask:${command.key}` }
    const started: Beginning = {
      owner: user.name,
      platform,
      channel,
      address: replyTo.id,
      title: text,
      ...(model ? { model } : {}),
      ...(to ? { postTo: to } : { opening: { kind: 'announce', channel, text: line } }),
    }
    const accepted = await this.#store(started, () => ({
      key: `command:${command.key}`,
      author: user.name,
      authorName: command.by.name,
      bot: false,
      text,
      attachments: [],
      replyTo,
      context: false,
      sentAt: this.#deps.clock.now(),
    }))
    return { ...accepted, line }
  }

  /** One transaction: the conversation, the message and its job. */
  #store(started: Beginning, item: (created: boolean) => Omit<NewInboxMessage, 'workstream'>): Promise<Acceptance> {
    const { store, clock, queue } = this.#deps
    const now = clock.now()
    return store.transaction(async (tx): Promise<Acceptance> => {
      const { workstream, created } = await openWorkstream(tx, started, now)
      // One that was just made has nothing waiting.
      if (!created && (await queuedMessages(tx.db, workstream.id)).length >= MAX_WAITING) {
        return { kind: 'refused', why: TOO_MANY_WAITING(MAX_WAITING) }
      }
      const { id } = workstream
      if (!(await acceptMessage(tx, { workstream: id, ...item(created) }, now))) return { kind: 'known' }
      await touchWorkstream(tx, id, now)
      await queue.send(tx, { kind: 'turn', workstream: id })
      return { kind: 'accepted', workstream: id }
    })
  }

  async #refusal(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<string | undefined> {
    if (m.author.bot) {
      const newest = await this.#newest(m, workstream)
      if (newest.length === MAX_BOT_TURNS && newest.every((n) => n.bot)) {
        const { store, clock } = this.#deps
        // Nothing more is accepted of this row of bots, so its newest message names it.
        const first = await claimOnce(store.db, `bots:${newest[0]?.id}`, clock.now())
        return first ? ONLY_BOTS(MAX_BOT_TURNS) : ''
      }
    }
    return this.#rate.acquire(user.name) ? undefined : TOO_MANY_A_MINUTE(MAX_PER_MINUTE)
  }

  /** The newest messages of the conversation; of a message that would start one, those of its channel. */
  async #newest(m: InboundMessage, workstream: Workstream | undefined): ReturnType<typeof newestMessages> {
    const { db } = this.#deps.store
    const { platform } = m
    const at = { platform, channel: this.#channelOf(m), limit: MAX_BOT_TURNS }
    const among = workstream ? [workstream.id] : await recentWorkstreamsIn(db, at)
    return newestMessages(db, among, MAX_BOT_TURNS)
  }

  #channelOf({ platform, location }: InboundMessage): string {
    if (location.kind === 'channel') return location.channel
    return this.#deps.adapters.get(platform)?.channelOf(location.to) ?? location.to.id
  }

  /** Where the first answer of a new conversation goes, and what must be made for it. */
  #beginning(m: InboundMessage): Omit<Beginning, 'owner'> {
    const { location, platform, text: title } = m
    const started = { platform, channel: this.#channelOf(m), address: location.to.id, title }
    if (location.kind === 'conversation') return { ...started, postTo: location.to }
    return { ...started, opening: { kind: 'thread', channel: location.channel, message: m.ref.id } }
  }
}
