export type Outcome = 'approved' | 'always' | 'rejected' | 'stopped' | 'expired' | 'superseded' | 'unshowable'

/** One call as it was shown; what runs later must match it. */
export interface ApprovalCall {
  readonly callId: string
  readonly tool: string
  readonly header: string
  readonly payload: {
    readonly filename: string
    readonly text: string
    readonly sha256: string
    readonly bytes: number
  }
  /** What *Always allow* adds; undefined where it adds nothing. */
  readonly label?: string
  readonly because?: string
  readonly warning?: string
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
