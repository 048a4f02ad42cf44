import { describe, expect, it } from 'vitest'
import type { CatalogTool, QuestionAnswer, ReadyPlan, RunContext } from '../../../src/tool/catalog-tool.ts'
import { defineTool } from '../../../src/tool/define-tool.ts'
import { runPlan, success } from '../../../src/tool/run-plan.ts'
import { createToolCatalog } from '../../../src/tool/tool-catalog.ts'
import { createLog } from '../../../src/util/log.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { ManualClock, settle } from '../../support/manual-clock.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { runContext } from '../../support/tool-bench.ts'

function catalogOf(list: () => readonly CatalogTool[]) {
  const lines: string[] = []
  const log = createLog('debug', createRedactor([]), (line) => lines.push(line))
  return { catalog: createToolCatalog(list, log), lines }
}

describe('the catalogue', () => {
  it('gives snapshots that later changes do not reach', () => {
    const tools = [probeTool('one')]
    const { catalog } = catalogOf(() => tools)
    const before = catalog.snapshot()
    tools.push(probeTool('two'))
    expect([...before.names]).toEqual(['one'])
    expect(before.get('two')).toBeUndefined()
    expect(catalog.snapshot().specs.map((s) => s.name)).toEqual(['one', 'two'])
  })

  it.each<[string, Record<string, unknown>]>([
    ['of no known type', { type: 'object', properties: { a: { type: 'nonsense' } } }],
    ['with a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/nowhere' } } }],
    ['that is not an object’s', { type: 'string' }],
  ])('sets a tool aside whose schema is one %s, and says so once', (_name, schema) => {
    const broken = { ...probeTool('broken'), schema, origin: 'elsewhere' }
    const { catalog, lines } = catalogOf(() => [broken, probeTool('fine')])
    expect([...catalog.snapshot().names]).toEqual(['fine'])
    expect([...catalog.snapshot().names]).toEqual(['fine'])
    expect(lines.filter((l) => l.includes('tool not offered'))).toHaveLength(1)
    expect(lines.join('')).toContain('"tool":"broken"')
  })

  it('offers the first of two tools with one name', () => {
    const [first, second] = [probeTool('same'), probeTool('same')]
    const { catalog, lines } = catalogOf(() => [first, second])
    expect(catalog.snapshot().get('same')).toBe(first)
    expect(catalog.snapshot().specs).toHaveLength(1)
    expect(lines.join('')).toContain('another tool has the same name')
  })

  it('sends the model no keyword of ours, but a property that is named like one', () => {
    const properties = { limit: { type: 'integer', minimum: 1, clamp: true }, clamp: { type: 'boolean' } }
    const file = { name: 'x', description: '', agent: false, task_agent: false, auto_approve: false, primary_key: 'x' }
    const tool = defineTool({ ...file, parameters: { type: 'object', properties } }, async () => {
      throw new Error('not planned here')
    })
    expect(tool.spec.parameters.properties).toEqual({
      limit: { type: 'integer', minimum: 1 },
      clamp: { type: 'boolean' },
    })
    const { catalog } = catalogOf(() => [tool])
    expect(catalog.snapshot().check(tool, { limit: 0, clamp: 'true' })).toEqual({
      ok: true,
      args: { limit: 1, clamp: true },
    })
  })
})

describe('a run’s time limit', () => {
  const planOf = (run: ReadyPlan['run'], timeLimitMs?: number): ReadyPlan => ({
    kind: 'ready',
    header: 'h',
    payload: { filename: 'f', text: 't' },
    needsApproval: false,
    label: 'l',
    acts: [],
    fingerprint: '',
    run,
    ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
  })
  const never = (): Promise<never> => new Promise(() => undefined)
  const start = (plan: ReadyPlan, more: Partial<RunContext> = {}) => {
    const clock = new ManualClock()
    const done = runPlan(plan, runContext(more), { clock, timeLimitMs: 1000 })
    let over = false
    void done.then(
      () => (over = true),
      () => (over = true),
    )
    return { clock, done, over: () => over }
  }

  it('ends a tool that heeds no signal, and its signal aborts', async () => {
    let signal: AbortSignal | undefined
    const r = start(
      planOf((context) => {
        signal = context.signal
        return never()
      }),
    )
    await r.clock.advance(999)
    expect(r.over()).toBe(false)
    await r.clock.advance(1)
    expect(await r.done).toMatchObject({
      isError: true,
      content: [
        {
          text: 'The tool was stopped: the time limit of 1 s was reached. How much of the call took effect is unknown.',
        },
      ],
    })
    expect(signal?.aborted).toBe(true)
  })

  it('leaves a tool with a limit of its own the time to report it', async () => {
    const r = start(planOf(never, 5000))
    await r.clock.advance(14_999)
    expect(r.over()).toBe(false)
    await r.clock.advance(1)
    expect((await r.done).isError).toBe(true)
  })

  it('stands still while a person is asked, also where two questions overlap', async () => {
    const answers: ((answer: QuestionAnswer) => void)[] = []
    const seen: QuestionAnswer[] = []
    const r = start(
      planOf(async ({ ask }) => {
        seen.push(...(await Promise.all([ask({ text: 'a?' }), ask({ text: 'b?' })])))
        return never()
      }),
      { ask: () => new Promise((resolve) => answers.push(resolve)) },
    )
    await r.clock.advance(60_000)
    answers[0]?.({ answered: 'yes' })
    await r.clock.advance(60_000)
    expect(r.over()).toBe(false)
    answers[1]?.({ declined: 'no' })
    await settle()
    expect(seen).toEqual([{ answered: 'yes' }, { declined: 'no' }])
    await r.clock.advance(999)
    expect(r.over()).toBe(false)
    await r.clock.advance(1)
    expect((await r.done).isError).toBe(true)
  })

  it('counts the time before a question', async () => {
    const clock = new ManualClock()
    let go = (): void => undefined
    const plan = planOf(async ({ ask }) => {
      await new Promise<void>((resolve) => {
        go = resolve
      })
      await ask({ text: '?' })
      return never()
    })
    const done = runPlan(plan, runContext(), { clock, timeLimitMs: 1000 })
    await clock.advance(600)
    go()
    await settle()
    await clock.advance(399)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect((await done).isError).toBe(true)
  })

  it('leaves no timer behind, and passes the turn’s own abort on', async () => {
    const fine = start(planOf(async () => success('ok')))
    expect(await fine.done).toEqual(success('ok'))
    expect(fine.clock.pending).toBe(0)
    const stop = new AbortController()
    const heeds: ReadyPlan['run'] = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    const stopped = start(planOf(heeds), { signal: stop.signal })
    stop.abort(new Error('stopped'))
    await expect(stopped.done).rejects.toThrow('stopped')
  })
})
