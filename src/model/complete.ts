import type { Redactor } from '../util/redact.ts'
import { type Clock, sleep } from '../util/time.ts'
import type { ToolCall, Usage } from './message.ts'
import {
  type FinishReason,
  ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
} from './model-provider.ts'

/** Waits before the three further tries, ms. */
const RETRY_WAITS_MS = [1000, 2000, 4000]
/** A server that wants us to wait longer has failed, ms. */
const MAX_WAIT_MS = 60_000
/** Without a token for this long a stream counts as stalled, ms. */
const STALL_MS = 120_000

export interface Completion {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reason: FinishReason
  readonly usage: Usage | undefined
}

/** Out of tries, or not worth another. `shown` is what people have seen of the last attempt. */
export class CompletionError extends Error {
  readonly shown: string
  readonly error: ModelError
  constructor(error: ModelError, shown: string) {
    super(error.message, { cause: error })
    this.name = 'CompletionFailed'
    this.error = error
    this.shown = shown
  }
}

export interface CompleteDeps {
  readonly clock: Clock
  readonly redactor: Redactor
  /** Redacted text as it comes; must not throw. */
  readonly onText: (text: string) => void
  /** The text so far of this call is void, another attempt begins. */
  readonly onReset: () => void
  readonly random?: () => number
}

/** One model call folded to its end, with retries. Rejects with CompletionFailed, or the signal's reason. */
export async function complete(
  provider: ModelProvider,
  request: ModelRequest,
  deps: CompleteDeps,
  signal: AbortSignal,
): Promise<Completion> {
  for (let tries = 0; ; tries++) {
    let shown = ''
    const onText = (text: string): void => {
      shown += text
      if (text) deps.onText(text)
    }
    try {
      return await attempt(provider, request, { ...deps, onText }, signal)
    } catch (error) {
      signal.throwIfAborted()
      const fault =
        error instanceof ModelError
          ? error
          : new ModelError('unavailable', 'The model could not be reached.', { cause: error })
      const wait = waitBefore(tries, fault, deps.random ?? Math.random)
      if (wait === undefined) throw new CompletionError(fault, shown)
      if (shown) deps.onReset()
      await sleep(deps.clock, wait, signal)
    }
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
  { clock, redactor, onText }: CompleteDeps,
  outer: AbortSignal,
): Promise<Completion> {
  const stalled = new AbortController()
  const signal = AbortSignal.any([outer, stalled.signal])
  const stream = redactor.stream()
  const calls: ToolCall[] = []
  let text = ''
  const show = (piece: string): void => {
    text += piece
    onText(piece)
  }
  const events = provider.stream(request, signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { value, done } = await nextInTime(events, clock, stalled, signal)
      if (done) throw new ModelError('cut', 'The model’s answer broke off.')
      if (value.type === 'text') show(stream.push(value.text))
      if (value.type === 'tool-call') calls.push(withoutSecrets(value.call, redactor))
      if (value.type !== 'finish') continue
      show(stream.end())
      return { text, calls, reason: value.reason, usage: value.usage }
    }
  } catch (error) {
    // What was held back for the redactor belongs to what was said.
    show(stream.end())
    throw error
  } finally {
    stalled.abort()
    void events.return?.(undefined).then(undefined, () => undefined)
  }
}

/** Also those that escapes hide: what stands in the arguments then is no longer what the model wrote, and is not run. */
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

/** The next event, or a stall: the race does not rely on the provider's heeding the abort. */
async function nextInTime(
  events: AsyncIterator<ModelEvent>,
  clock: Clock,
  stalled: AbortController,
  signal: AbortSignal,
): Promise<IteratorResult<ModelEvent>> {
  const error = new ModelError('stalled', 'The model stopped answering for two minutes.')
  let cancel = (): void => undefined
  let onAbort = (): void => undefined
  const silence = new Promise<never>((_, reject) => {
    cancel = clock.after(STALL_MS, () => {
      reject(error)
      stalled.abort(error)
    })
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([events.next(), silence])
  } finally {
    cancel()
    signal.removeEventListener('abort', onAbort)
  }
}
