import type { ToolState } from '../channel/turn-view.ts'
import type { ContentPart, Opaque, ToolCall } from '../model/message.ts'

/** An image of a row: its bytes are kept once, beside the journal. */
export interface ImageRef {
  readonly type: 'image-ref'
  readonly mime: string
  /** Of its bytes, hex: the key of the blob. */
  readonly sha256: string
  readonly bytes: number
}

/** What a row holds. `append` takes images as they come; in rows that are read they are always references. */
export type JournalPart = ContentPart | ImageRef

/** What happened in a workstream, in order. Append-only: history, view and resume are all derived from it. */
export type JournalEntry =
  /** Messages the model gets now. */
  | { readonly kind: 'user'; readonly items: readonly UserItem[] }
  /** What people had said in the thread before; untrusted. */
  | { readonly kind: 'context'; readonly text: string }
  /** One model call's whole answer; `cut`: the stream broke off for good and this is what was shown. */
  | {
      readonly kind: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      readonly cut?: boolean
      readonly opaque?: Opaque
    }
  /** Written before a call runs: found without a result, its outcome is unknown. */
  | { readonly kind: 'started'; readonly callId: string; readonly tool: string; readonly header: string }
  | {
      readonly kind: 'result'
      readonly callId: string
      readonly tool: string
      readonly header: string
      readonly state: Exclude<ToolState, 'running'>
      readonly content: readonly JournalPart[]
      readonly isError: boolean
    }
  /** What a person wrote beside an approval; follows the results as a user message. */
  | { readonly kind: 'note'; readonly approval: string; readonly text: string }
  | { readonly kind: 'card'; readonly approval: string }
  | { readonly kind: 'notice'; readonly text: string; readonly tone: 'info' | 'error' }
  /** The provider refused an image: those before this row are sent as notes from now on. */
  | { readonly kind: 'images-refused' }
  /** `why`: of a failed turn, for people. `by`: who stopped it. */
  | {
      readonly kind: 'end'
      readonly state: 'done' | 'failed' | 'stopped'
      readonly why?: string
      readonly by?: string
    }

export interface UserItem {
  /** Inbox row. */
  readonly inbox: number
  /** Shown to the model where several people may speak. */
  readonly author: string
  readonly content: readonly JournalPart[]
}
