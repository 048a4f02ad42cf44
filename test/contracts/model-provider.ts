import { expect, it } from 'vitest'
import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from '../../src/model/model-provider.ts'

/** Each prepares the provider for one request and gives that request. */
export interface ModelProviderUnderTest {
  readonly provider: ModelProvider
  /** Answered by text alone. */
  text(): ModelRequest
  /** Answered by at least one call. */
  calls(): ModelRequest
  /** Answered by at least one event, after which the rest comes no sooner than the abort. */
  slow(): ModelRequest
  /** Those that fail. */
  readonly faults: Readonly<Record<string, () => ModelRequest>>
  /** What must never be shown. */
  readonly key: string | undefined
}

/** What every ModelProvider promises. */
export function modelProviderContract(make: () => Promise<ModelProviderUnderTest>): void {
  const read = async (provider: ModelProvider, request: ModelRequest): Promise<readonly ModelEvent[]> => {
    const seen: ModelEvent[] = []
    for await (const event of provider.stream(request, new AbortController().signal)) seen.push(event)
    return seen
  }

  it('has an id without a secret, and a window', async () => {
    const { provider, key } = await make()
    expect(provider.id).not.toBe('')
    if (key !== undefined) expect(provider.id).not.toContain(key)
    expect((await make()).provider.id).toBe(provider.id)
    expect(provider.contextWindow).toBeGreaterThan(0)
  })

  it('streams text and ends with exactly one finish', async () => {
    const t = await make()
    const seen = await read(t.provider, t.text())
    expect(
      seen
        .map((e) => (e.type === 'text' ? e.text : ''))
        .join('')
        .trim(),
    ).not.toBe('')
    expect(seen.filter((e) => e.type === 'finish')).toEqual([{ type: 'finish', reason: 'stop' }])
    expect(seen.at(-1)?.type).toBe('finish')
    expect(seen.some((e) => e.type === 'tool-call')).toBe(false)
  })

  it('gives whole calls with ids of their own', async () => {
    const t = await make()
    const seen = await read(t.provider, t.calls())
    const calls = seen.flatMap((e) => (e.type === 'tool-call' ? [e.call] : []))
    expect(calls.length).toBeGreaterThan(0)
    for (const call of calls) expect([call.id, call.name]).not.toContain('')
    for (const call of calls) expect(JSON.parse(call.arguments)).toBeTypeOf('object')
    expect(new Set(calls.map((c) => c.id)).size).toBe(calls.length)
    expect(seen.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' })
  })

  it('reports usage that adds up', async () => {
    const t = await make()
    const usage = (await read(t.provider, t.text())).flatMap((e) => (e.type === 'usage' ? [e.usage] : [])).at(-1)
    expect(usage).toBeDefined()
    expect(Math.min(...Object.values(usage ?? { none: -1 }))).toBeGreaterThanOrEqual(0)
    expect((usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0)).toBeLessThanOrEqual(usage?.input ?? 0)
  })

  it('rejects with the reason of a signal that has aborted before', async () => {
    const t = await make()
    const events = t.provider.stream(t.text(), AbortSignal.abort(new Error('stopped')))[Symbol.asyncIterator]()
    await expect(events.next()).rejects.toThrow('stopped')
  })

  it('rejects with the reason of a signal that aborts in between, and never finishes then', async () => {
    const t = await make()
    const stop = new AbortController()
    const seen: ModelEvent[] = []
    const reading = (async () => {
      for await (const event of t.provider.stream(t.slow(), stop.signal)) {
        seen.push(event)
        stop.abort(new Error('stopped'))
      }
    })()
    await expect(reading).rejects.toThrow('stopped')
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.some((e) => e.type === 'finish')).toBe(false)
  })

  it('fails with a ModelError in plain words, without the key and without a finish', async () => {
    const { faults } = await make()
    for (const name of Object.keys(faults)) {
      const t = await make()
      const seen: ModelEvent[] = []
      const failing = (async () => {
        const request = t.faults[name]?.() ?? t.text()
        for await (const event of t.provider.stream(request, new AbortController().signal)) seen.push(event)
      })()
      const error = await failing.then(
        () => undefined,
        (e: unknown) => e,
      )
      expect(error, name).toBeInstanceOf(ModelError)
      expect((error as ModelError).message, name).toMatch(/^[A-Zh][^\n]+\.$/)
      if (t.key !== undefined) expect((error as ModelError).message, name).not.toContain(t.key)
      expect(seen.filter((e) => e.type === 'finish' || e.type === 'tool-call')).toEqual([])
    }
  })
}
