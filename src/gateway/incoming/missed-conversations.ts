import type { Address, Platform } from '../../channel/channel-adapter.ts'
import { firstSentAt, lastSentAt } from '../../turn/inbox-messages.ts'
import { openWorkstreams, type Workstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

const DAY_MS = 86_400_000
/** Conversations older than this are not read back. */
const ACTIVE_WITHIN_MS = 7 * DAY_MS
const MAX_CONVERSATIONS = 100
/** Read again before the newest message: one that was sent earlier may have been lost. What is known is taken once, ms. */
const OVERLAP_MS = 5 * 60_000

/**
 * What to read back after a time without connection: open conversations, and channels in which conversations were
 * begun; at most a day and 100 places. A conversation is read from
 * some minutes before its last message that was taken in, but not from before its first.
 */
export async function missedConversations(
  { store, clock }: Pick<GatewayDeps, 'store' | 'clock'>,
  platform: Platform,
): Promise<readonly { to: Address; after: number }[]> {
  const now = clock.now()
  const open = await openWorkstreams(store.db, {
    platform,
    activeSince: now - ACTIVE_WITHIN_MS,
    limit: MAX_CONVERSATIONS,
  })
  const places = new Map<string, { to: Address; after: number }>()
  for (const workstream of open) {
    const to = addressOf(workstream)
    if (!to) continue
    const first = await firstSentAt(store.db, workstream.id)
    const last = await lastSentAt(store.db, workstream.id)
    places.set(to.id, { to, after: Math.max(now - DAY_MS, first, last - OVERLAP_MS) })
  }
  for (const { channel } of open) {
    if (!places.has(channel)) places.set(channel, { to: { platform, id: channel }, after: now - DAY_MS })
  }
  return [...places.values()].slice(0, MAX_CONVERSATIONS)
}

function addressOf({ platform, address, opening, postTo }: Workstream): Address | undefined {
  if (address.startsWith('ask:')) return undefined
  if (postTo) return { platform, id: address, ...(postTo.replyIn === undefined ? {} : { replyIn: postTo.replyIn }) }
  // Its thread is not made yet: nobody can have written there.
  return opening ? undefined : { platform, id: address }
}
