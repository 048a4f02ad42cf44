import { grantsOf, openApprovals, revokeGrant } from '../../approval/approvals.ts'
import type { CommandReply, InboundCommand } from '../../channel/channel-adapter.ts'
import { createPostLog } from '../../channel/post-log.ts'
import type { User } from '../../identity/identities.ts'
import { queuedMessages } from '../../turn/inbox-messages.ts'
import { TurnstoneError } from '../../util/errors.ts'
import { RateWindow } from '../../util/rate-window.ts'
import { escapeMarkup, oneLine } from '../../util/visible.ts'
import { findOpenWorkstream, openWorkstreams, setModel, type Workstream } from '../../workstream/workstreams.ts'
import { mayManage } from '../access.ts'
import { addressOf, cardKey, redrawCardsSoon } from '../cards/card-painter.ts'
import { rejectCardsOf } from '../cards/reject-cards.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { stopWorkstream } from '../operations/stop.ts'
import { removeReceived } from '../reactions.ts'
import { parseWords } from './command-table.ts'
import { usageText } from './usage.ts'

/** Tries of /link a person has in an hour. */
const LINK_ATTEMPTS = 5
const HOUR_MS = 3_600_000

export const HELP =
  'Mention me with a question to begin a conversation; in its thread, or in a direct message, just write. Tools that ' +
  'change things ask first, by buttons. There are `status`, `stop`, `close`, `model`, `approvals`, `usage`, `link`, ' +
  '`unlink` and `help`: as slash commands (on Slack after `/turnstone`), or in a thread after a mention of me.'

export const UNLINKED =
  'I do not know you yet. Ask an admin for a token, then link your account with `/link` (on Slack `/turnstone link`).'

const say = (text: string): CommandReply => ({ text, private: true })

/** Begins a conversation with a question that was given by command. */
export type Asker = (
  command: InboundCommand,
  user: User,
  question: { text: string; model?: string },
) => Promise<CommandReply>

/** What every command does, on both platforms. */
export class Commands {
  readonly #deps: GatewayDeps
  readonly #ask: Asker
  readonly #linkTries: RateWindow

  constructor(deps: GatewayDeps, ask: Asker) {
    this.#deps = deps
    this.#ask = ask
    this.#linkTries = new RateWindow(LINK_ATTEMPTS, HOUR_MS, deps.clock)
  }

  async run(command: InboundCommand): Promise<CommandReply> {
    if (command.name === 'words') return this.#words(command)
    if (command.name === 'help') return say(HELP)
    if (command.name === 'not-built') return say(`\`${command.args.name}\` is not in this version.`)
    if (command.name === 'link') return this.#link(command)
    const user = await this.#deps.identities.userOf(command.platform, command.by.id)
    if (!user || command.by.bot) return say(UNLINKED)
    switch (command.name) {
      case 'ask':
        return this.#askQuestion(command, user)
      case 'unlink':
        return this.#unlink(command, user)
      case 'usage':
        return say(await usageText(this.#deps, user))
      default:
        return this.#onWorkstream(command, user)
    }
  }

  /** Slack's one command takes the same words; what is no command is a question. */
  async #words(command: InboundCommand): Promise<CommandReply> {
    const text = command.args.text ?? ''
    if (!text.trim()) return say(HELP)
    const parsed = parseWords(text)
    if (parsed) return this.run({ ...command, ...parsed })
    return this.run({ ...command, name: 'ask', args: { prompt: text } })
  }

  async #askQuestion(command: InboundCommand, user: User): Promise<CommandReply> {
    const { prompt = '', model } = command.args
    if (!prompt.trim()) return say(HELP)
    if (model !== undefined && !this.#deps.models.aliases.includes(model)) return say(this.#noModel(model))
    return this.#ask(command, user, { text: prompt, ...(model === undefined ? {} : { model }) })
  }

  async #link({ platform, by, args }: InboundCommand): Promise<CommandReply> {
    const { identities, log } = this.#deps
    if (!this.#linkTries.take(`${platform}:${by.id}`)) return say('Too many tries; wait an hour.')
    const user = by.bot ? undefined : await identities.byToken(args.token?.trim() ?? '')
    if (!user) return say('That token is not valid.')
    try {
      await identities.link(user.name, platform, by.id, user.name)
    } catch (error) {
      if (error instanceof TurnstoneError) return say('This account is linked already; use `unlink` first.')
      throw error
    }
    log.info({ user: user.name, channel: platform }, 'an account was linked')
    return say(`You are linked as ${user.name}.`)
  }

  async #unlink({ platform, by }: InboundCommand, user: User): Promise<CommandReply> {
    try {
      await this.#deps.identities.unlink(user.name, platform, by.id, user.name)
    } catch (error) {
      if (error instanceof TurnstoneError) return say(`This link cannot be taken off here: ${error.message}.`)
      throw error
    }
    await rejectCardsOf(this.#deps, user.name, `${user.name} was unlinked`)
    redrawCardsSoon(this.#deps)
    return say('Your account is no longer linked; your open questions were refused.')
  }

  async #onWorkstream(command: InboundCommand, user: User): Promise<CommandReply> {
    const { workstream, named } = await this.#target(command, user)
    if (!workstream) return say('There is no open conversation of yours here.')
    const prefix = named ? `“${escapeMarkup(oneLine(workstream.title, 60))}”: ` : ''
    if (command.name === 'status') return say(prefix + (await this.#status(workstream)))
    if (!mayManage(user, workstream)) return say(`Only ${workstream.owner} and admins may do that.`)
    switch (command.name) {
      case 'stop':
        return this.#stop(workstream, user, prefix)
      case 'close':
        return this.#close(workstream, user, prefix)
      case 'model':
        return say(prefix + (await this.#model(workstream, command.args.name)))
      case 'approvals':
        return say(prefix + (await this.#approvals(workstream, user, command.args.revoke)))
      default:
        return say(`There is no command \`${oneLine(command.name, 40)}\`.`)
    }
  }

  /** The conversation it stands in; else the caller's most recently active one of this channel or DM. */
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

  async #stop(workstream: Workstream, user: User, prefix: string): Promise<CommandReply> {
    const { something, messages } = await stopWorkstream(this.#deps, workstream, user.name, false)
    redrawCardsSoon(this.#deps)
    await removeReceived(this.#deps, messages)
    const text = something ? `Stopped by ${user.name}.` : 'Nothing is running.'
    const waiting = messages.length > 0 ? ` ${messages.length} waiting message(s) will not be answered.` : ''
    return { text: prefix + text + waiting, private: !something }
  }

  async #close(workstream: Workstream, user: User, prefix: string): Promise<CommandReply> {
    const { messages } = await stopWorkstream(this.#deps, workstream, user.name, true)
    redrawCardsSoon(this.#deps)
    await removeReceived(this.#deps, messages)
    return {
      text: `${prefix}Closed by ${user.name}. A mention begins anew; in a direct message any message does.`,
      private: false,
    }
  }

  #noModel(name: string): string {
    return `There is no model \`${oneLine(name, 60)}\`. There are: ${this.#deps.models.aliases.join(', ')}.`
  }

  async #model(workstream: Workstream, name: string | undefined): Promise<string> {
    const { models, store } = this.#deps
    const current = workstream.model ?? models.defaultAlias
    if (name === undefined) {
      const all = models.aliases.map((alias) => models.label(alias)).join(', ')
      return `The model is ${models.label(current)}. There are: ${all}.`
    }
    if (!models.aliases.includes(name)) return this.#noModel(name)
    await store.transaction((tx) => setModel(tx, workstream.id, name))
    return `From the next message on ${models.label(name)} answers.`
  }

  async #status(workstream: Workstream): Promise<string> {
    const { store, models, config } = this.#deps
    const turn = await store.db
      .selectFrom('turns')
      .select(['state'])
      .where('ws_id', '=', workstream.id)
      .where('state', 'in', ['running', 'parked'])
      .executeTakeFirst()
    const waiting = (await queuedMessages(store.db, workstream.id)).length
    const doing = turn?.state === 'parked' ? 'waits for an approval' : turn ? 'is working' : 'is idle'
    const lines = [
      `Conversation ${workstream.id} of ${workstream.owner} ${doing}; ${waiting} message(s) wait.`,
      `Model: ${models.label(workstream.model ?? models.defaultAlias)}.`,
    ]
    if (config.approvals.skip_permissions) lines.push('Approvals are switched off (skip_permissions).')
    return lines.join('\n')
  }

  async #approvals(workstream: Workstream, user: User, revoke: string | undefined): Promise<string> {
    const { store, clock, adapters } = this.#deps
    if (revoke !== undefined) {
      const grant = { workstream: workstream.id, label: revoke, by: user.name }
      const gone = await store.transaction((tx) => revokeGrant(tx, grant, clock.now()))
      return gone ? `\`${revoke}\` asks again.` : `\`${oneLine(revoke, 100)}\` was not always allowed here.`
    }
    const lines: string[] = []
    const posts = createPostLog(store, clock)
    for (const approval of await openApprovals(store.db, workstream.id)) {
      const [ref] = [...(await posts.known(cardKey(approval.id))).values()].slice(-1)
      const to = await addressOf(this.#deps, approval)
      const link = to ? adapters.get(to.platform)?.permalink(to, ref) : undefined
      lines.push(`- open: ${approval.calls.map((c) => c.header).join('; ')}${link ? ` ${link}` : ''}`)
    }
    const grants = [...(await grantsOf(store.db, workstream.id))]
    if (lines.length === 0) lines.push('No open questions.')
    lines.push(
      grants.length > 0
        ? `Always allowed here: ${grants.map((g) => `\`${g}\``).join(', ')}`
        : 'Nothing is always allowed here.',
    )
    return lines.join('\n')
  }
}
