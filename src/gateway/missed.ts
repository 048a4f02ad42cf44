import type { Address, ChannelType } from '../channel/channel-adapter.ts'
import { openWorkstreams, type Workstream } from '../workstream/workstreams.ts'
import type { GatewayTools } from './gateway-tools.ts'

const DAY = 86_400_000
/** Conversations older than this are not read back. */
const ACTIVE_WITHIN = 7 * DAY
const PLACES_MAX = 100

/**
 * What to read back after a time without connection: open conversations, and channels in which conversations were
 * begun; at most a day and 100 places. A conversation is read from its last message that was taken in.
 */
export async function missedPlaces(
  { store, clock }: Pick<GatewayTools, 'store' | 'clock'>,
  channel: ChannelType,
): Promise<readonly { to: Address; after: number }[]> {
  const now = clock.now()
  const open = await openWorkstreams(store.db, { channel, activeSince: now - ACTIVE_WITHIN, limit: PLACES_MAX })
  const places = new Map<string, { to: Address; after: number }>()
  for (const workstream of open) {
    const to = placeOf(workstream)
    if (to) places.set(to.id, { to, after: Math.max(now - DAY, await lastTakenIn({ store }, workstream)) })
  }
  for (const { room } of open) {
    if (!places.has(room)) places.set(room, { to: { channel, id: room }, after: now - DAY })
  }
  return [...places.values()].slice(0, PLACES_MAX)
}

function placeOf({ channel, address, opening, postTo }: Workstream): Address | undefined {
  if (address.startsWith('ask:')) return undefined
  if (postTo) return { channel, id: address, ...(postTo.replyIn === undefined ? {} : { replyIn: postTo.replyIn }) }
  // Its thread is not made yet: nobody can have written there.
  return opening ? undefined : { channel, id: address }
}

async function lastTakenIn({ store }: Pick<GatewayTools, 'store'>, workstream: Workstream): Promise<number> {
  const row = await store.db
    .selectFrom('inbox')
    .select((e) => e.fn.max('sent_at').as('at'))
    .where('ws_id', '=', workstream.id)
    .executeTakeFirst()
  return Number(row?.at ?? 0)
}
