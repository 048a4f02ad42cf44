import type { Approval } from '../../approval/approval.ts'
import { openApprovals, workstreamsWithOpenApproval } from '../../approval/approvals.ts'
import type { ChannelAdapter, MessageRef, Platform } from '../../channel/channel-adapter.ts'
import { decodePostKey } from '../../channel/post-key.ts'
import { createPostLog } from '../../channel/post-log.ts'
import { LOG } from '../../copy/log.ts'
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
      for (const approval of await openApprovals(db, workstream)) {
        for (const ref of await missingCards(deps, adapter, approval)) await deleted(ref)
      }
    }
  } catch (error) {
    deps.log.warn({ reason: messageOf(error), platform }, LOG.cardNotLookedFor)
  }
}

async function missingCards(
  { store, clock }: Deps,
  adapter: ChannelAdapter,
  approval: Approval,
): Promise<readonly MessageRef[]> {
  const to = await addressOfTurn(store.db, approval.turn)
  if (to?.platform !== adapter.platform) return []
  const posts = createPostLog(store, clock)
  const missing: MessageRef[] = []
  for (const [key, ref] of await posts.known(approval.id)) {
    const post = decodePostKey(key)
    if (post?.kind !== 'card') continue
    const at = post.again ?? approval.createdAt
    // A young one may be there and not be found yet.
    if (clock.now() - at < adapter.readBackDelayMs) continue
    const owned = await posts.owned(to, key)
    if (!(await adapter.findPost(to, { key, at, kind: 'card', text: '', owned }))) missing.push(ref)
  }
  return missing
}
