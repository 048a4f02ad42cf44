import type { Approval, Outcome } from '../../approval/approval.ts'
import { findApproval, markCardMissing, openApprovals, settleApproval } from '../../approval/approvals.ts'
import type {
  DecisionAction,
  DecisionReceipt,
  InboundDecision,
  InboundMessage,
  MessageRef,
} from '../../channel/channel-adapter.ts'
import { decodePostKey, isCardKey } from '../../channel/post-key.ts'
import { createPostLog, forgetPost, isCardInFlight, postOf } from '../../channel/post-log.ts'
import {
  alreadyDecided,
  LINK_TO_DECIDE,
  MAY_NOT_DECIDE,
  NO_ALWAYS_ALLOW,
  NOTHING_CHANGED,
  UNKNOWN_CARD,
} from '../../copy/chat.ts'
import { LOG } from '../../copy/log.ts'
import type { User } from '../../identity/users.ts'
import { audit } from '../../store/audit.ts'
import { claimOnce, throttle } from '../../store/seen.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { messageOf } from '../../util/errors.ts'
import { sleep } from '../../util/time.ts'
import { findWorkstream, type Workstream } from '../../workstream/workstreams.ts'
import { mayDecide } from '../access.ts'
import { type GatewayDeps, tell } from '../gateway-deps.ts'
import { cardLock, postCard } from './card-painter.ts'
import { parseTypedAnswer } from './typed-answer.ts'

const OUTCOMES: Record<DecisionAction, Outcome> = { approve: 'approved', always: 'always', reject: 'rejected' }

/** Longest note that is kept; the platforms' forms take less. */
const MAX_NOTE_CHARS = 8000

const DAY_MS = 86_400_000
/** How long a typed answer waits for the answer to its card's post, ms. */
const ANSWER_WAITS_MS: readonly number[] = [50, 150, 300, 500]
/** When a deleted message that is not known is looked for again, ms. */
const LOOK_AGAIN_MS: readonly number[] = [200, 1000, 5000]

/** So long a deleted card is tried to be posted again at once, ms; then it is left to the regular look. */
const POST_AGAIN_MS = 60_000

/** Presses and typed answers: the only other way in. */
export class Decisions {
  readonly #deps: GatewayDeps

  constructor(deps: GatewayDeps) {
    this.#deps = deps
  }

  async press({ platform, approval: id, action, note, by }: InboundDecision): Promise<DecisionReceipt> {
    const no = (text: string): DecisionReceipt => ({ effective: false, text })
    const { store, identities, config, clock } = this.#deps
    const approval = await findApproval(store.db, id)
    const workstream = approval && (await findWorkstream(store.db, approval.workstream))
    if (!approval || !workstream) return no(UNKNOWN_CARD)
    const user = by.bot ? undefined : await identities.userOf(platform, by.id)
    const allowed = user !== undefined && mayDecide(user, by.bot, workstream, config)
    const actor = user?.name ?? `${platform}:${by.id}`
    const detail = `${id} ${action}${allowed ? '' : ' refused'}`
    await store.transaction(async (tx) => {
      const now = clock.now()
      // Who may not decide can press as often as they like.
      if (!allowed && !(await throttle(tx.db, `press:${actor}:${id}`, DAY_MS, now))) return
      await audit(tx, { at: now, actor, action: 'press', workstream: workstream.id, detail })
    })
    if (!user) return no(LINK_TO_DECIDE)
    if (!allowed) return no(MAY_NOT_DECIDE(workstream.owner))
    // Only now: nothing of a stranger's text is worked on.
    const said = note === undefined ? undefined : this.#deps.redactor.head(note, MAX_NOTE_CHARS)
    const settled = await this.#settle(approval, OUTCOMES[action], user, said)
    if (settled) return { effective: true, text: '' }
    return no(await this.#whyNot(id, action))
  }

  async #whyNot(id: string, verb: DecisionAction): Promise<string> {
    const now = await findApproval(this.#deps.store.db, id)
    if (!now || now.state === 'open') return verb === 'always' ? NO_ALWAYS_ALLOW : NOTHING_CHANGED
    return alreadyDecided(now.state, now.decidedBy)
  }

  /** `y`, `n` or `a` as the whole message, while exactly one card is open here. True where it was an answer. */
  async typed(m: InboundMessage, user: User, workstream: Workstream): Promise<boolean> {
    const answer = parseTypedAnswer(m.text)
    if (!answer || m.attachments.length > 0) return false
    if (!mayDecide(user, m.author.bot, workstream, this.#deps.config)) return false
    const open = await openApprovals(this.#deps.store.db, workstream.id)
    const [approval] = open
    if (!approval || open.length !== 1 || (await this.#isElsewhere(m, approval))) return false
    if (!(await this.#hasSeen(m, approval))) return false
    const outcome = ({ y: 'approved', n: 'rejected', a: 'always' } as const)[answer.letter]
    if (outcome === 'always' && !approval.always) {
      const first = await claimOnce(this.#deps.store.db, m.key, this.#deps.clock.now())
      if (first) await tell(this.#deps, m.location.to, { text: NO_ALWAYS_ALLOW })
      return true
    }
    await this.#settle(approval, outcome, user, answer.note, m.key)
    return true
  }

  /** Whether the card was there when the message was written: what nobody saw nobody can answer. */
  async #hasSeen({ platform, sentAt }: InboundMessage, { id }: Approval): Promise<boolean> {
    const { adapters, store, clock } = this.#deps
    const adapter = adapters.get(platform)
    const posts = createPostLog(store, clock)
    for (const wait of [...ANSWER_WAITS_MS, undefined]) {
      const cards = [...(await posts.known(id))].flatMap(([key, ref]) => (isCardKey(key) ? [ref] : []))
      if (cards.length > 0) return adapter !== undefined && cards.every((ref) => adapter.postedAt(ref) <= sentAt)
      // Its post may be shown already, and the answer to it be on its way.
      if (wait === undefined || !(await posts.pending(id)).some((p) => isCardKey(p.key))) break
      await sleep(clock, wait)
    }
    return false
  }

  /** In a direct message: whether it is in another thread than the card. */
  async #isElsewhere({ location, ref }: InboundMessage, approval: Approval): Promise<boolean> {
    const { thread } = location.to
    if (thread === undefined || thread === ref.id) return false
    return (await addressOfTurn(this.#deps.store.db, approval.turn))?.thread !== thread
  }

  /** One transaction: the row, its grants, the job; and the message that was the answer. Undefined: somebody was first. */
  async #settle(
    { id, workstream, expiresAt }: Approval,
    wished: Outcome,
    user: User,
    note: string | undefined,
    key?: string,
  ): Promise<Approval | undefined> {
    const { store, clock, queue } = this.#deps
    const now = clock.now()
    const late = expiresAt !== undefined && now >= expiresAt
    const settled = await store.transaction(async (tx) => {
      if (key !== undefined) await claimOnce(tx.db, key, now)
      const decision = late
        ? { id, outcome: 'expired' as const, by: 'turnstone' }
        : { id, outcome: wished, by: user.name, ...(note === undefined ? {} : { note }) }
      const done = await settleApproval(tx, decision, now)
      if (!done) return undefined
      await queue.cancel(tx, { kind: 'expire', approval: id })
      await queue.send(tx, { kind: 'turn', workstream })
      return done
    })
    this.#deps.redraws.soon()
    return late ? undefined : settled
  }

  /** At its time an open card is denied. */
  async expire(id: string): Promise<void> {
    const { store, clock, queue } = this.#deps
    await store.transaction(async (tx) => {
      const done = await settleApproval(tx, { id, outcome: 'expired', by: 'turnstone' }, clock.now())
      if (done) await queue.send(tx, { kind: 'turn', workstream: done.workstream })
    })
    this.#deps.redraws.soon()
  }

  /** It cannot be shown whole, so it cannot be approved. */
  async refuseUnshowable({ id, workstream }: Approval): Promise<void> {
    const { store, clock, queue } = this.#deps
    await store.transaction(async (tx) => {
      await settleApproval(tx, { id, outcome: 'unshowable', by: 'turnstone' }, clock.now())
      await queue.cancel(tx, { kind: 'expire', approval: id })
      await queue.send(tx, { kind: 'turn', workstream })
    })
  }

  /** Posts the card of an open approval again; it may be deleted before the answer to its post was here. */
  async cardDeleted(ref: MessageRef, [wait, ...later]: readonly number[] = LOOK_AGAIN_MS): Promise<void> {
    const { store, clock, log } = this.#deps
    const inFlight = await isCardInFlight(store, ref)
    const key = await postOf(store, ref)
    if (key === undefined && wait !== undefined && inFlight) {
      clock.after(wait, () => {
        this.cardDeleted(ref, later).catch((error: unknown) =>
          log.warn({ reason: messageOf(error) }, LOG.cardNotReposted),
        )
      })
    }
    const post = key === undefined ? undefined : decodePostKey(key)
    const approval = post?.kind === 'card' ? await findApproval(store.db, post.approval) : undefined
    if (key === undefined || !approval || approval.state !== 'open') return
    const to = await addressOfTurn(store.db, approval.turn)
    const forgotten = await this.#deps.locks.run(cardLock(approval.id), () => this.#forget(key, approval))
    if (!to || !forgotten) return
    const limit = new AbortController()
    const cancel = clock.after(POST_AGAIN_MS, () => limit.abort(new Error('it took too long')))
    await postCard(this.#deps, { approval, to, posts: createPostLog(store, clock) }, limit.signal).finally(cancel)
  }

  /** In one transaction, so that whatever happens next somebody sees that the open card is missing. */
  #forget(key: string, { id }: Approval): Promise<boolean> {
    return this.#deps.store.transaction(async (tx) => {
      await forgetPost(tx, key)
      return markCardMissing(tx, id)
    })
  }
}
