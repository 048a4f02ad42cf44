import type { Message, ToolCall, ToolSpec, Usage } from './message.ts'

export interface ModelRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  /** The model must answer without calls. The tools are sent all the same: a history with calls needs them. */
  readonly toolChoice?: 'none'
  /** Stable for a workstream; providers may use it to keep a prompt cache warm. */
  readonly workstream: string
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter'

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** Part of a call has come, this many characters: a sign of life. */
  | { readonly type: 'call-progress'; readonly chars: number }
  /** Whole: fragments never leave the provider. */
  | { readonly type: 'tool-call'; readonly call: ToolCall }
  /** For `Opaque.blocks`. */
  | { readonly type: 'opaque'; readonly block: unknown }
  /** What this attempt has used so far, as soon as it is known; the last one counts, also where the attempt fails. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** Exactly once, last; a stream that ends otherwise throws ModelError 'cut'. */
  | { readonly type: 'finish'; readonly reason: FinishReason }

export interface ModelProvider {
  /** Names the API, the server and the model, the same after a restart; no secret. */
  readonly id: string
  readonly capabilities: { readonly vision: boolean }
  /** Tokens; bounds history and tool results. */
  readonly contextWindow: number
  /** One attempt, never retried inside. Throws ModelError, or the signal's reason. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}

export type ModelErrorCode =
  | 'auth'
  | 'quota'
  | 'rate-limit'
  | 'context'
  | 'image'
  | 'bad-request'
  | 'not-found'
  | 'unavailable'
  | 'stalled'
  | 'cut'
  | 'too-long'

const RETRYABLE: ReadonlySet<ModelErrorCode> = new Set(['rate-limit', 'unavailable', 'stalled', 'cut'])

/** A failed model call. `message` tells a person what to do, in plain words; it holds no key and no body. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  readonly retryable: boolean
  /** How long the server asked us to wait, ms. */
  readonly retryAfterMs: number | undefined

  constructor(code: ModelErrorCode, message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = RETRYABLE.has(code)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** What a provider is made with: a [models.*] block with its defaults filled in. */
export interface ModelSettings {
  readonly model: string
  /** "" = the provider's own. */
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly contextWindow: number
  /** 0 = not sent. */
  readonly maxTokens: number
  /** "" = not sent. */
  readonly reasoningEffort: string
  readonly vision: boolean
}
