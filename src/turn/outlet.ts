import type { Approval } from '../approval/approval.ts'
import type { Address, Attachment, HistoryMessage, Platform } from '../channel/channel-adapter.ts'
import type { Claim } from '../workstream/claim.ts'
import type { Workstream } from '../workstream/workstreams.ts'
import type { InboxMessage } from './inbox-messages.ts'
import type { TurnEvent } from './turn.ts'

/** Shows one turn in its conversation. */
export interface TurnPresenter {
  /** Must not throw and must not wait. */
  show(event: TurnEvent): void
  /** Resolves when the platform shows everything; rejects when `signal` aborts. */
  settle(signal: AbortSignal): Promise<void>
  /** Posts the card, with its files; 'unshowable' where the platform cannot show all that would run. */
  card(approval: Approval, signal: AbortSignal): Promise<'shown' | 'unshowable'>
}

/** The agent's way to the channels. */
export interface TurnOutlet {
  /** Whether the channel is on; a workstream of one that is off waits. */
  serves(channel: Platform): boolean
  /** The platform's name as people know it. */
  displayName(platform: Platform): string
  /** Makes the workstream's place; once for each workstream. */
  open(workstream: Workstream, claim: Claim, signal: AbortSignal): Promise<{ to: Address; notice?: string }>
  presenter(of: { workstream: string; turn: string; to: Address; claim: Claim }): TurnPresenter
  /** The last messages of the conversation before the given one, oldest first; undefined where they cannot be read in 3 s. */
  earlier(to: Address, before: string | undefined, limit: number): Promise<readonly HistoryMessage[] | undefined>
  download(channel: Platform, file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>
  /** The model has them: 👀 comes off. Must not reject. */
  taken(items: readonly InboxMessage[]): Promise<void>
}
