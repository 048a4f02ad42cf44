import type { CommandReply, InboundCommand } from '../../channel/channel-adapter.ts'
import { NOT_LINKED } from '../../copy/chat.ts'
import { IN_CONVERSATION, NO_CONVERSATION, NO_SUCH_COMMAND, ONLY_OWNER } from '../../copy/commands.ts'
import type { User } from '../../identity/users.ts'
import type { Store } from '../../store/store.ts'
import { RateLimiter } from '../../util/rate-limiter.ts'
import { escapeMarkup, oneLine } from '../../util/visible.ts'
import { findOpenWorkstream, openWorkstreams, type Workstream } from '../../workstream/workstreams.ts'
import { mayManage } from '../access.ts'
import { type GatewayDeps, writtenOn } from '../gateway-deps.ts'
import type { Asker } from './ask.ts'
import { type Command, say, type UserCall } from './command.ts'
import { helpFor } from './help.ts'
import { MAX_LINK_ATTEMPTS } from './link.ts'
import { createCommands } from './list.ts'
import { type ParsedWords, parseWords } from './words.ts'

const HOUR_MS = 3_600_000

/** Runs commands: who may use them, which conversation they mean, and what they answer. */
export class Commands {
  readonly #deps: GatewayDeps
  readonly #commands: readonly Command[]

  constructor(deps: GatewayDeps, ask: Asker) {
    this.#deps = deps
    this.#commands = createCommands(ask, new RateLimiter(MAX_LINK_ATTEMPTS, HOUR_MS, deps.clock))
  }

  /** The command that a whole text is; undefined for a question. */
  parse(text: string): ParsedWords | undefined {
    return parseWords(text, this.#commands)
  }

  help(platform: string): string {
    return helpFor(this.#deps, platform, this.#commands)
  }

  /** `store`: what the command writes with, where more belongs to its transaction. */
  async run(command: InboundCommand, store: Store = this.#deps.store): Promise<CommandReply> {
    if (command.name === 'words') return this.#runWords(command)
    const deps = { ...this.#deps, store }
    // A blank question is a person who does not know what to write.
    const name = command.name === 'ask' && !command.args.prompt?.trim() ? 'help' : command.name
    const found = this.#commands.find((c) => c.name === name)
    if (!found) return say(NO_SUCH_COMMAND(oneLine(command.name, 40)))
    if (found.access === 'anybody') return found.run({ deps, command })
    const user = command.by.bot ? undefined : await deps.identities.userOf(command.platform, command.by.id)
    if (!user) return say(NOT_LINKED(writtenOn(deps, command.platform, 'link')))
    if (found.access === 'linked') return found.run({ deps, command, user })
    return this.#runOnWorkstream(found, { deps, command, user })
  }

  /** One command for everything, as on Slack: text that is no command is a question. */
  #runWords(command: InboundCommand): Promise<CommandReply> {
    const text = command.args.text ?? ''
    const parsed = text.trim() ? this.parse(text) : { name: 'help', args: {} }
    return this.run({ ...command, ...(parsed ?? { name: 'ask', args: { prompt: text } }) })
  }

  async #runOnWorkstream(
    found: Extract<Command, { access: 'conversation' | 'owner' }>,
    call: UserCall,
  ): Promise<CommandReply> {
    const { workstream, named } = await this.#target(call.command, call.user)
    if (!workstream) return say(NO_CONVERSATION)
    if (found.access === 'owner' && !mayManage(call.user, workstream)) return say(ONLY_OWNER(workstream.owner))
    const reply = await found.run({ ...call, workstream })
    if (!named) return reply
    return { ...reply, text: IN_CONVERSATION(escapeMarkup(oneLine(workstream.title, 60))) + reply.text }
  }

  /** The conversation it was given in; else the caller's most recently active one of this channel, which is named. */
  async #target(command: InboundCommand, user: User): Promise<{ workstream?: Workstream; named: boolean }> {
    const { store } = this.#deps
    const { platform, channel, to } = command
    if (to) {
      const here = await findOpenWorkstream(store.db, platform, to.id)
      return { ...(here ? { workstream: here } : {}), named: false }
    }
    const [recent] = await openWorkstreams(store.db, { owner: user.name, platform, channel, limit: 1 })
    return { ...(recent ? { workstream: recent } : {}), named: true }
  }
}
