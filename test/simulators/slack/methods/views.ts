import { viewFaults, withIds } from '../blocks.ts'
import type { Core } from '../core.ts'
import { isJson, type Json, type SlackView } from '../world.ts'
import { type Args, type Methods, SlackError } from './method.ts'

export function viewWire(core: Core, view: SlackView, values: Json = {}): Json {
  const { bot, team } = core.world
  return {
    private_metadata: '',
    callback_id: '',
    clear_on_close: false,
    notify_on_close: false,
    ...view.view,
    id: view.id,
    team_id: team.id,
    app_id: bot.appId,
    bot_id: bot.botId,
    hash: view.hash,
    root_view_id: view.rootId,
    previous_view_id: view.previousId ?? null,
    state: { values },
  }
}

/** A view as Slack keeps it, or the error for it. */
export function checkedView(core: Core, value: unknown, type: 'modal' | 'home'): Json {
  if (!isJson(value)) throw new SlackError('invalid_arguments')
  const faults = viewFaults(value, core.rules, type)
  if (faults.length > 0) throw new SlackError('invalid_arguments', { response_metadata: { messages: faults } })
  return { ...value, blocks: withIds(value.blocks as Json[]) }
}

function takeTrigger(core: Core, args: Args): string {
  const id = args.text('trigger_id')
  const trigger = core.triggers.get(id ?? '')
  if (!trigger) throw new SlackError('invalid_trigger_id')
  if (trigger.used) throw new SlackError('exchanged_trigger')
  if (core.clock.now() > trigger.until) throw new SlackError('expired_trigger_id')
  trigger.used = true
  return trigger.user
}

export function addView(core: Core, user: string, view: Json, previous?: SlackView): SlackView {
  const id = core.world.id('V')
  const made: SlackView = {
    id,
    rootId: previous?.rootId ?? id,
    ...(previous ? { previousId: previous.id } : {}),
    hash: `${core.clock.now()}.${core.world.id('')}`,
    user,
    view,
    at: core.clock.now(),
    open: true,
    versions: [view],
  }
  core.world.views.push(made)
  return made
}

export function changeView(core: Core, view: SlackView, next: Json): void {
  view.view = next
  view.versions.push(next)
  view.hash = `${core.clock.now()}.${core.world.id('')}`
}

/** The modals a person has open, the uppermost last. */
export function openModals(core: Core, user: string): SlackView[] {
  return core.world.views.filter((view) => view.user === user && view.open && view.view.type === 'modal')
}

function update(core: Core, args: Args): Json {
  const next = checkedView(core, args.json('view'), 'modal')
  const view = core.world.views.find(
    (one) =>
      one.id === args.text('view_id') || (args.has('external_id') && one.view.external_id === args.text('external_id')),
  )
  if (!view?.open) throw new SlackError('not_found')
  if (args.has('hash') && args.text('hash') !== view.hash) throw new SlackError('hash_conflict')
  changeView(core, view, next)
  return { view: viewWire(core, view) }
}

function publish(core: Core, args: Args): Json {
  const user = args.need('user_id')
  if (!core.world.users.has(user)) throw new SlackError('user_not_found')
  const next = checkedView(core, args.json('view'), 'home')
  const old = core.world.views.find((view) => view.user === user && view.view.type === 'home')
  if (old && args.has('hash') && args.text('hash') !== old.hash) throw new SlackError('hash_conflict')
  if (old) changeView(core, old, next)
  return { view: viewWire(core, old ?? addView(core, user, next)) }
}

export const viewMethods: Methods = {
  'views.open': {
    tier: 'tier4',
    run(core, args) {
      const view = checkedView(core, args.json('view'), 'modal')
      const user = takeTrigger(core, args)
      for (const old of openModals(core, user)) old.open = false
      return { view: viewWire(core, addView(core, user, view)) }
    },
  },
  'views.push': {
    tier: 'tier4',
    run(core, args) {
      const view = checkedView(core, args.json('view'), 'modal')
      const user = takeTrigger(core, args)
      const open = openModals(core, user)
      if (open.length >= core.rules.viewStack) throw new SlackError('push_limit_reached')
      return { view: viewWire(core, addView(core, user, view, open.at(-1))) }
    },
  },
  'views.update': { tier: 'tier4', run: update },
  'views.publish': { tier: 'tier4', run: publish },
}
