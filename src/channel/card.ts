import type { Outcome } from '../approval/approval.ts'

/** One call on a card, as the approver must see it. */
export interface CardCall {
  readonly tool: string
  /** One line: what it does to what. */
  readonly header: string
  /** Exactly what will run, as text; a channel shows it whole or attaches it. */
  readonly payload: {
    readonly filename: string
    readonly text: string
    /** Of the UTF-8 bytes of `text`, hex. */
    readonly sha256: string
    readonly bytes: number
  }
  /** What *Always allow* will cover; undefined where it covers nothing. */
  readonly covers?: string
  /** Why it asks, where a rule or a place outside the workspace is the reason. */
  readonly because?: string
  readonly warning?: string
}

/** How an approval ended. */
export type CardOutcome = Outcome

/** An approval as a channel paints it, wholly from the approval's row. */
export interface CardView {
  readonly approval: string
  /** The turn's short id, as in the log. */
  readonly turn: string
  readonly calls: readonly CardCall[]
  /** Whether *Always allow* is offered. */
  readonly always: boolean
  /** What differs from what was approved before; on a card that replaces another. */
  readonly changed?: string
  readonly state:
    | { readonly kind: 'open'; readonly expiresAt?: number }
    | { readonly kind: 'closed'; readonly outcome: CardOutcome; readonly by?: string; readonly note?: string }
}
