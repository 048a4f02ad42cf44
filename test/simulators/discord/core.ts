import type { Clock } from '../../../src/util/time.ts'
import type { Commands } from './commands.ts'
import type { Gateway } from './gateway.ts'
import type { LoggedRequest, SimAttachment } from './model.ts'
import type { World } from './world.ts'

export interface Settings {
  /** Whether messages read over REST show their nonce, which Discord does not document; default false. */
  historyShowsNonce: boolean
  nonceWindowMs: number
  /** Sends into an archived thread answer 50083 instead of opening it again. */
  archivedRefusesSends: boolean
  token: string
  /** The application's message-content, server-members and presence switches, as intent bits. */
  privilegedIntents: number
}

/** What the parts of the simulator share. */
export interface Core {
  readonly clock: Clock
  readonly world: World
  readonly gateway: Gateway
  readonly commands: Commands
  readonly settings: Settings
  readonly requests: LoggedRequest[]
  readonly typing: { channelId: string; at: number }[]
  /** Attachments by URL path. */
  readonly files: Map<string, SimAttachment>
  /** Where the server listens, without a slash at the end. */
  origin: string
}
