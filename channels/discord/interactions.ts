import type {
  Address,
  DecisionAction,
  InboundCommand,
  InboundHandler,
  Person,
} from '../../src/channel/channel-adapter.ts'
import type { DiscordConfig } from '../../src/config/config.ts'
import { BUTTONS, LINK_FORM, NOT_IN_THIS_CHANNEL, NOT_SAVED, NOTE_FORM } from '../../src/copy/cards.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import type { Clock } from '../../src/util/time.ts'
import { commitThenAcknowledge } from '../support/acknowledge.ts'
import type { Api } from './api.ts'
import { parseCustomId } from './cards.ts'
import { type ChannelInfo, channelInfoOf } from './channel-directory.ts'
import { isAllowed, isThread, personOf, type RawUser } from './inbound.ts'
import { CHANNEL_TYPES, FLAGS, LIMITS } from './limits.ts'
import { renderParts } from './markdown.ts'
import { nonceOf } from './parts.ts'

/** What is used of an interaction (Interactions docs). */
export interface RawInteraction {
  readonly id: string
  readonly application_id: string
  readonly token: string
  readonly type: number
  readonly channel_id?: string
  readonly channel?: Record<string, unknown>
  readonly guild_id?: string
  readonly user?: RawUser
  readonly member?: { readonly user: RawUser; readonly nick?: string | null }
  readonly message?: { readonly id: string }
  readonly data?: {
    readonly name?: string
    readonly custom_id?: string
    readonly options?: readonly { readonly name: string; readonly value?: unknown }[]
    readonly components?: readonly unknown[]
  }
}

const TYPE = { command: 2, component: 3, modal: 5 } as const
const ANSWER = { message: 4, deferred: 5, deferredUpdate: 6, modal: 9 } as const
const UPDATE = { type: ANSWER.deferredUpdate }
const DEFERRED = { type: ANSWER.deferred, data: { flags: FLAGS.ephemeral } }
const LINK_FORM_ID = 'ts:link'
const NO_PINGS = { parse: [], replied_user: false }

export interface InteractionDeps {
  readonly api: Api
  readonly config: DiscordConfig
  readonly clock: Clock
  readonly log: Log
  readonly inbound: InboundHandler
  /** The place if it is known: what an interaction tells of a channel may lack the thread's parent. */
  place(id: string): ChannelInfo | undefined
}

/**
 * One press, command or form: committed, then acknowledged. Does not reject.
 */
export async function onInteraction(deps: InteractionDeps, raw: RawInteraction): Promise<void> {
  try {
    if (raw.type === TYPE.command) await onCommand(deps, raw)
    else if (raw.type === TYPE.component) await onPress(deps, raw)
    else if (raw.type === TYPE.modal) await onForm(deps, raw)
  } catch (error) {
    deps.log.warn({ reason: messageOf(error), interaction: raw.id }, LOG.interactionNotAnswered)
  }
}

function personIn(raw: RawInteraction): Person {
  const user = raw.member?.user ?? raw.user
  return user ? personOf(user, raw.member?.nick) : { id: '', name: '', bot: false }
}

function placeIn(deps: InteractionDeps, raw: RawInteraction): ChannelInfo {
  const known = deps.place(raw.channel_id ?? '')
  return known ?? channelInfoOf({ ...raw.channel, id: raw.channel_id }, raw.guild_id)
}

function acknowledge({ api }: InteractionDeps, raw: RawInteraction, body: Record<string, unknown>): Promise<void> {
  return api.interaction('post', `/interactions/${raw.id}/${raw.token}/callback`, body)
}

/** A line for this person alone, as many messages as it takes. `placeholder`: the first of them fills the deferred one. */
async function tellPrivately(
  { api }: InteractionDeps,
  raw: RawInteraction,
  text: string,
  placeholder: boolean,
): Promise<void> {
  const hook = `/webhooks/${raw.application_id}/${raw.token}`
  const parts = renderParts(text)
  if (placeholder && parts.length === 0) return api.interaction('delete', `${hook}/messages/@original`)
  for (const [i, content] of parts.entries()) {
    const body = { content, allowed_mentions: NO_PINGS }
    if (placeholder && i === 0) await api.interaction('patch', `${hook}/messages/@original`, body)
    else await api.interaction('post', hook, { ...body, flags: FLAGS.ephemeral | FLAGS.suppressEmbeds })
  }
}

interface Handling {
  readonly ack: Record<string, unknown>
  /** The acknowledgement shows a deferred message that the first private line fills. */
  readonly placeholder: boolean
}

/** Runs the handler and acknowledges; what it cannot store is said to the person. */
async function handled<T>(
  deps: InteractionDeps,
  raw: RawInteraction,
  { ack, placeholder }: Handling,
  run: () => Promise<T>,
): Promise<T | undefined> {
  let failed = true
  const work = async (): Promise<T> => {
    const result = await run()
    failed = false
    return result
  }
  try {
    return await commitThenAcknowledge(deps.clock, work, () => acknowledge(deps, raw, ack))
  } catch (error) {
    if (!failed) throw error
    deps.log.error({ err: error, interaction: raw.id }, LOG.interactionNotSaved)
    await tellPrivately(deps, raw, NOT_SAVED, placeholder)
    return undefined
  }
}

async function onPress(deps: InteractionDeps, raw: RawInteraction): Promise<void> {
  const press = parseCustomId(raw.data?.custom_id ?? '')
  if (press?.action === 'note') return acknowledge(deps, raw, { type: ANSWER.modal, data: noteForm(press.approval) })
  if (!press) return acknowledge(deps, raw, UPDATE)
  await decide(deps, raw, { approval: press.approval, action: press.action }, { ack: UPDATE, placeholder: false })
}

async function decide(
  deps: InteractionDeps,
  raw: RawInteraction,
  decision: { approval: string; action: DecisionAction; note?: string },
  handling: Handling,
): Promise<void> {
  const by = personIn(raw)
  const receipt = await handled(deps, raw, handling, () =>
    deps.inbound.decision({ platform: 'discord', by, ...decision }),
  )
  if (receipt && (receipt.text || handling.placeholder))
    await tellPrivately(deps, raw, receipt.text, handling.placeholder)
}

async function onForm(deps: InteractionDeps, raw: RawInteraction): Promise<void> {
  const id = raw.data?.custom_id ?? ''
  const fields = fieldsOf(raw.data?.components ?? [])
  if (id === LINK_FORM_ID) {
    return runCommand(deps, raw, 'link', { token: (fields.get('token') ?? '').trim() })
  }
  const form = parseCustomId(id)
  const handling = raw.message ? { ack: UPDATE, placeholder: false } : { ack: DEFERRED, placeholder: true }
  const note = (fields.get('note') ?? '').trim()
  const action = fields.get('choice')
  if (form && (action === 'approve' || action === 'reject'))
    return decide(deps, raw, { approval: form.approval, action, ...(note ? { note } : {}) }, handling)
  return acknowledge(deps, raw, handling.ack)
}

/** The values of a sent form, by custom id: text, or the first thing chosen. */
function fieldsOf(components: readonly unknown[]): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const c = value as Record<string, unknown>
    const chosen = Array.isArray(c.values) ? c.values[0] : c.value
    if (typeof c.custom_id === 'string' && typeof chosen === 'string') found.set(c.custom_id, chosen)
    visit(c.component)
    if (Array.isArray(c.components)) c.components.forEach(visit)
  }
  components.forEach(visit)
  return found
}

async function onCommand(deps: InteractionDeps, raw: RawInteraction): Promise<void> {
  const name = raw.data?.name ?? ''
  if (!isAllowed(placeIn(deps, raw), deps.config)) {
    const data = { content: NOT_IN_THIS_CHANNEL, flags: FLAGS.ephemeral, allowed_mentions: NO_PINGS }
    return acknowledge(deps, raw, { type: ANSWER.message, data })
  }
  const args: Record<string, string> = {}
  for (const { name: key, value } of raw.data?.options ?? []) if (value !== undefined) args[key] = String(value)
  if (name === 'link' && args.token === undefined)
    return acknowledge(deps, raw, { type: ANSWER.modal, data: linkForm() })
  await runCommand(deps, raw, name, args)
}

async function runCommand(
  deps: InteractionDeps,
  raw: RawInteraction,
  name: string,
  args: Record<string, string>,
): Promise<void> {
  const place = placeIn(deps, raw)
  const channel = raw.channel_id ?? ''
  const to: Address | undefined =
    isThread(place.type) || place.type === CHANNEL_TYPES.dm ? { platform: 'discord', id: channel } : undefined
  const command: InboundCommand = {
    key: raw.id,
    platform: 'discord',
    by: personIn(raw),
    name,
    args,
    channel,
    ...(to ? { to } : {}),
  }
  const reply = await handled(deps, raw, { ack: DEFERRED, placeholder: true }, () => deps.inbound.command(command))
  if (!reply) return
  const visible = !reply.private && (await showPublicly(deps, raw, channel, reply.text))
  await tellPrivately(deps, raw, visible ? '' : reply.text, true)
}

/** For everybody; false where Discord does not let us post there. The text is posted once for this use of the command. */
async function showPublicly(
  deps: InteractionDeps,
  raw: RawInteraction,
  channel: string,
  text: string,
): Promise<boolean> {
  try {
    for (const [i, content] of renderParts(text).entries()) {
      const nonce = nonceOf(`command:${raw.id}/${i}`)
      await deps.api.send(channel, { content, nonce, enforce_nonce: true, flags: FLAGS.suppressEmbeds })
    }
    return true
  } catch (error) {
    deps.log.warn({ reason: messageOf(error), channel }, LOG.answeredPrivately)
    return false
  }
}

function noteForm(approval: string): object {
  const option = (value: string, label: string): object => ({ value, label })
  return {
    custom_id: `ts:note:${approval}`,
    title: NOTE_FORM.title,
    components: [
      {
        type: 18,
        label: NOTE_FORM.decision,
        component: {
          type: 3,
          custom_id: 'choice',
          placeholder: NOTE_FORM.choose,
          min_values: 1,
          max_values: 1,
          required: true,
          options: [option('approve', BUTTONS.approve), option('reject', BUTTONS.reject)],
        },
      },
      {
        type: 18,
        label: NOTE_FORM.note,
        component: { type: 4, custom_id: 'note', style: 2, min_length: 1, max_length: 2000, required: true },
      },
    ],
  }
}

function linkForm(): object {
  const title = LINK_FORM.title.slice(0, LIMITS.modalTitle)
  const input = { type: 4, custom_id: 'token', style: 1, min_length: 1, max_length: 200, required: true }
  return {
    custom_id: LINK_FORM_ID,
    title,
    components: [{ type: 18, label: LINK_FORM.token, component: input }],
  }
}
