import type { Core } from './core.ts'
import type { Delivery } from './delivery.ts'
import { addView, changeView, checkedView, openModals, viewWire } from './methods/views.ts'
import { buttonsOf } from './render.ts'
import { respond } from './response-url.ts'
import { compact, isJson, type Json, type SlackView } from './world.ts'

/** A person's act on the app, and how the app took it. */
export interface Interaction {
  delivery: Delivery
  payload: Json
  triggerId: string
  responseUrl?: string
  /** Resolves with the body of the ack, undefined where there was none; see `delivery.state` and `.error`. */
  ack: Promise<unknown>
}

/** Buttons, modals and slash commands. */
export class Interactions {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  #base(type: string, user: string): Json {
    const { world } = this.#core
    const person = world.users.get(user)
    return {
      type,
      team: { id: world.team.id, domain: world.team.domain },
      user: { id: user, username: person?.name, name: person?.name, team_id: world.team.id },
      api_app_id: world.bot.appId,
      token: 'verification',
      enterprise: null,
      is_enterprise_install: false,
    }
  }

  #send(type: string, payload: Json, triggerId: string, acceptsResponse: boolean, responseUrl?: string): Interaction {
    const delivery = this.#core.deliveries.send({ kind: 'interactive', type, payload, acceptsResponse })
    return {
      delivery,
      payload,
      triggerId,
      ...(responseUrl ? { responseUrl } : {}),
      ack: delivery.done.then((done) => done.ack),
    }
  }

  /** Presses a button (or chooses, with `value`) of a message or an ephemeral line. */
  press(user: string, channelId: string, ts: string, actionId: string, more: Json = {}): Interaction {
    const core = this.#core
    const message = core.world.find(channelId, ts)
    const line = core.world.ephemerals.find(
      (one) => one.channel === channelId && one.ts === ts && one.user === user && !one.deleted,
    )
    const blocks = message?.blocks ?? line?.blocks
    const button = buttonsOf(blocks).find((one) => one.actionId === actionId)
    if (!button) throw new Error(`no live element ${actionId} on ${ts} for ${user}`)
    const threadTs = message?.threadTs ?? line?.threadTs
    const triggerId = core.trigger(user)
    const url = core.responseUrl({
      channel: channelId,
      user,
      ...(message ? { messageTs: ts } : { ephemeralTs: ts }),
      ...(threadTs ? { threadTs } : {}),
    })
    const channel = core.world.channel(channelId)
    const payload = compact({
      ...this.#base('block_actions', user),
      container: compact({
        type: 'message',
        message_ts: ts,
        channel_id: channelId,
        is_ephemeral: line !== undefined,
        thread_ts: threadTs,
      }),
      trigger_id: triggerId,
      channel: { id: channelId, name: channel.kind === 'im' ? 'directmessage' : channel.name },
      message: message ? core.world.wire(message, core.host) : undefined,
      state: { values: {} },
      response_url: url,
      actions: [
        compact({
          type: button.type,
          action_id: actionId,
          block_id: button.blockId,
          text: { type: 'plain_text', text: button.text, emoji: true },
          value: button.value,
          style: button.style,
          action_ts: core.world.nextTs(),
          ...more,
        }),
      ],
    })
    return this.#send('block_actions', payload, triggerId, false, url)
  }

  /** Presses something inside a view. */
  pressInView(user: string, viewId: string, actionId: string, more: Json = {}): Interaction {
    const core = this.#core
    const view = this.#view(viewId)
    const triggerId = core.trigger(user)
    const payload = {
      ...this.#base('block_actions', user),
      container: { type: 'view', view_id: viewId },
      trigger_id: triggerId,
      view: viewWire(core, view),
      actions: [{ type: 'button', action_id: actionId, action_ts: core.world.nextTs(), ...more }],
    }
    return this.#send('block_actions', payload, triggerId, false)
  }

  #view(id: string): SlackView {
    const view = this.#core.world.views.find((one) => one.id === id)
    if (!view) throw new Error(`no view ${id}`)
    return view
  }

  /** `values` is view.state.values: block id, action id, element state; a plain string is a text input's value. */
  submitView(user: string, viewId: string, values: Record<string, Record<string, Json | string>>): Interaction {
    const core = this.#core
    const view = this.#view(viewId)
    if (!view.open) throw new Error(`view ${viewId} is not open`)
    const state = Object.fromEntries(
      Object.entries(values).map(([block, actions]) => [
        block,
        Object.fromEntries(
          Object.entries(actions).map(([action, value]) => [
            action,
            typeof value === 'string' ? { type: 'plain_text_input', value } : value,
          ]),
        ),
      ]),
    )
    const triggerId = core.trigger(user)
    const payload = {
      ...this.#base('view_submission', user),
      trigger_id: triggerId,
      view: viewWire(core, view, state),
      response_urls: [],
    }
    const sent = this.#send('view_submission', payload, triggerId, true)
    return { ...sent, ack: sent.delivery.done.then((done) => this.#submitted(view, done)) }
  }

  /** What the ack of a submission does to the view. */
  #submitted(view: SlackView, done: Delivery): unknown {
    if (done.state !== 'acked') return undefined
    const core = this.#core
    const body = isJson(done.ack) ? done.ack : {}
    if (body.response_action === 'errors') return done.ack
    if (body.response_action === 'update') changeView(core, view, checkedView(core, body.view, 'modal'))
    else if (body.response_action === 'push') addView(core, view.user, checkedView(core, body.view, 'modal'), view)
    else if (body.response_action === 'clear') for (const one of openModals(core, view.user)) one.open = false
    else view.open = false
    return done.ack
  }

  /** Closes a modal; the app hears of it only with notify_on_close. */
  closeView(user: string, viewId: string): Interaction | undefined {
    const core = this.#core
    const view = this.#view(viewId)
    view.open = false
    if (view.view.notify_on_close !== true) return undefined
    const payload = { ...this.#base('view_closed', user), view: viewWire(core, view), is_cleared: false }
    return this.#send('view_closed', payload, '', false)
  }

  /** `text` goes as typed, with the command's should_escape off. */
  slash(user: string, channelId: string, text: string, command = '/turnstone'): Interaction {
    const core = this.#core
    const { team, bot, users } = core.world
    const channel = core.world.channel(channelId)
    const triggerId = core.trigger(user)
    const target = { channel: channelId, user }
    const url = core.responseUrl(target)
    const payload: Json = {
      token: 'verification',
      team_id: team.id,
      team_domain: team.domain,
      channel_id: channelId,
      channel_name: channel.kind === 'im' ? 'directmessage' : channel.name,
      user_id: user,
      user_name: users.get(user)?.name ?? '',
      command,
      text,
      api_app_id: bot.appId,
      is_enterprise_install: 'false',
      response_url: url,
      trigger_id: triggerId,
    }
    const delivery = core.deliveries.send({ kind: 'slash_commands', type: command, payload, acceptsResponse: true })
    const ack = delivery.done.then((done) => {
      const body = typeof done.ack === 'string' ? { text: done.ack } : done.ack
      if (isJson(body) && (body.text || body.blocks)) respond(core, target, body)
      return done.ack
    })
    return { delivery, payload, triggerId, responseUrl: url, ack }
  }
}
