/** `denied`: by policy or because nobody could or did decide; `rejected`: by a person. */
export type ToolState = 'running' | 'done' | 'failed' | 'denied' | 'rejected' | 'interrupted' | 'stopped'

export type ViewItem =
  /** The model's Markdown of one model call; possibly empty, then nothing is shown. */
  | { readonly kind: 'text'; readonly text: string }
  /** One call, one line; `tail` holds the last lines of what a running tool prints. */
  | {
      readonly kind: 'tool'
      readonly callId: string
      readonly tool: string
      readonly header: string
      readonly state: ToolState
      readonly tail?: string
    }
  /** A line of the gateway, not of the model. */
  | { readonly kind: 'notice'; readonly text: string; readonly tone: 'info' | 'error' }

export type Phase = 'thinking' | 'writing' | 'tools' | 'waiting' | 'done' | 'failed' | 'stopped'

/**
 * One turn as a channel paints it. Each section begins a new message: approval cards stand between sections and are
 * messages of their own. A section without items is never posted.
 */
export interface TurnView {
  /** Short id, as in the log; what an error line names. */
  readonly turn: string
  readonly sections: readonly { readonly items: readonly ViewItem[] }[]
  readonly phase: Phase
}

/** Phases in which somebody is at work, so that typing or a status may be shown. */
export function isWorking(phase: Phase): boolean {
  return phase === 'thinking' || phase === 'writing' || phase === 'tools'
}
