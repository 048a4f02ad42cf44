import type { Approval } from '../../approval/approval.ts'
import { findApproval, markCardUpToDate } from '../../approval/approvals.ts'
import type { CardView } from '../../channel/card.ts'
import type { Address, ChannelAdapter, MessageRef, PostLog } from '../../channel/channel-adapter.ts'
import { encodePostKey, isCardKey } from '../../channel/post-key.ts'
import { createPostLog } from '../../channel/post-log.ts'
import { editUntilAnswered, PostRefusedError, postOnce } from '../../channel/post-once.ts'
import { fileComment } from '../../copy/cards.ts'
import { requestAbove } from '../../copy/chat.ts'
import { LOG } from '../../copy/log.ts'
import type { CardOutcome } from '../../turn/outlet.ts'
import { shortId } from '../../util/ids.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

type Deps = Pick<GatewayDeps, 'store' | 'clock' | 'log' | 'locks' | 'adapters' | 'redraws'>

/** Posting a card and forgetting a deleted one exclude each other. */
export const cardLock = (approval: string): string => `card:${approval}`

/** The key of the card that is shown or whose post was started; undefined where there is none. */
async function cardKeyOf(posts: PostLog, approval: string): Promise<string | undefined> {
  const begun = (await posts.pending(approval)).map((p) => p.key)
  const shown = [...(await posts.known(approval)).keys()]
  return [...shown, ...begun].findLast(isCardKey)
}

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
): Promise<CardOutcome> {
  return deps.locks.run(cardLock(of.approval.id), () => postCardNow(deps, of, signal))
}

async function postCardNow(
  deps: Deps,
  of: { approval: Approval; to: Address; posts: PostLog },
  signal: AbortSignal,
): Promise<CardOutcome> {
  signal.throwIfAborted()
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
    // A key of its own for each message: under an old one a platform may give the deleted message back.
    const fresh = encodePostKey({ kind: 'card', approval: approval.id, again: deps.clock.now() })
    const key = (await cardKeyOf(posts, approval.id)) ?? fresh
    const outgoing = { kind: 'card', card } as const
    const { ref, posted } = await postOnce(
      once,
      { key, to, kind: 'card', text: '', send: (onFileId) => adapter.send(to, outgoing, key, onFileId) },
      signal,
    )
    // Somebody may have pressed before the answer to the post was here.
    const now = (await findApproval(deps.store.db, approval.id)) ?? approval
    if (now.state !== approval.state) {
      // Not waited for: the turn goes on with the decision, however long the platform takes to redraw.
      deps.redraws.soon()
      return 'shown'
    }
    const view = { kind: 'card', card: cardViewOf(now) } as const
    if (!posted && !(await editUntilAnswered({ adapter, clock: deps.clock }, ref, view, signal))) {
      await posts.forget(key)
      return await postCardNow(deps, of, signal)
    }
    await markCardUpToDate(deps.store.db, now)
    return 'shown'
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    deps.log.warn({ reason: error.reason, approval: approval.id }, LOG.cardNotShown)
    return error.ofPlace ? { refused: error.reason } : 'unshowable'
  }
}

/** Brings the cards of a settled approval to its state. Resolves too where the platform will never show it: that is logged. */
export async function redrawCard(
  deps: Deps,
  { approval, to }: { approval: Approval; to: Address | undefined },
  signal: AbortSignal,
): Promise<void> {
  const posts = createPostLog(deps.store, deps.clock)
  const known = await posts.known(approval.id)
  const refs = [...known].filter(([key]) => isCardKey(key))
  try {
    for (const [, ref] of refs) await closeCard(deps, { approval, ref, posts, to }, signal)
    if (refs.length === 0 && to && (await cardKeyOf(posts, approval.id))) {
      await postCard(deps, { approval, to, posts }, signal)
    }
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    deps.log.warn({ reason: error.reason, approval: approval.id }, LOG.cardNeverRedrawn)
  }
  await markCardUpToDate(deps.store.db, approval)
}

async function closeCard(
  deps: Deps,
  { approval, ref, posts, to }: { approval: Approval; ref: MessageRef; posts: PostLog; to: Address | undefined },
  signal: AbortSignal,
): Promise<void> {
  const adapter = deps.adapters.get(ref.platform)
  if (!adapter) return
  try {
    await adapter.edit(ref, { kind: 'card', card: cardViewOf(approval) })
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
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
