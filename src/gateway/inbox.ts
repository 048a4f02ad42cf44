import type {
  Address,
  ChannelType,
  CommandReply,
  DecisionReceipt,
  InboundCommand,
  InboundDecision,
  InboundHandler,
  InboundMessage,
  MessageRef,
  Person,
} from '../channel/channel-adapter.ts'
import { firstTime, notSince, wasSeen } from '../store/seen.ts'
import { acceptMessage, queued, wasAccepted } from '../turn/inbox-store.ts'
import { escapeMarkup, oneLine } from '../util/visible.ts'
import type { User } from '../workstream/identities.ts'
import {
  claimCloseHint,
  createWorkstream,
  latestAt,
  openAt,
  touch,
  type Workstream,
} from '../workstream/workstreams.ts'
import { maySpeak } from './access.ts'
import { parseWords } from './command-table.ts'
import { Commands, HELP, UNLINKED } from './commands.ts'
import { Decisions } from './decisions.ts'
import { type GatewayTools, tell } from './gateway-tools.ts'
import { missedPlaces } from './missed.ts'
import { RateWindow } from './rate-window.ts'
import { setMarkedOn } from './signs.ts'

/** Messages that may wait in one workstream. */
const WAITING_MAX = 20
/** Messages a person may send, a minute. */
const PER_MINUTE = 30
const MINUTE = 60_000
const DAY = 86_400_000
/** Turns in a row that bots may begin. */
const BOT_TURNS = 10

const FULL = `Your message was not taken: ${WAITING_MAX} are waiting already. Send it again when some are answered.`

const LINK_PRIVATELY =
  'Use `/link` (on Slack `/turnstone link`): what is written here is no secret. A token that stood here must be revoked.'

/** Where everything from the platforms comes in; a message is accepted when its row is committed. */
export class Inbox implements InboundHandler {
  readonly #tools: GatewayTools
  readonly #commands: Commands
  readonly #decisions: Decisions
  readonly #rate: RateWindow

  constructor(tools: GatewayTools) {
    this.#tools = tools
    this.#commands = new Commands(tools, (command, user, question) => this.#ask(command, user, question))
    this.#decisions = new Decisions(tools)
    this.#rate = new RateWindow(PER_MINUTE, MINUTE, tools.clock)
  }

  decision(d: InboundDecision): Promise<DecisionReceipt> {
    return this.#decisions.press(d.note === undefined ? d : { ...d, note: this.#tools.redactor.text(d.note) })
  }

  command(c: InboundCommand): Promise<CommandReply> {
    return this.#commands.run({ ...c, by: this.#withoutSecrets(c.by), args: this.#argsWithoutSecrets(c) })
  }

  /** A token for `link` is the one secret that a command may hold. */
  #argsWithoutSecrets({ name, args }: InboundCommand): Readonly<Record<string, string>> {
    if (name === 'link' || (name === 'words' && parseWords(args.text ?? '')?.name === 'link')) return args
    return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, this.#tools.redactor.text(value)]))
  }

  #withoutSecrets(person: Person): Person {
    return { ...person, name: this.#tools.redactor.text(person.name) }
  }

  deleted(ref: MessageRef): Promise<void> {
    return this.#decisions.cardDeleted(ref)
  }

  missed(channel: ChannelType): Promise<readonly { to: Address; after: number }[]> {
    return missedPlaces(this.#tools, channel)
  }

  async message(raw: InboundMessage): Promise<void> {
    const { store, identities, redactor } = this.#tools
    // What is a secret is never stored, not even where a person wrote it.
    const m = { ...raw, text: redactor.text(raw.text), author: this.#withoutSecrets(raw.author) }
    if ((await wasSeen(store.db, m.key)) || (await wasAccepted(store.db, m.key))) return
    // A sticker, say.
    if (m.addressed === 'thread' && !m.text.trim() && m.attachments.length === 0) return
    const user = await identities.userOf(m.channel, m.author.id)
    if (!user) return this.#unlinked(m)
    const workstream = await openAt(store.db, m.channel, m.place.to.id)
    if (!workstream && m.addressed === 'thread') return this.#afterClose(m, user)
    // Who decides need not be heard, so this comes first.
    if (workstream && (await this.#decisions.typed(m, user, workstream))) return
    if (workstream && !maySpeak(user, workstream, this.#tools.config)) return this.#notHeard(m, workstream)
    if (await this.#handledAsWords(m, user, workstream)) return
    await this.#accept(m, user, workstream)
  }

  async #unlinked(m: InboundMessage): Promise<void> {
    if (m.addressed === 'thread' || m.author.bot) return
    const { store, clock } = this.#tools
    const key = `hint:${m.channel}:${m.author.id}`
    if (!(await notSince(store.db, key, DAY, clock.now()))) return
    await this.#tellPerson(m, UNLINKED)
  }

  /** Slack shows it to the person alone; on Discord it is a reply. */
  async #tellPerson(m: InboundMessage, text: string): Promise<void> {
    const { place, ref, author } = m
    const channelLevel = place.kind === 'channel' && m.channel === 'discord'
    const to = channelLevel ? { channel: m.channel, id: place.room } : place.to
    // A bot reads nothing that is for it alone; the people around it do.
    await tell(this.#tools, to, { text, replyTo: ref.id, ...(author.bot ? {} : { onlyTo: author.id }) })
  }

  async #afterClose(m: InboundMessage, user: User): Promise<void> {
    const { store } = this.#tools
    const last = await latestAt(store.db, m.channel, m.place.to.id)
    if (!last || !maySpeak(user, last, this.#tools.config)) return
    if (!(await claimCloseHint(store.db, last.id))) return
    await tell(this.#tools, m.place.to, { text: 'This conversation was closed. Mention me here to begin a new one.' })
  }

  async #notHeard(m: InboundMessage, workstream: Workstream): Promise<void> {
    if (m.channel !== 'slack' || m.author.bot) return
    const { store, clock } = this.#tools
    if (!(await firstTime(store.db, `unheard:${m.key}`, clock.now()))) return
    await this.#tellPerson(m, `This conversation belongs to ${workstream.owner}; your message was not passed on.`)
  }

  /** A bare mention gets the help line; command words as the whole message after a mention are the command. */
  async #handledAsWords(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<boolean> {
    if (m.addressed === 'thread') return false
    const empty = !m.text.trim() && m.attachments.length === 0
    const inside = workstream !== undefined || m.place.kind === 'conversation'
    const parsed = m.attachments.length === 0 ? parseWords(m.text) : undefined
    // In a channel, where no conversation is meant, only these two can be.
    const words = inside || parsed?.name === 'help' || parsed?.name === 'link' ? parsed : undefined
    if (!empty && !words) return false
    const { store, clock } = this.#tools
    if (!(await firstTime(store.db, m.key, clock.now()))) return true
    if (!words || words.name === 'link' || words.name === 'help') {
      await this.#tellPerson(m, words?.name === 'link' ? LINK_PRIVATELY : HELP)
      return true
    }
    const reply = await this.#commands.run({
      key: m.key,
      channel: m.channel,
      by: m.author,
      room: m.ref.room,
      to: m.place.to,
      ...words,
    })
    this.#tools.log.debug({ user: user.name, command: words.name }, 'a command in words')
    await tell(this.#tools, m.place.to, { text: reply.text, ...(reply.private ? { onlyTo: m.author.id } : {}) })
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
    const { store, clock } = this.#tools
    if (!(await firstTime(store.db, m.key, clock.now())) || !why) return
    await this.#tellPerson(m, why)
  }

  /** Why it is not taken, '' where that was said already; undefined: it is taken. */
  async #refusal(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<string | undefined> {
    const where = botsAmong(m, workstream)
    if (m.author.bot && (await this.#botsAlone(where))) {
      const { store, clock } = this.#tools
      const last = await this.#lastHuman(where)
      const first = await firstTime(store.db, `bots:${where.value}:${last}`, clock.now())
      return first ? `Not taken: ${BOT_TURNS} messages in a row came from bots. A person must write first.` : ''
    }
    if (!this.#rate.take(user.name)) {
      return `Your message was not taken: that is more than ${PER_MINUTE} in a minute. Send it again a little later.`
    }
    return undefined
  }

  async #botsAlone({ column, channel, value }: Among): Promise<boolean> {
    const rows = await this.#tools.store.db
      .selectFrom('inbox')
      .innerJoin('workstreams', 'workstreams.id', 'inbox.ws_id')
      .select('inbox.bot')
      .where('workstreams.channel', '=', channel)
      .where(column, '=', value)
      .orderBy('inbox.id', 'desc')
      .limit(BOT_TURNS)
      .execute()
    return rows.length === BOT_TURNS && rows.every((r) => r.bot === 1)
  }

  async #lastHuman({ column, channel, value }: Among): Promise<number> {
    const row = await this.#tools.store.db
      .selectFrom('inbox')
      .innerJoin('workstreams', 'workstreams.id', 'inbox.ws_id')
      .select((e) => e.fn.max('inbox.id').as('id'))
      .where('workstreams.channel', '=', channel)
      .where(column, '=', value)
      .where('inbox.bot', '=', 0)
      .executeTakeFirst()
    return Number(row?.id ?? 0)
  }

  /** One transaction: the conversation, the message and its job. Undefined where it was taken in before. */
  async #store(m: InboundMessage, user: User): Promise<{ workstream: string } | 'full' | undefined> {
    const { store, clock, queue } = this.#tools
    const now = clock.now()
    return store.transaction(async (tx) => {
      const known = await openAt(tx.db, m.channel, m.place.to.id)
      if (known && (await queued(tx.db, known.id)).length >= WAITING_MAX) return 'full'
      const workstream = known ?? (await createWorkstream(tx, { owner: user.name, ...beginningOf(m) }, now))
      const context = !known && m.place.kind === 'conversation' && m.place.startedByPeople && m.addressed === 'mention'
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
          replyTo: m.place.to,
          context,
          sentAt: m.sentAt,
        },
        now,
      )
      if (!accepted) return undefined
      await touch(tx, workstream.id, now)
      await queue.send(tx, { key: workstream.id })
      return { workstream: workstream.id }
    })
  }

  /** 👀 where it has to wait for a turn that is under way. */
  async #markWaiting(workstream: string, key: string): Promise<void> {
    const { store } = this.#tools
    const busy = await store.db
      .selectFrom('turns')
      .select('id')
      .where('ws_id', '=', workstream)
      .where('state', 'in', ['running', 'parked'])
      .executeTakeFirst()
    if (!busy) return
    const row = await store.db.selectFrom('inbox').select('id').where('dedupe_key', '=', key).executeTakeFirst()
    const item = (await queued(store.db, workstream)).find((i) => i.id === row?.id)
    if (item) void setMarkedOn(this.#tools, item)
  }

  /** A question given by command: in a thread or DM it joins that conversation, in a channel it begins one. */
  async #ask(
    command: InboundCommand,
    user: User,
    { text, model }: { text: string; model?: string },
  ): Promise<CommandReply> {
    const { store, clock, queue } = this.#tools
    const { channel, room } = command
    // A DM is one conversation, whichever way a question comes in.
    const to = command.to ?? (channel === 'slack' && room.startsWith('D') ? { channel, id: room } : undefined)
    const line = `${escapeMarkup(oneLine(command.by.name, 80))} asks: ${text}`
    const here = to && (await openAt(store.db, channel, to.id))
    if (here && !maySpeak(user, here, this.#tools.config)) {
      return { text: `This conversation belongs to ${here.owner}.`, private: true }
    }
    if (!this.#rate.take(user.name)) return { text: `Not taken: more than ${PER_MINUTE} in a minute.`, private: true }
    const now = clock.now()
    const place: Address = to ?? { channel, id: `ask:${command.key}` }
    const opening = { kind: 'announce', room, text: line } as const
    const stored = await store.transaction(async (tx) => {
      const known = to && (await openAt(tx.db, channel, to.id))
      if (known && (await queued(tx.db, known.id)).length >= WAITING_MAX) return 'full'
      const made = { owner: user.name, channel, address: place.id, room, title: text, ...(model ? { model } : {}) }
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
      await touch(tx, workstream.id, now)
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
  readonly channel: ChannelType
  readonly value: string
}

/** A conversation's own; of a message that would begin one, those of the room, or each would begin a new count. */
function botsAmong(m: InboundMessage, workstream: Workstream | undefined): Among {
  const { channel } = m
  if (workstream) return { column: 'workstreams.id', channel, value: workstream.id }
  return { column: 'workstreams.room', channel, value: m.place.kind === 'channel' ? m.place.room : roomOf(m) }
}

function roomOf({ channel, place }: InboundMessage): string {
  return channel === 'slack' ? (place.to.id.split(':')[0] ?? place.to.id) : place.to.id
}

/** Where the first answer of a new conversation goes, and what must be made for it. */
function beginningOf(m: InboundMessage): Omit<Parameters<typeof createWorkstream>[1], 'owner'> {
  const { place, channel, text: title } = m
  const made = { channel, address: place.to.id, title }
  if (place.kind === 'conversation') {
    return { ...made, room: roomOf(m), postTo: place.to }
  }
  return { ...made, room: place.room, opening: { kind: 'thread', room: place.room, message: m.ref.id } }
}
