import type { ToolState } from '../channel/turn-view.ts'

/** What happens in a turn, for whoever shows it. The same events come from a running turn and from its journal. */
export type TurnEvent =
  | { readonly type: 'thinking' }
  /** A model call begins; the text after it replaces nothing before it. */
  | { readonly type: 'attempt' }
  | { readonly type: 'text'; readonly text: string }
  /** The attempt's text is void: it broke off and is tried again. */
  | { readonly type: 'text-reset' }
  | {
      readonly type: 'tool'
      readonly callId: string
      readonly tool: string
      readonly header: string
      readonly state: ToolState
    }
  /** The last lines of what a running tool prints. */
  | { readonly type: 'tool-tail'; readonly callId: string; readonly tail: string }
  /** A card comes here; what follows starts a new message. */
  | { readonly type: 'card' }
  | { readonly type: 'notice'; readonly text: string; readonly tone: 'info' | 'error' }
  | { readonly type: 'waiting' }
  | { readonly type: 'end'; readonly state: TurnEnd }

export type TurnEnd = 'done' | 'failed' | 'stopped'

/** The key of the signal that wakes a running turn at /stop; the turn's row is the truth. */
export const stopSignal = (turn: string): string => `stop:${turn}`
