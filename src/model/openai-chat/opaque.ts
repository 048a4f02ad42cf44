import type { Message } from '../message.ts'

/** The model's reasoning: DeepSeek and others want it back with the calls that it led to. */
interface ReasoningBlock {
  readonly type: 'reasoning_content'
  readonly text: string
}

/** What belongs to one call, counted from 0: its id may be replaced in the history. */
interface ExtraContentBlock {
  readonly type: 'extra_content'
  readonly call: number
  readonly value: unknown
}

export function reasoningBlock(text: string): ReasoningBlock {
  return { type: 'reasoning_content', text }
}

export function extraContentBlock(call: number, value: unknown): ExtraContentBlock {
  return { type: 'extra_content', call, value }
}

/** The blocks of a message as fields to send; none where they come from another provider. */
export function opaqueFields(
  message: Extract<Message, { role: 'assistant' }>,
  provider: string,
): { readonly reasoning: string; extraContentOf(call: number): unknown } {
  const blocks = message.opaque?.provider === provider ? message.opaque.blocks : []
  // Written by this provider alone.
  const own = blocks as readonly (ReasoningBlock | ExtraContentBlock)[]
  return {
    reasoning: own.map((b) => (b.type === 'reasoning_content' ? b.text : '')).join(''),
    extraContentOf: (call) => {
      const block = own.find((b) => b.type === 'extra_content' && b.call === call)
      return block?.type === 'extra_content' ? block.value : undefined
    },
  }
}
