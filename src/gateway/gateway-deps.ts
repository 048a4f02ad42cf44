import type { Address, ChannelAdapter, Platform } from '../channel/channel-adapter.ts'
import type { KeyedMutex } from '../channel/post-once.ts'
import type { Config } from '../config/config.ts'
import type { Identities } from '../identity/identities.ts'
import type { JobQueue } from '../jobs/job-queue.ts'
import type { Signals } from '../jobs/signals.ts'
import type { ModelRegistry } from '../model/model-registry.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/errors.ts'
import type { Log } from '../util/log.ts'
import type { Redactor } from '../util/redact.ts'
import type { Clock } from '../util/time.ts'

/** What the gateway's parts are made with. */
export interface GatewayDeps {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly redactor: Redactor
  readonly queue: JobQueue
  readonly signals: Signals
  readonly lanes: KeyedMutex
  readonly models: Pick<ModelRegistry, 'aliases' | 'defaultAlias' | 'label'>
  readonly identities: Identities
  /** The channels that are on. */
  readonly adapters: ReadonlyMap<Platform, ChannelAdapter>
}

/** A command as it is written on the platform: `/status`, `/turnstone status`. */
export function writtenOn({ adapters }: Pick<GatewayDeps, 'adapters'>, platform: Platform, words: string): string {
  return adapters.get(platform)?.commandHint(words) ?? words
}

/** A line that is worth no row: it may be lost, it is never doubled by us, and its failure spoils nothing. */
export async function tell(
  { adapters, log }: Pick<GatewayDeps, 'adapters' | 'log'>,
  to: Address,
  line: { text: string; onlyTo?: string; replyTo?: string },
): Promise<void> {
  try {
    const key = `line:${to.id}:${Math.random()}`
    await adapters.get(to.platform)?.send(to, { kind: 'text', ...line }, key, async () => {})
  } catch (error) {
    log.warn({ reason: messageOf(error), channel: to.platform }, 'a line could not be posted')
  }
}
