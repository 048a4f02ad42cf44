import type { Address, ChannelAdapter, Platform } from '../channel/channel-adapter.ts'
import type { Config } from '../config/config.ts'
import { LOG } from '../copy/log.ts'
import type { Identities } from '../identity/identities.ts'
import type { JobQueue } from '../jobs/job-queue.ts'
import type { Locks } from '../jobs/locks.ts'
import type { Signals } from '../jobs/signals.ts'
import type { ModelRegistry } from '../model/model-registry.ts'
import type { Store } from '../store/store.ts'
import { messageOf } from '../util/errors.ts'
import type { Log } from '../util/log.ts'
import type { Redactor } from '../util/redact.ts'
import type { Clock } from '../util/time.ts'

/** Brings the cards of settled approvals to their rows' state. */
export interface CardRedraws {
  /** Not waited for: some row may have changed. */
  soon(): void
}

/** What the gateway's parts are made with. */
export interface GatewayDeps {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly redactor: Redactor
  readonly queue: JobQueue
  readonly signals: Signals
  readonly locks: Locks
  readonly models: Pick<ModelRegistry, 'aliases' | 'defaultAlias' | 'label'>
  readonly identities: Identities
  /** The channels that are on. */
  readonly adapters: ReadonlyMap<Platform, ChannelAdapter>
  readonly redraws: CardRedraws
}

/** A command as it is written on the platform: `/status`, `/turnstone status`. */
export function writtenOn({ adapters }: Pick<GatewayDeps, 'adapters'>, platform: Platform, words: string): string {
  return adapters.get(platform)?.commandHint(words) ?? words
}

/** A line without a row: it may be lost, it is never sent twice, and its failure changes nothing. `onlyTo`: privately where the platform can. */
export async function tell(
  { adapters, log }: Pick<GatewayDeps, 'adapters' | 'log'>,
  to: Address,
  line: { text: string; onlyTo?: string; replyTo?: string },
): Promise<void> {
  try {
    const adapter = adapters.get(to.platform)
    const { onlyTo, ...rest } = line
    if (onlyTo !== undefined) await adapter?.postEphemeral(to, { ...rest, onlyTo })
    else await adapter?.send(to, { kind: 'text', ...rest }, `line:${to.id}:${Math.random()}`, async () => {})
  } catch (error) {
    log.warn({ reason: messageOf(error), channel: to.platform }, LOG.lineNotPosted)
  }
}
