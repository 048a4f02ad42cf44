import type { Approval } from '../../approval/approval.ts'
import { approvalsWithOldCards, findApproval, markCardUpToDate } from '../../approval/approvals.ts'
import type { CardView } from '../../channel/card.ts'
import type { Address, ChannelAdapter, MessageRef, PostLog } from '../../channel/channel-adapter.ts'
import { encodePostKey } from '../../channel/post-key.ts'
import { cardPosts, createPostLog } from '../../channel/post-log.ts'
import { PostRefusedError, postOnce } from '../../channel/post-once.ts'
import { fileComment } from '../../copy/cards.ts'
import { requestAbove } from '../../copy/chat.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { messageOf } from '../../util/errors.ts'
import { shortId } from '../../util/ids.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

type Deps = Pick<GatewayDeps, 'store' | 'clock' | 'log' | 'locks' | 'adapters'>

/** One card of an approval at a time is posted. */
const cardLock = (approval: string): string => `card:${approval}`

export function cardViewOf(approval: Approval): CardView {
  const { id, turn, calls, always, changed, state, decidedBy, note, expiresAt } = approval
  return {
    approval: id,
    turn: shortId(turn),
    calls,
    always,
    ...(changed === undefined ? {} : { changed }),
    state:
      state === 'open'
        ? { kind: 'open', ...(expiresAt === undefined ? {} : { expiresAt }) }
        : {
            kind: 'closed',
            outcome: state,
            ...(decidedBy === undefined ? {} : { by: decidedBy }),
            ...(note === undefined ? {} : { note }),
          },
  }
}

/**
 * Posts the card with its files, once, and brings it to the row's state. 'unshowable' where the platform will not show
 * all that would run.
 */
export async function postCard(
  deps: Deps,
  of: { approval: Approval; to: Address; posts: PostLog },
  signal: AbortSignal,
): Promise<'shown' | 'unshowable'> {
  const { approval, to, posts } = of
  const adapter = deps.adapters.get(to.platform)
  if (!adapter) return 'unshowable'
  const card = cardViewOf(approval)
  const once = { adapter, posts, locks: deps.locks, clock: deps.clock }
  try {
    for (const index of approval.state === 'open' ? adapter.filesBefore(card) : []) {
      const call = card.calls[index]
      if (!call) continue
      const { filename, text, sha256, bytes } = call.payload
      const comment = fileComment(call.tool, bytes, sha256)
      const file = { kind: 'file', name: filename, content: text, comment } as const
      const key = encodePostKey({ kind: 'card-file', approval: approval.id, call: index })
      await postOnce(
        once,
        { key, to, kind: 'file', text: filename, send: (onFileId) => adapter.send(to, file, key, onFileId) },
        signal,
      )
    }
    const outgoing = { kind: 'card', card } as const
    const { ref, posted } = await deps.locks.run(cardLock(approval.id), async () => {
      const key = await keyOfCard(deps, approval)
      const send = (onFileId: (id: string) => Promise<void>) => adapter.send(to, outgoing, key, onFileId)
      return postOnce(once, { key, to, kind: 'card', text: '', send }, signal)
    })
    // Somebody may have pressed before the answer to the post was here.
    const now = (await findApproval(deps.store.db, approval.id)) ?? approval
    if (now.state !== approval.state) {
      // Not waited for: the turn goes on with the decision, however long the platform takes to redraw.
      redrawCardsSoon(deps)
      return 'shown'
    }
    if (!posted) await adapter.edit(ref, { kind: 'card', card: cardViewOf(now) })
    await markCardUpToDate(deps.store.db, now)
    return 'shown'
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    deps.log.warn({ reason: error.reason, approval: approval.id }, 'could not show a card')
    return 'unshowable'
  }
}

/**
 * Of the card that is there, or that a crash left half posted. Else a key that was never used: a platform takes a post
 * with the key of a deleted card for the same one, and shows nothing.
 */
async function keyOfCard({ store, clock }: Deps, { id }: Approval): Promise<string> {
  const [known] = await cardPosts(store, id)
  return known?.key ?? encodePostKey({ kind: 'card', approval: id, again: clock.now() })
}

/** Brings every card that shows an older state to its row's; what fails now is tried again at the next call. */
export async function redrawCards(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const approval of await approvalsWithOldCards(deps.store.db)) {
    if (approval.state === 'open') continue
    await redrawCard(deps, approval, signal).catch((error: unknown) =>
      deps.log.warn({ reason: messageOf(error), approval: approval.id }, 'could not redraw a card yet'),
    )
  }
}

/** Not waited for: what fails is tried again with the gateway's regular look. */
export function redrawCardsSoon(deps: Deps): void {
  void redrawCards(deps, AbortSignal.timeout(60_000)).catch((error: unknown) =>
    deps.log.warn({ reason: messageOf(error) }, 'could not redraw cards yet'),
  )
}

async function redrawCard(deps: Deps, approval: Approval, signal: AbortSignal): Promise<void> {
  const posts = createPostLog(deps.store, deps.clock)
  const cards = await cardPosts(deps.store, approval.id)
  for (const { ref } of cards) if (ref) await closeCard(deps, { approval, ref, posts }, signal)
  if (cards.length > 0 && cards.every((card) => !card.ref)) {
    const to = await addressOfTurn(deps.store.db, approval.turn)
    if (to) await postCard(deps, { approval, to, posts }, signal)
  }
  await markCardUpToDate(deps.store.db, approval)
}

async function closeCard(
  deps: Deps,
  { approval, ref, posts }: { approval: Approval; ref: MessageRef; posts: PostLog },
  signal: AbortSignal,
): Promise<void> {
  const adapter = deps.adapters.get(ref.platform)
  if (!adapter) return
  try {
    await adapter.edit(ref, { kind: 'card', card: cardViewOf(approval) })
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    const to = await addressOfTurn(deps.store.db, approval.turn)
    if (to) await postClosingLine(deps, { adapter, approval, posts, to }, signal)
  }
}

/** The platform will not change the card any more: a line below says how it ended. */
async function postClosingLine(
  { locks, clock }: Deps,
  of: { adapter: ChannelAdapter; approval: Approval; posts: PostLog; to: Address },
  signal: AbortSignal,
): Promise<void> {
  const { adapter, approval, posts, to } = of
  const text = requestAbove(approval.state, approval.decidedBy)
  const key = encodePostKey({ kind: 'card-closed', approval: approval.id })
  await postOnce(
    { adapter, posts, locks, clock },
    { key, to, kind: 'text', text, send: (onFileId) => adapter.send(to, { kind: 'text', text }, key, onFileId) },
    signal,
  )
}
