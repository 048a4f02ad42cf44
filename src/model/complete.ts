import { MODEL_CUT_OFF, MODEL_STALLED, MODEL_TOO_LONG, MODEL_TOO_SLOW, MODEL_UNREACHABLE } from '../copy/model.ts'
import type { Redactor } from '../util/redact.ts'
import { type Clock, sleep } from '../util/time.ts'
import type { Opaque, ToolCall, Usage } from './message.ts'
import {
  type FinishReason,
  ModelError,
  type ModelErrorCode,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
} from './model-provider.ts'

/** Waits before the three retries, ms. */
const RETRY_WAITS_MS = [1000, 2000, 4000]
/** A server that wants us to wait longer counts as failed, ms. */
const MAX_WAIT_MS = 60_000
/** Without a token for this long a stream counts as stalled, ms. */
const STALL_MS = 120_000
/** A whole answer takes at most this long, ms: nobody in a chat waits longer. */
const MAX_ANSWER_MS = 600_000
/** Text, reasoning and calls of one answer: twice what the longest output limits (128,000 tokens) come to. */
const MAX_ANSWER_CHARS = 1_000_000

export interface Completion {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reason: FinishReason
  readonly opaque: Opaque | undefined
  /** Of all attempts, the failed ones too; undefined where the provider said nothing. */
  readonly usage: Usage | undefined
}

/** The last attempt failed, or another would not help. */
export class CompletionError extends Error {
  readonly code: ModelErrorCode
  /** What people have seen of the last attempt. */
  readonly shown: string
  /** Of all attempts. */
  readonly usage: Usage | undefined
  constructor(error: ModelError, seen: { readonly shown: string; readonly usage: Usage | undefined }) {
    super(error.message, { cause: error })
    this.name = 'CompletionError'
    this.code = error.code
    this.shown = seen.shown
    this.usage = seen.usage
  }
}

export interface CompleteDeps {
  readonly clock: Clock
  readonly redactor: Redactor
  /** Redacted text as it comes; must not throw. */
  readonly onText: (text: string) => void
  /** The text so far is void: another attempt starts. */
  readonly onReset: () => void
  /** What was used until the signal aborted, where the provider said so. */
  readonly onStopped?: (usage: Usage) => void
  readonly random?: () => number
}

/** One model call folded to its end, with retries. Rejects with CompletionError, or the signal's reason. */
export async function complete(
  provider: ModelProvider,
  request: ModelRequest,
  deps: CompleteDeps,
  signal: AbortSignal,
): Promise<Completion> {
  let earlier: Usage | undefined
  for (let tries = 0; ; tries++) {
    let shown = ''
    let used: Usage | undefined
    const onText = (text: string): void => {
      shown += text
      if (text) deps.onText(text)
    }
    try {
      const onUsage = (usage: Usage): void => {
        used = usage
      }
      const answer = await attempt(provider, request, { ...deps, onText, onUsage }, signal)
      return { ...answer, usage: sum(earlier, used) }
    } catch (error) {
      const spent = sum(earlier, used)
      if (signal.aborted && spent) deps.onStopped?.(spent)
      signal.throwIfAborted()
      const fault =
        error instanceof ModelError ? error : new ModelError('unavailable', MODEL_UNREACHABLE, { cause: error })
      earlier = spent
      const wait = waitBefore(tries, fault, deps.random ?? Math.random)
      if (wait === undefined) throw new CompletionError(fault, { shown, usage: earlier })
      if (shown) deps.onReset()
      await sleep(deps.clock, wait, signal)
    }
  }
}

function sum(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
  }
}

function waitBefore(tries: number, error: ModelError, random: () => number): number | undefined {
  const standard = RETRY_WAITS_MS[tries]
  if (!error.retryable || standard === undefined) return undefined
  if (error.retryAfterMs === undefined) return standard * (0.75 + random() / 2)
  return error.retryAfterMs > MAX_WAIT_MS ? undefined : Math.max(error.retryAfterMs, 0)
}

async function attempt(
  provider: ModelProvider,
  request: ModelRequest,
  { clock, redactor, onText, onUsage }: CompleteDeps & { readonly onUsage: (usage: Usage) => void },
  outer: AbortSignal,
): Promise<Omit<Completion, 'usage'>> {
  const limits = new AbortController()
  const signal = AbortSignal.any([outer, limits.signal])
  const answer = new Answer(redactor, onText)
  const tooSlow = new ModelError('too-long', MODEL_TOO_SLOW)
  const cancelLimit = clock.after(MAX_ANSWER_MS, () => limits.abort(tooSlow))
  const events = provider.stream(request, signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { value, done } = await nextInTime(events, clock, limits, signal)
      if (done) throw new ModelError('cut', MODEL_CUT_OFF)
      if (value.type === 'usage') onUsage(value.usage)
      else answer.add(value)
      if (answer.size > MAX_ANSWER_CHARS) throw new ModelError('too-long', MODEL_TOO_LONG)
      if (value.type === 'finish') return answer.finished(value.reason, provider.id)
    }
  } catch (error) {
    // What was held back for the redactor belongs to what was said.
    answer.end()
    throw error
  } finally {
    cancelLimit()
    limits.abort()
    void events.return?.(undefined).then(undefined, () => undefined)
  }
}

/** One attempt's answer as it grows, without secrets. */
class Answer {
  readonly #redactor: Redactor
  readonly #stream: ReturnType<Redactor['stream']>
  readonly #onText: (text: string) => void
  readonly #calls: ToolCall[] = []
  readonly #blocks: unknown[] = []
  #text = ''
  #streamedChars = 0
  #callChars = 0

  constructor(redactor: Redactor, onText: (text: string) => void) {
    this.#redactor = redactor
    this.#stream = redactor.stream()
    this.#onText = onText
  }

  /** Characters so far. Not all providers report the progress of calls: the whole ones count where they are more. */
  get size(): number {
    const whole = this.#calls.reduce((n, call) => n + call.arguments.length, 0)
    return this.#streamedChars + Math.max(this.#callChars, whole)
  }

  add(event: ModelEvent): void {
    if (event.type === 'text' || event.type === 'reasoning') this.#streamedChars += event.text.length
    if (event.type === 'text') this.#show(this.#stream.push(event.text))
    if (event.type === 'call-progress') this.#callChars += event.chars
    if (event.type === 'tool-call') this.#calls.push(withoutSecrets(event.call, this.#redactor))
    if (event.type === 'opaque') this.#blocks.push(event.block)
  }

  end(): void {
    this.#show(this.#stream.end())
  }

  finished(reason: FinishReason, provider: string): Omit<Completion, 'usage'> {
    this.end()
    // A signed block cannot be redacted: where one holds a secret, none is kept.
    const keep = this.#blocks.length > 0 && !this.#redactor.containsSecret(JSON.stringify(this.#blocks))
    const opaque = keep ? { provider, blocks: this.#blocks } : undefined
    return { text: this.#text, calls: this.#calls, reason, opaque }
  }

  #show(piece: string): void {
    this.#text += piece
    this.#onText(piece)
  }
}

/** Also those that escapes hide. The arguments then differ from what the model wrote; such a call is not run. */
function withoutSecrets(call: ToolCall, redactor: Redactor): ToolCall {
  const plain = { ...call, name: redactor.redact(call.name), arguments: redactor.redact(call.arguments) }
  if (!plain.arguments.includes('\\')) return plain
  try {
    let found = false
    const args = JSON.stringify(JSON.parse(plain.arguments), (_, value: unknown) => {
      if (typeof value !== 'string' || !redactor.containsSecret(value)) return value
      found = true
      return redactor.redact(value)
    })
    return found ? { ...plain, arguments: args } : plain
  } catch {
    return plain
  }
}

/** The next event, or the reason of a limit: the race does not rely on a provider that heeds the abort. */
async function nextInTime(
  events: AsyncIterator<ModelEvent>,
  clock: Clock,
  limits: AbortController,
  signal: AbortSignal,
): Promise<IteratorResult<ModelEvent>> {
  const cancel = clock.after(STALL_MS, () => limits.abort(new ModelError('stalled', MODEL_STALLED)))
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([events.next(), aborted])
  } finally {
    cancel()
    signal.removeEventListener('abort', onAbort)
  }
}
