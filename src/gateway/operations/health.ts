import type { ChannelAdapter, ChannelState } from '../../channel/channel-adapter.ts'
import { HEALTH } from '../../copy/health.ts'
import type { Store } from '../../store/store.ts'
import { VERSION } from '../../util/version.ts'
import { countOpenWorkstreams } from '../../workstream/workstreams.ts'

export type Health =
  | { readonly ready: false; readonly status: 'starting' | 'standby' | 'failed'; readonly reason: string }
  | {
      readonly ready: true
      readonly status: 'ok' | 'degraded'
      readonly version: string
      readonly channels: Readonly<Record<string, ChannelState>>
      readonly reasons: readonly string[]
      readonly workstreams: number
      readonly watches: number
      readonly mcp: { readonly servers: number; readonly resources: number; readonly prompts: number }
    }

/** Of a gateway that is up. Holds no names and no text of people: anybody can read it. */
export async function healthOf(of: {
  store: Store
  adapters: readonly ChannelAdapter[]
  /** What an operator should always know, a line each. */
  remarks: readonly string[]
}): Promise<Health> {
  const { store, adapters, remarks } = of
  if (!(await store.healthy())) return { ready: false, status: 'failed', reason: HEALTH.noDatabase }
  const channels: Record<string, ChannelState> = { discord: 'off', slack: 'off', web: 'off' }
  const reasons: string[] = []
  for (const adapter of adapters) {
    const { state, reason } = adapter.state()
    channels[adapter.platform] = state
    if (state !== 'ready') reasons.push(`${adapter.platform}: ${reason ?? state}`)
  }
  return {
    ready: true,
    status: reasons.length > 0 ? 'degraded' : 'ok',
    version: VERSION,
    channels,
    reasons: [...reasons, ...remarks],
    workstreams: await countOpenWorkstreams(store.db).catch(() => 0),
    watches: 0,
    mcp: { servers: 0, resources: 0, prompts: 0 },
  }
}
