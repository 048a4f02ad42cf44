import type {
  Address,
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
import {
  BELONGS_TO,
  CONVERSATION_CLOSED,
  LINK_PRIVATELY,
  NOT_LINKED,
  NOT_YOUR_CONVERSATION,
  QUESTION_POSTED,
} from '../../copy/chat.ts'
import { LOG } from '../../copy/log.ts'
import type { User } from '../../identity/users.ts'
import { claimOnce, throttle, wasSeen } from '../../store/seen.ts'
import type { Store, Tx } from '../../store/store.ts'
import { findQueued, wasAccepted } from '../../turn/inbox-messages.ts'
import { activeTurn } from '../../turn/turns.ts'
import {
  claimCloseHint,
  findLatestWorkstream,
  findOpenWorkstream,
  type Workstream,
} from '../../workstream/workstreams.ts'
import { maySpeak } from '../access.ts'
import type { Decisions } from '../cards/decisions.ts'
import { reportMissingCards } from '../cards/missing-cards.ts'
import { say } from '../commands/command.ts'
import { Commands } from '../commands/run-command.ts'
import type { ParsedWords } from '../commands/words.ts'
import { type GatewayDeps, tell, writtenOn } from '../gateway-deps.ts'
import { showReceived } from '../reactions.ts'
import { Acceptor } from './accept-message.ts'
import { missedConversations } from './missed-conversations.ts'

const DAY_MS = 86_400_000
/** What is read of a message, and of a person's name, characters: more than the platforms let people write. */
const MAX_TEXT_CHARS = 65_536
const MAX_FILE_NAME_CHARS = 1000
const MAX_NAME_CHARS = 200

function bounded(person: Person): Person {
  return { ...person, name: person.name.slice(0, MAX_NAME_CHARS).toWellFormed() }
}

function mapValues(args: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, change(value)]))
}

/** Where everything from the platforms comes in; a message is accepted when its row is committed. */
export class Inbox implements InboundHandler {
  readonly #deps: GatewayDeps
  readonly #commands: Commands
  readonly #decisions: Decisions
  readonly #acceptor: Acceptor

  constructor(deps: GatewayDeps, decisions: Decisions) {
    this.#deps = deps
    this.#commands = new Commands(deps, (command, user, question) => this.#ask(command, user, question))
    this.#decisions = decisions
    this.#acceptor = new Acceptor(deps)
  }

  decision(d: InboundDecision): Promise<DecisionReceipt> {
    return this.#decisions.press(d)
  }

  async command(c: InboundCommand): Promise<CommandReply> {
    const { identities } = this.#deps
    const cut = { ...c, by: bounded(c.by), args: mapValues(c.args, (value) => value.slice(0, MAX_TEXT_CHARS)) }
    const known = !c.by.bot && (await identities.userOf(c.platform, c.by.id)) !== undefined
    if (!known) return this.#commands.run(cut)
    return this.#commands.run({ ...cut, by: this.#withoutSecrets(cut.by), args: this.#argsWithoutSecrets(cut) })
  }

  /** A token for `link` is the one secret that a command may hold. */
  #argsWithoutSecrets({ name, args }: InboundCommand): Readonly<Record<string, string>> {
    if (name === 'link' || (name === 'words' && this.#commands.parse(args.text ?? '')?.name === 'link')) return args
    return mapValues(args, (value) => this.#deps.redactor.redact(value))
  }

  #withoutSecrets(person: Person): Person {
    return { ...person, name: this.#deps.redactor.redact(person.name) }
  }

  deleted(ref: MessageRef): Promise<void> {
    return this.#decisions.cardDeleted(ref)
  }

  missedConversations(platform: Platform): Promise<readonly { to: Address; after: number }[]> {
    // A card may be missed too. Not waited for: messages come first.
    void reportMissingCards(this.#deps, platform, (ref) => this.deleted(ref))
    return missedConversations(this.#deps, platform)
  }

  async message(raw: InboundMessage): Promise<void> {
    const { store, identities, redactor } = this.#deps
    if ((await wasSeen(store.db, raw.key)) || (await wasAccepted(store.db, raw.key))) return
    const user = await identities.userOf(raw.platform, raw.author.id)
    // Nothing of a stranger's text is worked on.
    if (!user) return this.#unlinked(raw)
    // What is a secret is never stored, not even where a person wrote it.
    const text = redactor.head(raw.text, MAX_TEXT_CHARS).toWellFormed()
    const attachments = raw.attachments.map((file) => ({
      ...file,
      name: redactor.head(file.name, MAX_FILE_NAME_CHARS),
    }))
    const m = { ...raw, text, attachments, author: this.#withoutSecrets(bounded(raw.author)) }
    // A sticker, say.
    if (m.addressed === 'thread' && !m.text.trim() && m.attachments.length === 0) return
    const workstream = await findOpenWorkstream(store.db, m.platform, m.location.to.id)
    if (!workstream && m.addressed === 'thread') return this.#afterClose(m, user)
    // Who decides need not be an accepted speaker, so this comes first.
    if (workstream && (await this.#decisions.typed(m, user, workstream))) return
    if (workstream && !maySpeak(user, workstream, this.#deps.config)) return this.#notHeard(m, workstream)
    if (await this.#handledAsWords(m, user, workstream)) return
    await this.#accept(m, user, workstream)
  }

  async #unlinked(m: InboundMessage): Promise<void> {
    const { store, clock } = this.#deps
    const here = m.addressed !== 'thread' || (await findOpenWorkstream(store.db, m.platform, m.location.to.id))
    // Refused once, refused for good: it may be read again after the person was linked.
    if (!here || !(await claimOnce(store.db, m.key, clock.now()))) return
    if (m.addressed === 'thread' || m.author.bot) return
    if (!(await throttle(store.db, `hint:${m.platform}:${m.author.id}`, DAY_MS, clock.now()))) return
    await this.#tellPerson(m, NOT_LINKED(writtenOn(this.#deps, m.platform, 'link')))
  }

  /** Privately where the platform can; else as a reply. */
  async #tellPerson(m: InboundMessage, text: string): Promise<void> {
    const { location, ref, author, platform } = m
    const to = this.#deps.adapters.get(platform)?.replyAddress(location) ?? location.to
    // A bot reads nothing that is for it alone; the people around it do.
    await tell(this.#deps, to, { text, replyTo: ref.id, ...(author.bot ? {} : { onlyTo: author.id }) })
  }

  async #afterClose(m: InboundMessage, user: User): Promise<void> {
    const { store, config } = this.#deps
    const last = await findLatestWorkstream(store.db, m.platform, m.location.to.id)
    if (!last || !maySpeak(user, last, config)) return
    if (!(await claimCloseHint(store.db, last.id))) return
    await tell(this.#deps, m.location.to, { text: CONVERSATION_CLOSED })
  }

  async #notHeard(m: InboundMessage, workstream: Workstream): Promise<void> {
    const { store, clock, adapters } = this.#deps
    // Refused once, refused for good: it may be read again later.
    if (!(await claimOnce(store.db, m.key, clock.now()))) return
    if (!adapters.get(m.platform)?.ephemeralLines || m.author.bot) return
    await this.#tellPerson(m, NOT_YOUR_CONVERSATION(workstream.owner))
  }

  /** A bare mention gets help; command words as the whole message after a mention are the command. */
  async #handledAsWords(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<boolean> {
    if (m.addressed === 'thread') return false
    const empty = !m.text.trim() && m.attachments.length === 0
    const inside = workstream !== undefined || m.location.kind === 'conversation'
    const parsed = m.attachments.length === 0 ? this.#commands.parse(m.text) : undefined
    // In a channel, where no conversation is meant, only these two can be.
    const words = inside || parsed?.name === 'help' || parsed?.name === 'link' ? parsed : undefined
    if (!empty && !words) return false
    if (words && words.name !== 'link' && words.name !== 'help') {
      await this.#deps.locks.run(`words:${m.key}`, () => this.#runWords(m, user, words))
      return true
    }
    const { store, clock } = this.#deps
    if (!(await claimOnce(store.db, m.key, clock.now()))) return true
    const why = words?.name === 'link' ? LINK_PRIVATELY(writtenOn(this.#deps, m.platform, 'link')) : undefined
    await this.#tellPerson(m, why ?? this.#commands.help(m.platform))
    return true
  }

  /** The message is marked as seen with what the command does: one that failed to be stored is run when it comes again. */
  async #runWords(m: InboundMessage, user: User, words: ParsedWords): Promise<void> {
    const { store, clock, log } = this.#deps
    const { key, platform, author: by, ref, location } = m
    if (await wasSeen(store.db, key)) return
    const mark = async (tx: Tx): Promise<void> => void (await claimOnce(tx.db, key, clock.now()))
    const command = { key, platform, by, channel: ref.channel, to: location.to, ...words }
    const reply = await this.#commands.run(command, alsoWriting(store, mark))
    await claimOnce(store.db, key, clock.now())
    log.debug({ user: user.name, command: words.name }, LOG.wordCommand)
    await tell(this.#deps, location.to, { text: reply.text, ...(reply.private ? { onlyTo: by.id } : {}) })
  }

  async #accept(m: InboundMessage, user: User, workstream: Workstream | undefined): Promise<void> {
    const { store, clock } = this.#deps
    const accepted = await this.#acceptor.message(m, user, workstream)
    if (accepted.kind === 'accepted') return this.#markWaiting(accepted.workstream, m.key)
    if (accepted.kind === 'known') return
    // Remembered, so that a repeat of it gets no second answer.
    if ((await claimOnce(store.db, m.key, clock.now())) && accepted.why) await this.#tellPerson(m, accepted.why)
  }

  /** 👀 where it has to wait for a turn that is under way. */
  async #markWaiting(workstream: string, key: string): Promise<void> {
    const { store } = this.#deps
    if (!(await activeTurn(store.db, workstream))) return
    const item = await findQueued(store.db, key)
    if (item) void showReceived(this.#deps, item)
  }

  async #ask(command: InboundCommand, user: User, asked: { text: string; model?: string }): Promise<CommandReply> {
    const { store, adapters, config } = this.#deps
    const { platform, channel } = command
    // A DM is one conversation, whichever way a question comes in.
    const direct = adapters.get(platform)?.isDirect(channel) ?? false
    const to = command.to ?? (direct ? { platform, id: channel } : undefined)
    const here = to && (await findOpenWorkstream(store.db, platform, to.id))
    if (here && !maySpeak(user, here, config)) return say(BELONGS_TO(here.owner))
    const accepted = await this.#acceptor.question(command, user, { ...asked, to })
    if (accepted.kind === 'refused') return say(accepted.why)
    return to ? { text: accepted.line, private: false } : say(QUESTION_POSTED)
  }
}

/** The store, with `also` in each of its transactions. */
function alsoWriting(store: Store, also: (tx: Tx) => Promise<void>): Store {
  return {
    get db() {
      return store.db
    },
    transaction: (work) =>
      store.transaction(async (tx) => {
        await also(tx)
        return work(tx)
      }),
    healthy: () => store.healthy(),
    close: () => store.close(),
  }
}
