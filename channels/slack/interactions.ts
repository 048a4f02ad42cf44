import type { AckFn, App } from '@slack/bolt'
import type { CommandReply, DecisionAction, InboundHandler, Person } from '../../src/channel/channel-adapter.ts'
import { FORM_TOO_LATE, NOT_IN_THIS_CHANNEL, NOT_SAVED, NOTE_FORM, noteLength } from '../../src/copy/cards.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import type { Clock } from '../../src/util/time.ts'
import { commitThenAcknowledge } from '../support/acknowledge.ts'
import { isOwnHost } from '../support/own-host.ts'
import { isDirect } from './address.ts'
import type { SlackApi } from './api.ts'
import { ACTION } from './cards.ts'
import { codeOf } from './errors.ts'
import { isJson, type Json, listIn, objectIn, textIn } from './json.ts'
import { LIMITS, OWN } from './limits.ts'
import { CALLBACK, FIELD, linkModal, noteModal } from './modals.ts'
import { markdownBody, textParts } from './outbound.ts'
import type { Poster } from './posts.ts'

const ACTIONS: Readonly<Record<string, DecisionAction>> = {
  [ACTION.approve]: 'approve',
  [ACTION.always]: 'always',
  [ACTION.reject]: 'reject',
  // Cards of version 0.1.
  'ts:deny': 'reject',
}

export interface InteractionDeps {
  readonly api: SlackApi
  readonly poster: Poster
  readonly clock: Clock
  readonly log: Log
  readonly command: string
  readonly channels: readonly string[]
  readonly apiUrl: string
  /** Undefined before start and after stop. */
  readonly inbound: () => InboundHandler | undefined
}

/** Where a line for one person goes: by the response_url while it lasts, else as an ephemeral line. */
interface Where {
  readonly channel: string
  readonly thread?: string
  readonly url?: string
}

/** Buttons, modals and the slash command: each is committed, then acknowledged. */
export class Interactions {
  readonly #deps: InteractionDeps

  constructor(deps: InteractionDeps) {
    this.#deps = deps
  }

  register(app: App): void {
    app.action(/^ts:/, ({ ack, body }) => this.#press(ack, body as unknown as Json))
    app.view(CALLBACK.note, ({ ack, body }) => this.#noted(ack as AckFn<unknown>, body as unknown as Json))
    app.view(CALLBACK.link, ({ ack, body }) => this.#linked(ack as AckFn<unknown>, body as unknown as Json))
    app.command(this.#deps.command, ({ ack, body }) => this.#command(ack, body as unknown as Json))
  }

  async #press(ack: () => Promise<void>, body: Json): Promise<void> {
    const [action] = listIn(body, 'actions')
    const decision = ACTIONS[textIn(action, 'action_id') ?? '']
    const approval = textIn(action, 'value')
    if (!approval) return ack()
    const container = objectIn(body, 'container')
    const thread = textIn(container, 'thread_ts') ?? textIn(objectIn(body, 'message'), 'thread_ts')
    const channel = textIn(container, 'channel_id') ?? textIn(objectIn(body, 'channel'), 'id') ?? ''
    const url = textIn(body, 'response_url')
    const where: Where = { channel, ...(thread ? { thread } : {}), ...(url ? { url } : {}) }
    const by = personOf(objectIn(body, 'user'))
    if (textIn(action, 'action_id') === ACTION.note) {
      const view = noteModal(approval, { channel, ...(thread ? { thread } : {}) })
      await ack()
      return this.#open(textIn(body, 'trigger_id') ?? '', view, by, where)
    }
    if (!decision) return ack()
    await this.#decide({ approval, action: decision, by }, where, ack)
  }

  async #decide(
    d: { approval: string; action: DecisionAction; note?: string; by: Person },
    where: Where,
    ack: () => Promise<void>,
  ): Promise<void> {
    const work = async (): Promise<string> => {
      try {
        return (await this.#handler().decision({ platform: 'slack', ...d })).text
      } catch (error) {
        this.#deps.log.error({ reason: messageOf(error), approval: d.approval }, LOG.decisionNotSaved)
        return NOT_SAVED
      }
    }
    await this.#tell(d.by, where, await commitThenAcknowledge(this.#deps.clock, work, ack))
  }

  /** A trigger lives three seconds. */
  async #open(trigger: string, view: Json, by: Person, where: Where): Promise<void> {
    try {
      await this.#deps.api.call('views.open', { trigger_id: trigger, view })
    } catch (error) {
      this.#deps.log.warn({ reason: messageOf(error), code: codeOf(error) }, LOG.formNotOpened)
      await this.#tell(by, where, FORM_TOO_LATE)
    }
  }

  async #noted(ack: AckFn<unknown>, body: Json): Promise<void> {
    const { values, metadata } = submission(body)
    const choice = textIn(objectIn(values[FIELD.choice], 'selected_option'), 'value')
    const note = (textIn(values[FIELD.note], 'value') ?? '').trim()
    const decision: DecisionAction | undefined = choice === 'approve' || choice === 'reject' ? choice : undefined
    const errors = {
      ...(decision ? {} : { [FIELD.choice]: NOTE_FORM.noChoice }),
      ...(note && note.length <= LIMITS.note ? {} : { [FIELD.note]: noteLength(LIMITS.note) }),
    }
    if (!decision || Object.keys(errors).length > 0) return ack({ response_action: 'errors', errors })
    const approval = textIn(metadata, 'approval')
    if (!approval) return ack()
    const thread = textIn(metadata, 'thread')
    const where = { channel: textIn(metadata, 'channel') ?? '', ...(thread ? { thread } : {}) }
    await this.#decide({ approval, action: decision, note, by: personOf(objectIn(body, 'user')) }, where, ack)
  }

  async #linked(ack: AckFn<unknown>, body: Json): Promise<void> {
    const { values, metadata } = submission(body)
    const url = textIn(metadata, 'url')
    const where = { channel: textIn(metadata, 'channel') ?? '', ...(url ? { url } : {}) }
    const token = (textIn(values[FIELD.token], 'value') ?? '').trim()
    const key = `view:${textIn(objectIn(body, 'view'), 'id') ?? ''}`
    await this.#run({ key, name: 'link', args: { token }, by: personOf(objectIn(body, 'user')) }, where, ack)
  }

  async #command(ack: () => Promise<void>, body: Json): Promise<void> {
    const channel = textIn(body, 'channel_id') ?? ''
    const url = textIn(body, 'response_url')
    const where: Where = { channel, ...(url ? { url } : {}) }
    const id = textIn(body, 'user_id') ?? ''
    const by: Person = { id, name: textIn(body, 'user_name') ?? id, bot: false }
    const trigger = textIn(body, 'trigger_id') ?? ''
    const text = (textIn(body, 'text') ?? '').trim()
    const link = /^link(?:\s+(\S+))?$/i.exec(text)
    if (link?.[1]) return this.#run({ key: trigger, name: 'link', args: { token: link[1] }, by }, where, ack)
    if (link) await ack()
    if (link) return this.#open(trigger, linkModal({ channel, url: url ?? '' }), by, where)
    const { channels } = this.#deps
    if (channels.length > 0 && !channels.includes(channel) && !isDirect(channel)) {
      await ack()
      return this.#tell(by, where, NOT_IN_THIS_CHANNEL)
    }
    await this.#run({ key: trigger, name: 'words', args: { text }, by }, where, ack)
  }

  async #run(
    c: { key: string; name: string; args: Readonly<Record<string, string>>; by: Person },
    where: Where,
    ack: () => Promise<void>,
  ): Promise<void> {
    const work = async (): Promise<CommandReply> => {
      try {
        return await this.#handler().command({ platform: 'slack', channel: where.channel, ...c })
      } catch (error) {
        this.#deps.log.error({ reason: messageOf(error), command: c.name }, LOG.commandFailed)
        return { text: NOT_SAVED, private: true }
      }
    }
    await this.#reply(c.by, where, await commitThenAcknowledge(this.#deps.clock, work, ack))
  }

  #handler(): InboundHandler {
    const handler = this.#deps.inbound()
    if (!handler) throw new Error('the gateway is stopping')
    return handler
  }

  async #tell(to: Person, where: Where, text: string): Promise<void> {
    await this.#reply(to, where, { text, private: true })
  }

  /** Never rejects: what was done is done, only its telling failed. */
  async #reply(to: Person, where: Where, reply: CommandReply): Promise<void> {
    for (const [i, part] of textParts(reply.text).entries()) {
      const body = markdownBody(part)
      const kind = reply.private ? 'ephemeral' : 'in_channel'
      const thread = where.thread ? { thread_ts: where.thread } : {}
      try {
        if (where.url && i < LIMITS.responseUrlUses) {
          const more = { response_type: kind, replace_original: false, ...thread }
          if (await this.#respond(where.url, { ...body, ...more })) continue
        }
        const address = {
          platform: 'slack',
          id: where.thread ? `${where.channel}:${where.thread}` : where.channel,
        } as const
        if (reply.private) await this.#deps.poster.postEphemeral(address, to.id, body)
        else await this.#deps.poster.post(address, { body })
      } catch (error) {
        this.#deps.log.warn({ reason: messageOf(error) }, LOG.commandAnswerNotShown)
      }
    }
  }

  async #respond(url: string, body: Json): Promise<boolean> {
    const target = new URL(url)
    if (!isOwnHost(target, this.#deps.apiUrl, OWN)) return false
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(LIMITS.callMs),
      })
      await response.body?.cancel()
      return response.ok
    } catch {
      return false
    }
  }
}

function personOf(user: Json): Person {
  const id = textIn(user, 'id') ?? ''
  return { id, name: textIn(user, 'name') ?? textIn(user, 'username') ?? id, bot: false }
}

/** A modal's fields by block id, and what it carried. */
function submission(body: Json): { values: Readonly<Record<string, unknown>>; metadata: Json } {
  const view = objectIn(body, 'view')
  const state = objectIn(objectIn(view, 'state'), 'values')
  const values = Object.fromEntries(Object.entries(state).map(([block]) => [block, objectIn(state[block], block)]))
  try {
    const metadata: unknown = JSON.parse(textIn(view, 'private_metadata') ?? '{}')
    return { values, metadata: isJson(metadata) ? metadata : {} }
  } catch {
    return { values, metadata: {} }
  }
}
