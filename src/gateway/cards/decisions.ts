import type { Approval, Outcome } from '../../approval/approval.ts'
import { findApproval, openApprovals, settleApproval } from '../../approval/approvals.ts'
import type {
  DecisionAction,
  DecisionReceipt,
  InboundDecision,
  InboundMessage,
  MessageRef,
} from '../../channel/channel-adapter.ts'
import { decodePostKey } from '../../channel/post-key.ts'
import { createPostLog, isCardInFlight, postOf } from '../../channel/post-log.ts'
import {
  alreadyDecided,
  LINK_TO_DECIDE,
  MAY_NOT_DECIDE,
  NO_ALWAYS_ALLOW,
  NOTHING_CHANGED,
  UNKNOWN_CARD,
} from '../../copy/chat.ts'
import type { User } from '../../identity/users.ts'
import { audit } from '../../store/audit.ts'
import { claimOnce, throttle } from '../../store/seen.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { messageOf } from '../../util/errors.ts'
import { findWorkstream, type Workstream } from '../../workstream/workstreams.ts'
import { mayDecide } from '../access.ts'
import { type GatewayDeps, tell } from '../gateway-deps.ts'
import { postCard, redrawCardsSoon } from './card-painter.ts'
import { parseTypedAnswer } from './typed-answer.ts'

const OUTCOMES: Record<DecisionAction, Outcome> = { approve: 'approved', always: 'always', reject: 'rejected' }

/** Longest note that is kept; the platforms' forms take less. */
const MAX_NOTE_CHARS = 8000

const DAY_MS = 86_400_000
/** When a deleted message that is not known is looked for again, ms. */
const LOOK_AGAIN_MS: readonly number[] = [200, 1000, 5000]

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
    const outcome = ({ y: 'approved', n: 'rejected', a: 'always' } as const)[answer.letter]
    if (outcome === 'always' && !approval.always) {
      const first = await claimOnce(this.#deps.store.db, m.key, this.#deps.clock.now())
      if (first) await tell(this.#deps, m.location.to, { text: NO_ALWAYS_ALLOW })
      return true
    }
    await this.#settle(approval, outcome, user, answer.note, m.key)
    return true
  }

  /** In a direct message: whether it stands in another thread than the card. */
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
    redrawCardsSoon(this.#deps)
    return late ? undefined : settled
  }

  /** At its time an open card is denied. */
  async expire(id: string): Promise<void> {
    const { store, clock, queue } = this.#deps
    await store.transaction(async (tx) => {
      const done = await settleApproval(tx, { id, outcome: 'expired', by: 'turnstone' }, clock.now())
      if (done) await queue.send(tx, { kind: 'turn', workstream: done.workstream })
    })
    redrawCardsSoon(this.#deps)
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

  /** The card of an open approval is posted anew; it may be deleted before the answer to its post was here. */
  async cardDeleted(ref: MessageRef, [wait, ...later]: readonly number[] = LOOK_AGAIN_MS): Promise<void> {
    const { store, clock, log } = this.#deps
    const inFlight = await isCardInFlight(store, ref)
    const key = await postOf(store, ref)
    if (key === undefined && wait !== undefined && inFlight) {
      clock.after(wait, () => {
        this.cardDeleted(ref, later).catch((error: unknown) =>
          log.warn({ reason: messageOf(error) }, 'could not post a deleted card again'),
        )
      })
    }
    const post = key === undefined ? undefined : decodePostKey(key)
    const approval = post?.kind === 'card' ? await findApproval(store.db, post.approval) : undefined
    if (key === undefined || !approval || approval.state !== 'open') return
    const to = await addressOfTurn(store.db, approval.turn)
    if (!to) return
    const posts = createPostLog(store, clock)
    await posts.forget(key)
    await postCard(this.#deps, { approval, to, posts, again: true }, AbortSignal.timeout(60_000))
  }
}
