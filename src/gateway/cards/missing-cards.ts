import { openApprovals, workstreamsWithOpenApproval } from '../../approval/approvals.ts'
import type { ChannelAdapter, MessageRef, Platform } from '../../channel/channel-adapter.ts'
import { cardPosts, createPostLog } from '../../channel/post-log.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { messageOf } from '../../util/errors.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

type Deps = Pick<GatewayDeps, 'store' | 'clock' | 'log' | 'adapters'>

/** Hands on the cards of open approvals that were deleted while nobody listened. Never rejects. */
export async function reportMissingCards(
  deps: Deps,
  platform: Platform,
  deleted: (ref: MessageRef) => Promise<void>,
): Promise<void> {
  const adapter = deps.adapters.get(platform)
  if (!adapter) return
  try {
    const { db } = deps.store
    for (const workstream of await workstreamsWithOpenApproval(db, true)) {
      for (const { id, turn } of await openApprovals(db, workstream)) {
        for (const ref of await missingCards(deps, adapter, id, turn)) await deleted(ref)
      }
    }
  } catch (error) {
    deps.log.warn({ reason: messageOf(error), platform }, 'could not look whether open cards are still there')
  }
}

async function missingCards(
  { store, clock }: Deps,
  adapter: ChannelAdapter,
  approval: string,
  turn: string,
): Promise<readonly MessageRef[]> {
  const to = await addressOfTurn(store.db, turn)
  if (to?.platform !== adapter.platform) return []
  const posts = createPostLog(store, clock)
  const missing: MessageRef[] = []
  for (const { key, ref, at } of await cardPosts(store, approval)) {
    // One without an answer is looked for when it is posted again; a young one may be there and not be found yet.
    if (!ref || clock.now() - at < adapter.readBackDelayMs) continue
    const owned = await posts.owned(to, key)
    if (!(await adapter.findPost(to, { key, at, kind: 'card', text: '', owned }))) missing.push(ref)
  }
  return missing
}
