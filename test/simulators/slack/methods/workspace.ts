import type { Core } from '../core.ts'
import type { Json } from '../world.ts'
import { checkedThread } from './content.ts'
import { type Args, type Methods, SlackError, writableChannel } from './method.ts'

function setStatus(core: Core, args: Args): Json {
  if (!core.features.status) throw new SlackError('unknown_method')
  const channel = writableChannel(core, args.need('channel_id'))
  const threadTs = args.need('thread_ts')
  checkedThread(core, args, channel)
  const status = args.text('status')
  if (status === undefined) throw new SlackError('invalid_arguments')
  if (((args.json('loading_messages') as unknown[] | undefined) ?? []).length > core.rules.loadingMessages)
    throw new SlackError('invalid_arguments')
  core.world.statuses.push({
    at: core.clock.now(),
    channel: channel.id,
    threadTs,
    status,
    method: 'assistant.threads.setStatus',
  })
  return {}
}

const SESSION_STATES = ['active', 'processing', 'suspended', 'closed']

function setSession(core: Core, args: Args): Json {
  if (!core.features.agents) throw new SlackError('feature_disabled')
  const channel = writableChannel(core, args.need('channel_id'))
  const threadTs = checkedThread(core, args, channel)
  if (threadTs === undefined) throw new SlackError('invalid_thread_ts')
  const status = args.need('status')
  if (!SESSION_STATES.includes(status)) throw new SlackError('invalid_arguments')
  core.world.sessions.set(`${channel.id}/${threadTs}`, status)
  core.world.statuses.push({
    at: core.clock.now(),
    channel: channel.id,
    threadTs,
    status,
    method: 'agents.sessions.setStatus',
  })
  const lacking = status === 'processing' && !core.subscriptions.has('agent_session_stopped')
  return lacking ? { warning: 'missing_agent_session_stopped_event_subscription' } : {}
}

export const workspaceMethods: Methods = {
  'auth.test': {
    tier: 'tierSpecial',
    run(core) {
      const { team, bot } = core.world
      return {
        url: team.url,
        team: team.name,
        team_id: team.id,
        user: bot.name,
        user_id: bot.userId,
        bot_id: bot.botId,
        is_enterprise_install: false,
      }
    },
  },
  'api.test': { tier: 'tierSpecial', run: (_, args) => ({ args: args.all }) },
  'apps.connections.open': {
    token: 'app',
    scope: 'connections:write',
    tier: 'tier3',
    run(core) {
      if (!core.features.socketMode) throw new SlackError('not_allowed')
      return {
        url: `${core.host.replace('http', 'ws')}/link/?ticket=${core.sockets.ticket()}&app_id=${core.world.bot.appId}`,
      }
    },
  },
  'assistant.threads.setStatus': { scope: 'chat:write', tier: 'tierSpecial', run: setStatus },
  'assistant.threads.setTitle': {
    scope: 'assistant:write',
    tier: 'tier4',
    run(core, args) {
      const channel = writableChannel(core, args.need('channel_id'))
      if (channel.kind !== 'im') throw new SlackError('channel_not_found')
      args.need('thread_ts')
      args.need('title')
      return {}
    },
  },
  'agents.sessions.setStatus': { scope: 'chat:write', tier: 'tier3', run: setSession },
}
