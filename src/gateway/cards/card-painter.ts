import type { Approval } from '../../approval/approval.ts'
import { approvalsWithOldCards, findApproval, markCardUpToDate } from '../../approval/approvals.ts'
import type { CardView } from '../../channel/card.ts'
import type { Address, ChannelAdapter, MessageRef, PostLog } from '../../channel/channel-adapter.ts'
import { createPostLog } from '../../channel/post-log.ts'
import { PostRefusedError, postOnce } from '../../channel/post-once.ts'
import { closedAbove, fileComment } from '../../copy/cards.ts'
import { messageOf } from '../../util/errors.ts'
import { shortId } from '../../util/ids.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

type Tools = Pick<GatewayDeps, 'store' | 'clock' | 'log' | 'lanes' | 'adapters'>

/** Keys of an approval's posts: the card, anew after a deletion with a suffix, its files, its closing line. */
export const cardKey = (approval: string): string => `approval:${approval}`

/** The approval that a post's key names as its card. */
export function approvalOfKey(key: string): string | undefined {
  return /^approval:([0-9a-f]+)(?:#\d+)?$/.exec(key)?.[1]
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
  tools: Tools,
  of: { approval: Approval; to: Address; posts: PostLog; again?: boolean },
  signal: AbortSignal,
): Promise<'shown' | 'unshowable'> {
  const { approval, to, posts } = of
  const adapter = tools.adapters.get(to.platform)
  if (!adapter) return 'unshowable'
  const card = cardViewOf(approval)
  const once = { adapter, posts, lanes: tools.lanes, clock: tools.clock }
  try {
    for (const index of approval.state === 'open' ? adapter.filesBefore(card) : []) {
      const call = card.calls[index]
      if (!call) continue
      const { filename, text, sha256, bytes } = call.payload
      const comment = fileComment(call.tool, bytes, sha256)
      const file = { kind: 'file', name: filename, content: text, comment } as const
      const key = `${cardKey(approval.id)}:file:${index}`
      await postOnce(
        once,
        { key, to, kind: 'file', text: filename, send: (onFileId) => adapter.send(to, file, key, onFileId) },
        signal,
      )
    }
    const key = of.again ? `${cardKey(approval.id)}#${tools.clock.now()}` : cardKey(approval.id)
    const outgoing = { kind: 'card', card } as const
    const { ref, posted } = await postOnce(
      once,
      { key, to, kind: 'card', text: '', send: (onFileId) => adapter.send(to, outgoing, key, onFileId) },
      signal,
    )
    // Somebody may have pressed before the answer to the post was here.
    const now = (await findApproval(tools.store.db, approval.id)) ?? approval
    if (now.state !== approval.state) {
      // Not waited for: the turn goes on with the decision, however long the platform takes to redraw.
      redrawCardsSoon(tools)
      return 'shown'
    }
    if (!posted) await adapter.edit(ref, { kind: 'card', card: cardViewOf(now) })
    await markCardUpToDate(tools.store.db, now)
    return 'shown'
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    tools.log.warn({ reason: error.reason, approval: approval.id }, 'a card could not be shown')
    return 'unshowable'
  }
}

/** Brings every card that shows an older state to its row's; what fails now is tried again at the next call. */
export async function redrawCards(tools: Tools, signal: AbortSignal): Promise<void> {
  for (const approval of await approvalsWithOldCards(tools.store.db)) {
    if (approval.state === 'open') continue
    await redrawCard(tools, approval, signal).catch((error: unknown) =>
      tools.log.warn({ reason: messageOf(error), approval: approval.id }, 'a card could not be redrawn yet'),
    )
  }
}

/** Not waited for: what fails is tried again with the gateway's regular look. */
export function redrawCardsSoon(tools: Tools): void {
  void redrawCards(tools, AbortSignal.timeout(60_000)).catch((error: unknown) =>
    tools.log.warn({ reason: messageOf(error) }, 'cards could not be redrawn yet'),
  )
}

async function redrawCard(tools: Tools, approval: Approval, signal: AbortSignal): Promise<void> {
  const posts = createPostLog(tools.store, tools.clock)
  const known = await posts.known(cardKey(approval.id))
  const refs = [...known].filter(([key]) => approvalOfKey(key) === approval.id)
  for (const [, ref] of refs) await closeCard(tools, { approval, ref, posts }, signal)
  if (refs.length === 0 && (await isBeingPosted(tools, approval))) {
    const to = await addressOf(tools, approval)
    if (to) await postCard(tools, { approval, to, posts }, signal)
  }
  await markCardUpToDate(tools.store.db, approval)
}

/** Its post was begun and not answered yet: the card may stand there with live buttons. */
async function isBeingPosted({ store }: Tools, { id }: Approval): Promise<boolean> {
  const row = await store.db.selectFrom('posts').select('ref').where('key', '=', cardKey(id)).executeTakeFirst()
  return row !== undefined && row.ref === null
}

async function closeCard(
  tools: Tools,
  { approval, ref, posts }: { approval: Approval; ref: MessageRef; posts: PostLog },
  signal: AbortSignal,
): Promise<void> {
  const adapter = tools.adapters.get(ref.platform)
  if (!adapter) return
  try {
    await adapter.edit(ref, { kind: 'card', card: cardViewOf(approval) })
  } catch (error) {
    if (!(error instanceof PostRefusedError)) throw error
    const to = await addressOf(tools, approval)
    if (to) await postClosingLine(tools, { adapter, approval, posts, to }, signal)
  }
}

/** The platform will not change the card any more: a line below says how it ended. */
async function postClosingLine(
  { lanes, clock }: Tools,
  of: { adapter: ChannelAdapter; approval: Approval; posts: PostLog; to: Address },
  signal: AbortSignal,
): Promise<void> {
  const { adapter, approval, posts, to } = of
  if (approval.state === 'open') return
  const text = closedAbove(approval.state, approval.decidedBy)
  const key = `${cardKey(approval.id)}:closed`
  await postOnce(
    { adapter, posts, lanes, clock },
    { key, to, kind: 'text', text, send: (onFileId) => adapter.send(to, { kind: 'text', text }, key, onFileId) },
    signal,
  )
}

/** Where the approval's turn answers. */
export async function addressOf({ store }: Pick<Tools, 'store'>, { turn }: Approval): Promise<Address | undefined> {
  const row = await store.db.selectFrom('turns').select('post_to').where('id', '=', turn).executeTakeFirst()
  return row && (JSON.parse(row.post_to) as Address)
}
