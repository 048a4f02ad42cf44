export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mime: string; readonly base64: string }

export interface ToolCall {
  /** Never empty and unique within its step; the model-side is given one where the server sent none. */
  readonly id: string
  readonly name: string
  /** As the model wrote it; possibly not JSON. */
  readonly arguments: string
}

export type Message =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly content: readonly ContentPart[] }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly content: readonly ContentPart[] }

export interface Usage {
  readonly input: number
  /** Part of `input` that was read from a cache. */
  readonly cached: number
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
