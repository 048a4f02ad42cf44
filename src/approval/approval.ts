export type Outcome = 'approved' | 'always' | 'rejected' | 'stopped' | 'expired' | 'superseded' | 'unshowable'

/** One call as the approver sees it on a card. */
export interface CardCall {
  readonly tool: string
  /** One line: what it does to what. */
  readonly header: string
  /** Exactly what will run, as text; a card shows it whole or attaches it. */
  readonly payload: {
    readonly filename: string
    readonly text: string
    /** Of the UTF-8 bytes of `text`, hex. */
    readonly sha256: string
    readonly bytes: number
  }
  /** What *Always allow* adds; undefined where it adds nothing. */
  readonly label?: string
  /** Why it asks, where a rule or a path outside the workspace is the reason. */
  readonly because?: string
  readonly warning?: string
}

/** One call as it was shown; what runs later must match it. */
export interface ApprovalCall extends CardCall {
  readonly callId: string
  readonly fingerprint: string
}

/** One question to a person: all calls of one step that ask, decided together. Data only. */
export interface Approval {
  readonly id: string
  readonly workstream: string
  readonly turn: string
  readonly state: 'open' | Outcome
  readonly calls: readonly ApprovalCall[]
  readonly changed?: string
  /** Whether *Always allow* is offered. */
  readonly always: boolean
  readonly decidedBy?: string
  readonly note?: string
  readonly expiresAt?: number
  readonly createdAt: number
  /** Whether the card shows this state. */
  readonly cardUpToDate: boolean
}

export const allowed = (state: Approval['state']): boolean => state === 'approved' || state === 'always'
