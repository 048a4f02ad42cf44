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

type TextPart<Text extends string> = { readonly type: 'text'; readonly text: Text }

/** What a row holds. `append` takes images as they come; in rows that are read they are always references. */
export type JournalPart<Text extends string = string> =
  | Exclude<ContentPart, { type: 'text' }>
  | TextPart<Text>
  | ImageRef

type StoredCall<Text extends string> = Omit<ToolCall, 'name' | 'arguments'> & {
  readonly name: Text
  readonly arguments: Text
}

/**
 * What happened in a workstream, in order. Append-only: history, view and resume are all derived from it. `Text` is what
 * people, models and tools wrote: `append` takes redacted text alone.
 */
export type JournalEntry<Text extends string = string> =
  /** Messages the model gets now. */
  | { readonly kind: 'user'; readonly items: readonly UserItem<Text>[] }
  /** What people had said in the thread before; untrusted. */
  | { readonly kind: 'context'; readonly text: Text }
  /** One model call's whole answer; `cut`: the stream broke off for good and this is what was shown. */
  | {
      readonly kind: 'assistant'
      readonly text: Text
      readonly calls: readonly StoredCall<Text>[]
      readonly cut?: boolean
      readonly opaque?: Opaque
    }
  /** Written before a call runs: found without a result, its outcome is unknown. */
  | { readonly kind: 'started'; readonly callId: string; readonly tool: Text; readonly header: Text }
  | {
      readonly kind: 'result'
      readonly callId: string
      readonly tool: Text
      readonly header: Text
      readonly state: Exclude<ToolState, 'running'>
      readonly content: readonly JournalPart<Text>[]
      readonly isError: boolean
    }
  /** What a person wrote beside an approval; follows the results as a user message. */
  | { readonly kind: 'note'; readonly approval: string; readonly text: Text }
  | { readonly kind: 'card'; readonly approval: string }
  | { readonly kind: 'notice'; readonly text: Text; readonly tone: 'info' | 'error' }
  /** The provider refused an image: those before this row are sent as notes from now on. */
  | { readonly kind: 'images-refused' }
  /** `why`: of a failed turn, for people. `by`: who stopped it. */
  | {
      readonly kind: 'end'
      readonly state: 'done' | 'failed' | 'stopped'
      readonly why?: Text
      readonly by?: string
    }

export interface UserItem<Text extends string = string> {
  /** Inbox row. */
  readonly inbox: number
  /** Shown to the model where several people may speak. */
  readonly author: string
  readonly content: readonly JournalPart<Text>[]
}
