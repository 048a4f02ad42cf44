import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/model/model-provider.ts'

export type ScriptStep =
  | string
  | { text?: string; calls?: { name: string; args: unknown; id?: string }[] }
  | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>)

/** A provider that answers from a list; asked more often it says so. */
export class ScriptedModel implements ModelProvider {
  readonly id = 'scripted'
  readonly capabilities = { vision: true }
  readonly contextWindow = 32_000
  readonly requests: ModelRequest[] = []
  readonly steps: ScriptStep[]

  constructor(...steps: ScriptStep[]) {
    this.steps = steps
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    this.requests.push(request)
    const step = this.steps.shift() ?? 'the script is used up'
    if (typeof step === 'function') return yield* step(request, signal)
    const { text, calls = [] } = typeof step === 'string' ? { text: step } : step
    signal.throwIfAborted()
    if (text) yield { type: 'text', text }
    for (const [i, call] of calls.entries()) {
      const args = typeof call.args === 'string' ? call.args : JSON.stringify(call.args)
      yield {
        type: 'tool-call',
        call: { id: call.id ?? `c${this.requests.length}_${i}`, name: call.name, arguments: args },
      }
    }
    signal.throwIfAborted()
    yield { type: 'usage', usage: { input: 10, cacheRead: 2, cacheWrite: 0, output: 5 } }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool-calls' : 'stop' }
  }
}
