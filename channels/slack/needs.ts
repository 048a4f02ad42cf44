import type { SlackConfig } from '../../src/config/config.ts'
import { SLACK_COMMAND } from '../../src/copy/platforms.ts'
import type { Json } from './json.ts'

/** What the code uses, and nothing more. */
export const SLACK_NEEDS = {
  botScopes: [
    'app_mentions:read',
    'channels:history',
    'chat:write',
    'commands',
    'files:read',
    'files:write',
    'groups:history',
    'im:history',
    'im:write',
    'mpim:history',
    'reactions:write',
    'users:read',
  ],
  botEvents: [
    'app_mention',
    'app_uninstalled',
    'message.channels',
    'message.groups',
    'message.im',
    'message.mpim',
    'tokens_revoked',
  ],
  appScopes: ['connections:write'],
} as const

/** The app manifest, agent messaging experience included; in http mode with the request URLs under `publicUrl`. */
export function slackManifest(config: SlackConfig, publicUrl: string): Json {
  const socket = config.mode === 'socket'
  const url = `${publicUrl.replace(/\/+$/, '')}/slack/events`
  const at = socket ? {} : { request_url: url }
  const description = SLACK_COMMAND.app
  return {
    display_information: { name: 'Turnstone', description, background_color: '#1d1c1d' },
    features: {
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      agent_view: { agent_description: description },
      bot_user: { display_name: 'turnstone', always_online: true },
      slash_commands: [
        {
          command: config.slash_command,
          description: SLACK_COMMAND.description,
          usage_hint: SLACK_COMMAND.usage,
          should_escape: false,
          ...(socket ? {} : { url }),
        },
      ],
    },
    oauth_config: { scopes: { bot: [...SLACK_NEEDS.botScopes] } },
    settings: {
      event_subscriptions: { ...at, bot_events: [...SLACK_NEEDS.botEvents] },
      interactivity: { is_enabled: true, ...at },
      org_deploy_enabled: false,
      socket_mode_enabled: socket,
      token_rotation_enabled: false,
    },
  }
}
