import type {
  Address,
  ChannelAdapter,
  CommandReply,
  DecisionReceipt,
  InboundCommand,
  InboundDecision,
  InboundHandler,
  InboundMessage,
  MessageRef,
  Person,
  Platform,
} from '../../channel/channel-adapter.ts'
import type { User } from '../../identity/identities.ts'
import { claimOnce, throttle, wasSeen } from '../../store/seen.ts'
import { acceptMessage, queuedMessages, wasAccepted } from '../../turn/inbox-messages.ts'
import { RateWindow } from '../../util/rate-window.ts'
import { escapeMarkup, oneLine } from '../../util/visible.ts'
import {
  claimCloseHint,
  createWorkstream,
  findLatestWorkstream,
  findOpenWorkstream,
  touchWorkstream,
  type Workstream,
} from '../../workstream/workstreams.ts'
import { maySpeak } from '../access.ts'
import { Decisions } from '../cards/decisions.ts'
import { parseWords } from '../commands/command-table.ts'
import { Commands, HELP, UNLINKED } from '../commands/commands.ts'
import { type GatewayDeps, tell } from '../gateway-deps.ts'
import { showReceived } from '../reactions.ts'
import { missedConversations } from './missed-conversations.ts'

/** Messages that may wait in one workstream. */
const MAX_WAITING = 20
/** Messages a person may send, a minute. */
const MAX_PER_MINUTE = 30
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Turns in a row that bots may begin. */
const MAX_BOT_TURNS = 10

const FULL = `Your message was not taken: ${MAX_WAITING} are waiting already. Send it again when some are answered.`

const LINK_PRIVATELY =
  'Use `/link` (on Slack `/turnstone link`): what is written here is no secret. A token that stood here must be revoked.'

/** Where everything from the platforms comes in; a message is accepted when its row is committed. */
export class Inbox implements InboundHandler {
  readonly #deps: GatewayDeps
  readonly #commands: Commands
  readonly #decisions: Decisions
  readonly #rate: RateWindow

  constructor(deps: GatewayDeps) {
    this.#deps = deps
    this.#commands = new Commands(deps, (command, user, question) => this.#ask(command, user, question))
    this.#decisions = new Decisions(deps)
    this.#rate = new RateWindow(MAX_PER_MINUTE, MINUTE_MS, deps.clock)
  }

  decision(d: InboundDecision): Promise<DecisionReceipt> {
    return this.#decisions.press(d.note === undefined ? d : { ...d, note: this.#deps.redactor.redact(d.note) })
  }

  command(c: InboundCommand): Promise<CommandReply> {
    return this.#commands.run({ ...c, by: this.#withoutSecrets(c.by), args: this.#argsWithoutSecrets(c) })
  }

  /** A token for `link` is the one secret that a command may hold. */
  #argsWithoutSecrets({ name, args }: InboundCommand): Readonly<Record<string, string>> {
    if (name === 'link' || (name === 'words' && parseWords(args.text ?? '')?.name === 'link')) return args
    return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, this.#deps.redactor.redact(value)]))
  }

  #withoutSecrets(person: Person): Person {
    return { ...person, name: this.#deps.redactor.redact(person.name) }
  }

  deleted(ref: MessageRef): Promise<void> {
    return this.#decisions.cardDeleted(ref)
  }

  missedConversations(channel: Platform): Promise<readonly { to: Address; after: number }[]> {
    return missedConversations(this.#deps, channel)
  }

  async message(raw: InboundMessage): Promise<void> {
    const { store, identities, redactor } = this.#deps
    // What is a secret is never stored, not even where a person wrote it.
    const m = { ...raw, text: redactor.redact(raw.text), author: this.#withoutSecrets(raw.author) }
    if ((await wasSeen(store.db, m.key)) || (await wasAccepted(store.db, m.key))) return
    // A sticker, say.
    if (m.addressed === 'thread' && !m.text.trim() && m.attachments.length === 0) return
    const user = await identities.userOf(m.platform, m.author.id)
    if (!user) return this.#unlinked(m)
    const workstream = await findOpenWorkstream(store.db, m.platform, m.location.to.id)
    if (!workstream && m.addressed === 'thread') return this.#afterClose(m, user)
    // Who decides need not be heard, so this comes first.
    if (workstream && (await this.#decisions.typed(m, user, workstream))) return
    if (workstream && !maySpeak(user, workstream, this.#deps.config)) return this.#notHeard(m, workstream)
    if (await this.#handledAsWords(m, user, workstream)) return
    await this.#accept(m, user, workstream)
  }

  async #unlinked(m: InboundMessage): Promise<void> {
    if (m.addressed === 'thread' || m.author.bot) return
    const { store, clock } = this.#deps
    const key = `hint:${m.platform}:${m.author.id}`
    if (!(await throttle(store.db, key, DAY_MS, clock.now()))) return
    await this.#tellPerson(m, UNLINKED)
  }

  /** Privately where the platform can, else a reply. */
  async #tellPerson(m: InboundMessage, text: string): Promise<void> {
    const { location, ref, author } = m
    const to = this.#adapter(m.platform)?.replyAddress(location) ?? location.to
    // A bot reads nothing that is for it alone; the people around it do.
    await tell(this.#deps, to, { text, replyTo: ref.id, ...(author.bot ? {} : { onlyTo: author.id }) })
  }

  #adapter(platform: Platform): ChannelAdapter | undefined {
    return this.#deps.adapters.get(platform)
  }

  #channelOf({ platform, location }: InboundMessage): string {
    if (location.kind === 'channel') return location.channel
    return this.#adapter(platform)?.channelOf(location.to) ?? location.to.id
  }

  async #afterClose(m: InboundMessage, user: User): Promise<void> {
    const { store } = this.#deps
    const last = await findLatestWorkstream(store.db, m.platform, m.location.to.id)
    if (!last || !maySpeak(user, last, this.#deps.config)) return
    if (!(await claimCloseHint(store.db, last.id))) return
    await tell(this.#deps, m.location.to, { text: 'This conversation was closed. Mention me here to begin a new one.' })
  }

  async #notHeard(m: InboundMessage, workstream: Workstream): Promise<void> {
    if (!this.#adapter(m.platform)?.ephemeralLines || m.author.bot) return
    const { store, clock } = this.#deps
    if (!(await claimOnce(store.db, `unheard:${m.key}`, clock.now()))) return
    await this.#tellPerson(m, `This conversation belongs to ${workstream.owner}; your message was not passed on.`)
  }

  /** A bare mention gets the help line; command words as the whole message after a mention are the command. */
  async #handledAsWords(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<boolean> {
    if (m.addressed === 'thread') return false
    const empty = !m.text.trim() && m.attachments.length === 0
    const inside = workstream !== undefined || m.location.kind === 'conversation'
    const parsed = m.attachments.length === 0 ? parseWords(m.text) : undefined
    // In a channel, where no conversation is meant, only these two can be.
    const words = inside || parsed?.name === 'help' || parsed?.name === 'link' ? parsed : undefined
    if (!empty && !words) return false
    const { store, clock } = this.#deps
    if (!(await claimOnce(store.db, m.key, clock.now()))) return true
    if (!words || words.name === 'link' || words.name === 'help') {
      await this.#tellPerson(m, words?.name === 'link' ? LINK_PRIVATELY : HELP)
      return true
    }
    const reply = await this.#commands.run({
      key: m.key,
      platform: m.platform,
      by: m.author,
      channel: m.ref.channel,
      to: m.location.to,
      ...words,
    })
    this.#deps.log.debug({ user: user.name, command: words.name }, 'a command in words')
    await tell(this.#deps, m.location.to, { text: reply.text, ...(reply.private ? { onlyTo: m.author.id } : {}) })
    return true
  }

  async #accept(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<void> {
    const refusal = await this.#refusal(m, user, workstream)
    if (refusal !== undefined) return this.#refuse(m, refusal)
    const stored = await this.#store(m, user)
    if (stored === 'full') await this.#refuse(m, FULL)
    else if (stored) await this.#markWaiting(stored.workstream, m.key)
  }

  /** Remembered, so that a repeat of it is not told again; '' is said to nobody. */
  async #refuse(m: InboundMessage, why: string): Promise<void> {
    const { store, clock } = this.#deps
    if (!(await claimOnce(store.db, m.key, clock.now())) || !why) return
    await this.#tellPerson(m, why)
  }

  /** Why it is not taken, '' where that was said already; undefined: it is taken. */
  async #refusal(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<string | undefined> {
    const where = this.#botsAmong(m, workstream)
    if (m.author.bot && (await this.#botsAlone(where))) {
      const { store, clock } = this.#deps
      const last = await this.#lastHuman(where)
      const first = await claimOnce(store.db, `bots:${where.value}:${last}`, clock.now())
      return first ? `Not taken: ${MAX_BOT_TURNS} messages in a row came from bots. A person must write first.` : ''
    }
    if (!this.#rate.take(user.name)) {
      return `Your message was not taken: that is more than ${MAX_PER_MINUTE} in a minute. Send it again a little later.`
    }
    return undefined
  }

  /** A conversation's own; of a message that would start one, those of the channel, or each would start a new count. */
  #botsAmong(m: InboundMessage, workstream: Workstream | undefined): Among {
    if (workstream) return { column: 'workstreams.id', channel: m.platform, value: workstream.id }
    return { column: 'workstreams.room', channel: m.platform, value: this.#channelOf(m) }
  }

  async #botsAlone({ column, channel, value }: Among): Promise<boolean> {
    const rows = await this.#deps.store.db
      .selectFrom('inbox')
      .innerJoin('workstreams', 'workstreams.id', 'inbox.ws_id')
      .select('inbox.bot')
      .where('workstreams.channel', '=', channel)
      .where(column, '=', value)
      .orderBy('inbox.id', 'desc')
      .limit(MAX_BOT_TURNS)
      .execute()
    return rows.length === MAX_BOT_TURNS && rows.every((r) => r.bot === 1)
  }

  async #lastHuman({ column, channel, value }: Among): Promise<number> {
    const row = await this.#deps.store.db
      .selectFrom('inbox')
      .innerJoin('workstreams', 'workstreams.id', 'inbox.ws_id')
      .select((e) => e.fn.max('inbox.id').as('id'))
      .where('workstreams.channel', '=', channel)
      .where(column, '=', value)
      .where('inbox.bot', '=', 0)
      .executeTakeFirst()
    return Number(row?.id ?? 0)
  }

  /** Where the first answer of a new conversation goes, and what must be made for it. */
  #openingOf(m: InboundMessage): Omit<Parameters<typeof createWorkstream>[1], 'owner'> {
    const { location, platform, text: title } = m
    const made = { platform, address: location.to.id, title, channel: this.#channelOf(m) }
    return location.kind === 'conversation'
      ? { ...made, postTo: location.to }
      : { ...made, opening: { kind: 'thread', channel: location.channel, message: m.ref.id } }
  }

  /** One transaction: the conversation, the message and its job. Undefined where it was taken in before. */
  async #store(m: InboundMessage, user: User): Promise<{ workstream: string } | 'full' | undefined> {
    const { store, clock, queue } = this.#deps
    const now = clock.now()
    return store.transaction(async (tx) => {
      const known = await findOpenWorkstream(tx.db, m.platform, m.location.to.id)
      if (known && (await queuedMessages(tx.db, known.id)).length >= MAX_WAITING) return 'full'
      const workstream = known ?? (await createWorkstream(tx, { owner: user.name, ...this.#openingOf(m) }, now))
      const context =
        !known && m.location.kind === 'conversation' && m.location.startedByPeople && m.addressed === 'mention'
      const accepted = await acceptMessage(
        tx,
        {
          workstream: workstream.id,
          key: m.key,
          author: user.name,
          authorName: m.author.name,
          bot: m.author.bot,
          text: m.text,
          attachments: m.attachments,
          ref: m.ref,
          replyTo: m.location.to,
          context,
          sentAt: m.sentAt,
        },
        now,
      )
      if (!accepted) return undefined
      await touchWorkstream(tx, workstream.id, now)
      await queue.send(tx, { key: workstream.id })
      return { workstream: workstream.id }
    })
  }

  /** 👀 where it has to wait for a turn that is under way. */
  async #markWaiting(workstream: string, key: string): Promise<void> {
    const { store } = this.#deps
    const busy = await store.db
      .selectFrom('turns')
      .select('id')
      .where('ws_id', '=', workstream)
      .where('state', 'in', ['running', 'parked'])
      .executeTakeFirst()
    if (!busy) return
    const row = await store.db.selectFrom('inbox').select('id').where('dedupe_key', '=', key).executeTakeFirst()
    const item = (await queuedMessages(store.db, workstream)).find((i) => i.id === row?.id)
    if (item) void showReceived(this.#deps, item)
  }

  /** A question given by command: in a thread or DM it joins that conversation, in a channel it begins one. */
  async #ask(
    command: InboundCommand,
    user: User,
    { text, model }: { text: string; model?: string },
  ): Promise<CommandReply> {
    const { store, clock, queue } = this.#deps
    const { platform, channel } = command
    // A DM is one conversation, whichever way a question comes in.
    const to = command.to ?? (this.#adapter(platform)?.isDirect(channel) ? { platform, id: channel } : undefined)
    const line = `${escapeMarkup(oneLine(command.by.name, 80))} asks: ${text}`
    const here = to && (await findOpenWorkstream(store.db, platform, to.id))
    if (here && !maySpeak(user, here, this.#deps.config)) {
      return { text: `This conversation belongs to ${here.owner}.`, private: true }
    }
    if (!this.#rate.take(user.name))
      return { text: `Not taken: more than ${MAX_PER_MINUTE} in a minute.`, private: true }
    const now = clock.now()
    const place: Address = to ?? { platform, id: `ask:${command.key}` }
    const opening = { kind: 'announce', channel, text: line } as const
    const stored = await store.transaction(async (tx) => {
      const known = to && (await findOpenWorkstream(tx.db, platform, to.id))
      if (known && (await queuedMessages(tx.db, known.id)).length >= MAX_WAITING) return 'full'
      const made = { owner: user.name, platform, address: place.id, channel, title: text, ...(model ? { model } : {}) }
      const workstream = known ?? (await createWorkstream(tx, to ? { ...made, postTo: to } : { ...made, opening }, now))
      const taken = {
        workstream: workstream.id,
        key: `command:${command.key}`,
        author: user.name,
        authorName: command.by.name,
      }
      await acceptMessage(
        tx,
        { ...taken, bot: false, text, attachments: [], replyTo: place, context: false, sentAt: now },
        now,
      )
      await touchWorkstream(tx, workstream.id, now)
      await queue.send(tx, { key: workstream.id })
      return 'taken'
    })
    if (stored === 'full') return { text: FULL, private: true }
    return to ? { text: line, private: false } : { text: 'Asked.', private: true }
  }
}

/** Messages among which a row of bots is counted. */
interface Among {
  readonly column: 'workstreams.id' | 'workstreams.room'
  readonly channel: Platform
  readonly value: string
}
