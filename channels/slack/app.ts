import { App, type Receiver } from '@slack/bolt'
import type { Log } from '../../src/util/log.ts'
import { clientOptions, sdkLogger } from './api.ts'
import type { Json } from './json.ts'

/** Who we are in the workspace, once Slack has said it. */
export interface Self {
  readonly team: string
  readonly botUser: string
  readonly botId: string
}

/**
 * Bolt's app over our receiver. Listeners finish before the receiver acknowledges an event, so that what is
 * acknowledged is stored; what a listener throws reaches the receiver.
 */
export function createApp(of: {
  receiver: Receiver
  botToken: string
  apiUrl: string
  log: Log
  self: () => Self | undefined
  onMessage: (body: Json, event: Json) => Promise<void>
  /** Slack says that the token is worth nothing any more. */
  onTokenLost: (code: string) => void
}): App {
  const app = new App({
    receiver: of.receiver,
    authorize: async () => {
      const self = of.self()
      return {
        botToken: of.botToken,
        botId: self?.botId ?? '',
        botUserId: self?.botUser ?? '',
        ...(self ? { teamId: self.team } : {}),
      }
    },
    ignoreSelf: false,
    convoStore: false,
    logger: sdkLogger(of.log),
    clientOptions: clientOptions(of.apiUrl, of.log),
  })
  app.error(async (error) => {
    throw error
  })
  const onMessage = async ({ body, event }: { body: unknown; event: unknown }): Promise<void> =>
    of.onMessage(body as Json, event as Json)
  app.event('message', onMessage)
  app.event('app_mention', onMessage)
  app.event('tokens_revoked', async () => of.onTokenLost('token_revoked'))
  app.event('app_uninstalled', async () => of.onTokenLost('account_inactive'))
  return app
}
