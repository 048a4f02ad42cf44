import type { Core } from './core.ts'
import { findComponent, type Interactions, type SimInteraction } from './interactions.ts'
import { asArray, asObject, asObjects, asString, type Json } from './json.ts'
import type { Messages } from './messages.ts'
import type { SimChannel, SimMessage, SimUser } from './model.ts'
import { CHANNEL, MESSAGE } from './rules.ts'
import type { Threads } from './threads.ts'
import { COMPONENT } from './validate-components.ts'
import { flatComponents } from './world.ts'

export interface FileToSend {
  name: string
  bytes: Uint8Array | string
  contentType?: string
  /** What the message claims; default the number of bytes. */
  size?: number
}

export interface SayOptions {
  files?: FileToSend[]
  /** Id of the message replied to. */
  replyTo?: string
  embeds?: Json[]
  /** Content of a forwarded message: goes to message_snapshots, not to content. */
  forward?: string
  type?: number
  webhookId?: string
  /** Stored without an event, as while nobody was connected. */
  silent?: boolean
  /** Laid over the message's JSON as it is. */
  raw?: Json
}

export type OptionValue = string | number | boolean

/** What people do in their client. A thing their client would not let them do throws. */
export class People {
  readonly #core: Core
  readonly #messages: Messages
  readonly #threads: Threads
  readonly #interactions: Interactions

  constructor(core: Core, messages: Messages, threads: Threads, interactions: Interactions) {
    this.#core = core
    this.#messages = messages
    this.#threads = threads
    this.#interactions = interactions
  }

  say(user: SimUser, channel: SimChannel, text: string, o: SayOptions = {}): SimMessage {
    const { world, clock } = this.#core
    if (channel.thread?.archived) this.#threads.setArchived(channel, false)
    channel.thread?.members.add(user.id)
    const files = (o.files ?? []).map((f) =>
      this.#messages.file(channel.id, { ...f, bytes: typeof f.bytes === 'string' ? Buffer.from(f.bytes) : f.bytes }),
    )
    const at = (id: string): Json => ({
      type: 0,
      channel_id: channel.id,
      message_id: id,
      ...(channel.guildId ? { guild_id: channel.guildId } : {}),
    })
    const snapshot = {
      type: 0,
      content: o.forward,
      embeds: [],
      attachments: [],
      components: [],
      mentions: [],
      mention_roles: [],
      flags: 0,
      timestamp: new Date(clock.now()).toISOString(),
      edited_timestamp: null,
    }
    const forward = o.forward === undefined ? {} : { message_snapshots: [{ message: snapshot }] }
    const reference = o.replyTo ? at(o.replyTo) : o.forward === undefined ? undefined : { ...at(world.id()), type: 1 }
    return this.#messages.create({
      channel,
      authorId: user.id,
      body: { content: text, embeds: o.embeds ?? [] },
      attachments: files,
      raw: { ...forward, ...o.raw },
      mayBeEmpty: o.forward !== undefined || o.type !== undefined,
      silent: o.silent ?? false,
      ...(reference ? { reference } : {}),
      ...(o.type === undefined ? {} : { type: o.type }),
      ...(o.webhookId ? { webhookId: o.webhookId } : {}),
    })
  }

  editOwn(message: SimMessage, text: string): void {
    this.#messages.edit(message, { content: text }, [])
  }

  /** An update that changes no text: Discord unfurled a link, say. */
  addEmbed(message: SimMessage, embed: Json): void {
    message.embeds = [...message.embeds, embed]
    this.#messages.announceChange(message)
  }

  deleteMessage(message: SimMessage): void {
    this.#messages.delete(message)
  }

  redeliver(messageId: string): void {
    const m = this.#core.world.messages.get(messageId)
    if (!m) throw new Error(`no message ${messageId}`)
    this.#messages.announce(m)
  }

  react(user: SimUser, message: SimMessage, emoji: string, add = true): void {
    this.#messages.react(message, emoji, user.id, add)
  }

  press(user: SimUser, messageId: string, customId: string): SimInteraction {
    const { message, component } = this.#reach(user, messageId, customId)
    if (component.type !== COMPONENT.button) throw new Error(`${customId} is not a button`)
    const data = { custom_id: customId, component_type: component.type, id: component.id }
    return this.#interactions.begin('component', user, this.#core.world.channel(message.channelId), data, message)
  }

  choose(user: SimUser, messageId: string, customId: string, values: string[]): SimInteraction {
    const { message, component } = this.#reach(user, messageId, customId)
    const offered = asObjects(component.options).map((x) => x.value)
    if (component.type === COMPONENT.stringSelect && values.some((v) => !offered.includes(v)))
      throw new Error(`${customId} does not offer all of ${values}`)
    const data = { custom_id: customId, component_type: component.type, id: component.id, values }
    return this.#interactions.begin('component', user, this.#core.world.channel(message.channelId), data, message)
  }

  #reach(user: SimUser, messageId: string, customId: string): { message: SimMessage; component: Json } {
    const message = this.#core.world.messages.get(messageId)
    if (!message || message.deletedAt !== undefined) throw new Error(`no message ${messageId}`)
    if (message.ephemeralFor && message.ephemeralFor !== user.id)
      throw new Error('that message is shown to someone else')
    const component = findComponent(message, customId)
    if (!component) throw new Error(`the message has no component ${customId}`)
    if (component.disabled) throw new Error(`${customId} is disabled`)
    if (!this.#core.world.can(this.#core.world.channel(message.channelId), user.id, 'VIEW_CHANNEL'))
      throw new Error(`${user.username} does not see that channel`)
    return { message, component }
  }

  /** `name` with its subcommand after a space: "watches cancel". */
  command(user: SimUser, channel: SimChannel, name: string, options: Record<string, OptionValue> = {}): SimInteraction {
    const data = this.#commandData(channel, name, options)
    return this.#interactions.begin('command', user, channel, data)
  }

  /** Types into an option that completes; the outcome's `choices` are what is offered. */
  autocomplete(
    user: SimUser,
    channel: SimChannel,
    name: string,
    focused: string,
    typed: string,
    others: Record<string, OptionValue> = {},
  ): SimInteraction {
    const data = this.#commandData(channel, name, { ...others, [focused]: typed }, focused)
    return this.#interactions.begin('autocomplete', user, channel, data)
  }

  #commandData(channel: SimChannel, name: string, given: Record<string, OptionValue>, focused?: string): Json {
    const [root = '', ...path] = name.split(' ')
    const command = this.#core.commands.find(root, channel.guildId)
    if (!command) throw new Error(`no command /${root} is registered here`)
    let level: Json = command
    for (const part of path) {
      const next = asObjects(level.options).find((x) => x.name === part)
      if (!next) throw new Error(`/${root} has no ${part}`)
      level = next
    }
    let options: Json[] = this.#optionData(level, given, focused)
    for (const part of path.toReversed()) {
      const type = part === path.at(-1) ? 1 : 2
      options = [{ type, name: part, options }]
    }
    const home = channel.guildId && command.guild_id ? { guild_id: command.guild_id } : {}
    return { id: command.id, name: root, type: 1, options, ...home }
  }

  #optionData(level: Json, given: Record<string, OptionValue>, focused: string | undefined): Json[] {
    const known = asObjects(level.options)
    for (const key of Object.keys(given)) if (!known.some((o) => o.name === key)) throw new Error(`no option ${key}`)
    return known.flatMap((o) => {
      const value = given[asString(o.name)]
      if (value === undefined) {
        if (o.required && focused === undefined) throw new Error(`the option ${o.name} is required`)
        return []
      }
      const choices = asArray(o.choices)
      if (choices.length && !asObjects(choices).some((c) => c.value === value))
        throw new Error(`${o.name} does not offer ${value}`)
      if (o.name === focused && !o.autocomplete) throw new Error(`${o.name} does not complete`)
      return [{ type: o.type, name: o.name, value, ...(o.name === focused ? { focused: true } : {}) }]
    })
  }

  /** Fills in and sends the modal that `opener` was answered with: values by custom id. */
  submitModal(opener: SimInteraction, values: Record<string, string | string[] | boolean>): SimInteraction {
    if (opener.settled?.kind !== 'modal') throw new Error('no modal is open')
    const modal = opener.settled.modal
    const used = new Set<string>()
    const fill = (c: Json): Json => {
      const customId = asString(c.custom_id)
      used.add(customId)
      return { id: c.id ?? 1, ...filled(c, values[customId]) }
    }
    const components = asObjects(modal.components).map((c, i) => {
      if (c.type === COMPONENT.label) return { id: i + 1, type: c.type, component: fill(asObject(c.component)) }
      if (c.type === COMPONENT.row) return { id: i + 1, type: c.type, components: asObjects(c.components).map(fill) }
      return { id: i + 1, type: c.type }
    })
    for (const key of Object.keys(values)) if (!used.has(key)) throw new Error(`the modal has no field ${key}`)
    const data = { custom_id: modal.custom_id, components }
    return this.#interactions.begin('modal', opener.user, opener.channel, data, opener.source)
  }

  startThread(
    user: SimUser,
    parent: SimChannel,
    name: string,
    o: { from?: SimMessage; text?: string; private?: boolean; withBot?: boolean } = {},
  ): SimChannel {
    const thread = this.#threads.create({
      parent,
      name,
      ownerId: user.id,
      ...(o.from ? { from: o.from } : {}),
      ...(o.private ? { type: CHANNEL.privateThread } : {}),
      ...(o.withBot ? { members: [this.#core.world.bot.id] } : {}),
    })
    if (o.text !== undefined) this.#firstPost(user, thread, parent, o.text)
    return thread
  }

  /** A forum post's first message has the id of its thread. */
  #firstPost(user: SimUser, thread: SimChannel, parent: SimChannel, text: string): void {
    if (parent.type !== CHANNEL.forum) return void this.say(user, thread, text)
    const m = this.#messages.create({ channel: thread, authorId: user.id, body: { content: text }, silent: true })
    this.#core.world.messages.delete(m.id)
    m.id = thread.id
    this.#core.world.messages.set(m.id, m)
    this.#messages.announce(m)
  }
}

/** The submitted form of one modal component; a value the client would refuse throws. */
function filled(c: Json, value: string | string[] | boolean | undefined): Json {
  const own = { type: c.type, custom_id: c.custom_id }
  const required = c.required !== false
  if (c.type === COMPONENT.textInput) {
    const text = typeof value === 'string' ? value : asString(c.value)
    if (required && !text) throw new Error(`${c.custom_id} is required`)
    if (text && (text.length < Number(c.min_length ?? 0) || text.length > Number(c.max_length ?? 4000)))
      throw new Error(`${c.custom_id} has the wrong length`)
    return { ...own, value: text }
  }
  if (c.type === COMPONENT.checkbox) return { ...own, value: value === true }
  const preset = asObjects(c.options)
    .filter((o) => o.default)
    .map((o) => asString(o.value))
  const chosen = value === undefined ? preset : Array.isArray(value) ? value : [String(value)]
  if (required && !chosen.length) throw new Error(`${c.custom_id} is required`)
  const offered = asObjects(c.options).map((o) => o.value)
  if (offered.length && chosen.some((v) => !offered.includes(v)))
    throw new Error(`${c.custom_id} does not offer ${chosen}`)
  return c.type === COMPONENT.radio ? { ...own, value: chosen[0] ?? null } : { ...own, values: chosen }
}

/** Types a person reads as messages; the rest are lines such as "started a thread". */
export const isPosted = (m: SimMessage): boolean =>
  [MESSAGE.default, MESSAGE.reply, MESSAGE.chatInput, 23].includes(m.type as 0)

/** The custom ids of a message's buttons and selects. */
export const customIds = (m: SimMessage): string[] =>
  flatComponents(m.components).flatMap((c) => (typeof c.custom_id === 'string' ? [c.custom_id] : []))
