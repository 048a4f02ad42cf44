import type { AdapterDeps } from '../src/channel/adapter-deps.ts'
import type { ChannelAdapter } from '../src/channel/channel-adapter.ts'
import type { Config } from '../src/config/config.ts'

export interface Channels {
  readonly adapters: readonly ChannelAdapter[]
  /** What Slack sends over HTTP; undefined unless it is in http mode. */
  readonly slackRequest: ((request: Request) => Promise<Response>) | undefined
}

/** Every channel whose tokens are set; its library is loaded only then. */
export async function createChannels(config: Config, deps: AdapterDeps): Promise<Channels> {
  const adapters: ChannelAdapter[] = []
  const { discordToken, slackToken, slackAppToken, slackSigningSecret } = config.secrets
  if (discordToken !== undefined) {
    const { createDiscordAdapter } = await import('./discord/adapter.ts')
    adapters.push(createDiscordAdapter({ config: config.channels.discord, token: discordToken, deps }))
  }
  let slackRequest: Channels['slackRequest']
  if (slackToken !== undefined) {
    const { createSlackAdapter } = await import('./slack/adapter.ts')
    const tokens = {
      bot: slackToken,
      ...(slackAppToken === undefined ? {} : { app: slackAppToken }),
      ...(slackSigningSecret === undefined ? {} : { signingSecret: slackSigningSecret }),
    }
    const slack = createSlackAdapter({
      config: config.channels.slack,
      tokens,
      deps,
    })
    adapters.push(slack.adapter)
    if (config.channels.slack.mode === 'http') slackRequest = slack.onRequest
  }
  return { adapters, slackRequest }
}
