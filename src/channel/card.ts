import type { CardCall, Outcome } from '../approval/approval.ts'

/** An approval as an adapter shows it, wholly from the approval's row. */
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
    | { readonly kind: 'closed'; readonly outcome: Outcome; readonly by?: string; readonly note?: string }
}
