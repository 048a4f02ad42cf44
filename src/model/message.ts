export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mime: string; readonly base64: string }

export interface ToolCall {
  /** Never empty and unique within its step; made up where the server sent none. */
  readonly id: string
  readonly name: string
  /** As the model wrote it; possibly not JSON. */
  readonly arguments: string
}

/** What only one provider understands and wants back: signed thinking, encrypted reasoning, tokens of a search. */
export interface Opaque {
  /** `ModelProvider.id` of its origin: nobody else is sent it. */
  readonly provider: string
  /** In the order in which they came. JSON; never changed, since some are signed. */
  readonly blocks: readonly unknown[]
}

export type Message =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly content: readonly ContentPart[] }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** Of this turn's answers alone. */
      readonly opaque?: Opaque
    }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly content: readonly ContentPart[] }

/** Tokens. */
export interface Usage {
  /** All of the input, both cache figures included. */
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The text of a message's content, its parts a paragraph each, images left out. */
export function textOf(content: readonly ContentPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
}
