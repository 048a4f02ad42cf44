import type { Core } from './core.ts'
import { apiError, Form } from './errors.ts'
import { asObject, asObjects, asString, copy, isObject, type Json } from './json.ts'
import type { Messages } from './messages.ts'
import type { SimChannel, SimMessage, SimUser, Upload } from './model.ts'
import { FLAG, limit, MESSAGE } from './rules.ts'
import { checkModal } from './validate-components.ts'
import { checkFlags, checkMessageBody } from './validate-message.ts'

export type InteractionKind = 'command' | 'component' | 'autocomplete' | 'modal'

/** What the person saw first; `failed` is the "did not respond in time" line after 3 s. */
export type Outcome =
  | { kind: 'message'; message: SimMessage; ephemeral: boolean }
  | { kind: 'deferred'; ephemeral: boolean }
  | { kind: 'deferredUpdate' }
  | { kind: 'update'; message: SimMessage }
  | { kind: 'modal'; modal: Json }
  | { kind: 'choices'; choices: Json[] }
  | { kind: 'failed' }

const TYPE: Record<InteractionKind, number> = { command: 2, component: 3, autocomplete: 4, modal: 5 }
const CALLBACK_FLAGS = FLAG.suppressEmbeds | FLAG.ephemeral | FLAG.suppressNotifications | FLAG.componentsV2

/** One press, command, completion or submitted modal, as the person who did it sees it. */
export class SimInteraction {
  readonly id: string
  readonly token: string
  readonly kind: InteractionKind
  readonly user: SimUser
  readonly channel: SimChannel
  readonly createdAt: number
  /** The message that bore the component. */
  readonly source: SimMessage | undefined
  /** Resolves with the first response, or with `failed` once 3 s have gone by on the clock. */
  readonly outcome: Promise<Outcome>
  /** The same, as far as it is known by now. */
  settled: Outcome | undefined
  /** The message behind @original. */
  original: SimMessage | undefined
  readonly followups: SimMessage[] = []
  #settle: (o: Outcome) => void = () => {}

  constructor(id: string, kind: InteractionKind, user: SimUser, channel: SimChannel, at: number, source?: SimMessage) {
    this.id = id
    this.token = Buffer.from(`interaction:${id}`).toString('base64url')
    this.kind = kind
    this.user = user
    this.channel = channel
    this.createdAt = at
    this.source = source
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  settle(o: Outcome): void {
    if (this.settled) return
    this.settled = o
    this.#settle(o)
  }

  /** The answer with its text: not the deferred placeholder. */
  get shown(): SimMessage | undefined {
    const m = this.original
    return m && m !== this.source && !(m.flags & FLAG.loading) && m.deletedAt === undefined ? m : undefined
  }
}

/** Discord docs: Receiving and Responding to Interactions. */
export class Interactions {
  readonly #core: Core
  readonly #messages: Messages
  readonly #byToken = new Map<string, SimInteraction>()

  constructor(core: Core, messages: Messages) {
    this.#core = core
    this.#messages = messages
  }

  /** Begins one and tells the application. */
  begin(kind: InteractionKind, user: SimUser, channel: SimChannel, data: Json, source?: SimMessage): SimInteraction {
    const { world, clock, gateway } = this.#core
    const it = new SimInteraction(world.id(), kind, user, channel, clock.now(), source)
    this.#byToken.set(it.token, it)
    clock.after(limit('interactionResponseMs'), () => it.settle({ kind: 'failed' }))
    const guild = channel.guildId ? world.guild(channel.guildId) : undefined
    const payload = {
      id: it.id,
      application_id: world.bot.id,
      type: TYPE[kind],
      token: it.token,
      version: 1,
      channel_id: channel.id,
      channel: { ...world.channelJson(channel), permissions: world.permissions(channel, user.id).toString() },
      ...(guild
        ? {
            guild_id: guild.id,
            guild: { id: guild.id, locale: 'en-US', features: [] },
            guild_locale: 'en-US',
            member: {
              ...world.memberJson(guild, user.id),
              permissions: world.permissions(channel, user.id).toString(),
            },
          }
        : { user: world.userJson(user) }),
      ...(source ? { message: world.messageJson(source, false) } : {}),
      locale: 'en-US',
      app_permissions: world.permissions(channel, world.bot.id).toString(),
      entitlements: [],
      authorizing_integration_owners: { 0: guild ? guild.id : '0' },
      context: guild ? 0 : 1,
      attachment_size_limit: limit('attachmentBytes'),
      data,
    }
    gateway.dispatch('INTERACTION_CREATE', 0, () => payload)
    return it
  }

  /** POST /interactions/:id/:token/callback. */
  callback(id: string, token: string, body: Json, uploads: Upload[]): Json {
    const it = this.#byToken.get(token)
    if (!it || it.id !== id) throw apiError(10062)
    if (it.settled && it.settled.kind !== 'failed') throw apiError(40060)
    if (this.#age(it) > limit('interactionResponseMs') || it.settled) throw apiError(10062)
    const data = asObject(body.data)
    this.#checkCallback(it, body, data, uploads)
    const outcome = this.#answer(it, Number(body.type), data, uploads)
    it.settle(outcome)
    const m = it.original
    return {
      interaction: {
        id: it.id,
        type: TYPE[it.kind],
        ...(m
          ? {
              response_message_id: m.id,
              response_message_loading: (m.flags & FLAG.loading) !== 0,
              response_message_ephemeral: (m.flags & FLAG.ephemeral) !== 0,
            }
          : {}),
      },
      resource: {
        type: body.type,
        ...(m && body.type !== 9 && body.type !== 8 ? { message: this.#core.world.messageJson(m, false) } : {}),
      },
    }
  }

  #age(it: SimInteraction): number {
    return this.#core.clock.now() - it.createdAt
  }

  #checkCallback(it: SimInteraction, body: Json, data: Json, uploads: Upload[]): void {
    const form = new Form()
    const allowed: Record<InteractionKind, number[]> = {
      command: [4, 5, 9, 12],
      component: it.source ? [4, 5, 6, 7, 9, 12] : [4, 5, 9],
      autocomplete: [8],
      modal: it.source ? [4, 5, 6, 7, 12] : [4, 5, 12],
    }
    form.choice('type', body.type, allowed[it.kind])
    if (body.type === 8) form.count('data.choices', asObjects(data.choices), limit('autocompleteChoices'))
    if (body.type === 9) checkModal(form, data)
    form.throwIfFailed()
    if (body.type === 5) checkFlags(data, FLAG.ephemeral, 'data')
    if (body.type === 4 || body.type === 7) {
      const files = body.type === 7 ? (it.source?.attachments ?? []).map((a) => a.filename) : []
      const flags = body.type === 7 ? (it.source?.flags ?? 0) : 0
      checkMessageBody(data, { prefix: 'data.', uploads, flags, files })
      checkFlags(data, CALLBACK_FLAGS | flags, 'data')
    }
  }

  #answer(it: SimInteraction, type: number, data: Json, uploads: Upload[]): Outcome {
    if (type === 9) return { kind: 'modal', modal: copy(data) }
    if (type === 8) return { kind: 'choices', choices: copy(asObjects(data.choices)) }
    if (type === 6) {
      it.original = it.source
      return { kind: 'deferredUpdate' }
    }
    if (type === 7 && it.source) {
      it.original = it.source
      this.#messages.edit(it.source, data, uploads, 'users')
      return { kind: 'update', message: it.source }
    }
    const ephemeral = (Number(data.flags ?? 0) & FLAG.ephemeral) !== 0
    if (type === 5) {
      it.original = this.#create(it, { flags: FLAG.loading | (ephemeral ? FLAG.ephemeral : 0) }, [], true)
      return { kind: 'deferred', ephemeral }
    }
    it.original = this.#create(it, data, uploads, false)
    return { kind: 'message', message: it.original, ephemeral }
  }

  #create(it: SimInteraction, body: Json, uploads: Upload[], placeholder: boolean): SimMessage {
    const { world } = this.#core
    const ephemeral = (Number(body.flags ?? 0) & FLAG.ephemeral) !== 0
    const fromComponent = it.source && !it.source.ephemeralFor
    return this.#messages.create({
      channel: it.channel,
      authorId: world.bot.id,
      body,
      uploads,
      fallback: 'users',
      type: fromComponent ? MESSAGE.reply : it.kind === 'command' ? MESSAGE.chatInput : MESSAGE.default,
      webhookId: world.bot.id,
      interactionId: it.id,
      mayBeEmpty: placeholder,
      ...(ephemeral ? { ephemeralFor: it.user.id } : {}),
      ...(fromComponent && it.source
        ? { reference: { type: 0, channel_id: it.channel.id, message_id: it.source.id, guild_id: it.channel.guildId } }
        : {}),
    })
  }

  /** The interaction behind a webhook path; 10015 before its first response, 50027 after 15 minutes (assumed codes). */
  #answered(applicationId: string, token: string): SimInteraction {
    const it = this.#byToken.get(token)
    if (applicationId !== this.#core.world.bot.id || !it) throw apiError(10015)
    if (this.#age(it) > limit('interactionTokenMs')) throw apiError(50027)
    if (!it.settled || it.settled.kind === 'failed') throw apiError(10015)
    return it
  }

  #target(it: SimInteraction, id: string): SimMessage {
    const m = id === '@original' ? it.original : [it.original, ...it.followups].find((x) => x?.id === id)
    if (!m || m.deletedAt !== undefined) throw apiError(10008)
    return m
  }

  get(applicationId: string, token: string, id: string): SimMessage {
    return this.#target(this.#answered(applicationId, token), id)
  }

  edit(applicationId: string, token: string, id: string, body: Json, uploads: Upload[]): SimMessage {
    const m = this.#target(this.#answered(applicationId, token), id)
    checkMessageBody(body, { prefix: '', uploads, flags: m.flags, files: m.attachments.map((a) => a.filename) })
    checkFlags(body, FLAG.suppressEmbeds | FLAG.componentsV2 | m.flags)
    this.#messages.edit(m, body, uploads, 'users')
    return m
  }

  remove(applicationId: string, token: string, id: string): void {
    this.#messages.delete(this.#target(this.#answered(applicationId, token), id))
  }

  /** The first followup to a deferred response becomes that response, with the visibility it was deferred with. */
  followUp(applicationId: string, token: string, body: Json, uploads: Upload[]): SimMessage {
    const it = this.#answered(applicationId, token)
    const m = it.original
    const waits = m && m !== it.source && (m.flags & FLAG.loading) !== 0
    checkMessageBody(body, { prefix: '', uploads, flags: 0, files: [] })
    checkFlags(body, CALLBACK_FLAGS)
    if (waits) {
      const kept = Number(body.flags ?? 0) & ~FLAG.ephemeral
      this.#messages.edit(m, { ...body, flags: kept }, uploads, 'users')
      return m
    }
    const made = this.#create(it, body, uploads, false)
    it.followups.push(made)
    return made
  }
}

/** Whether the message has that component, switched on; gives it. */
export function findComponent(m: SimMessage, customId: string, list: Json[] = m.components): Json | undefined {
  for (const c of list) {
    if (asString(c.custom_id) === customId) return c
    const inner = [...asObjects(c.components), ...(isObject(c.accessory) ? [c.accessory] : [])]
    const found = findComponent(m, customId, inner)
    if (found) return found
  }
  return undefined
}
