import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ArgumentChecker } from '../../src/tool/arguments.ts'
import type { CatalogTool, PlanScope, ReadyPlan } from '../../src/tool/catalog-tool.ts'
import { limitedContent } from '../../src/tool/limit-result.ts'
import { runContext } from '../support/tool-bench.ts'

type Args = Readonly<Record<string, unknown>>

/** A tool in a world of its own, in which each of these calls can be made. */
export interface ToolUnderTest {
  readonly tool: CatalogTool
  readonly scope: PlanScope
  /** Two calls that do different things. */
  readonly valid: readonly [Args, Args]
  /** Calls that fit the schema and cannot be planned, by a word that the error must have. */
  readonly invalid: Readonly<Record<string, Args>>
  /** A call with the largest result there can be. */
  readonly large: Args
}

/** What every CatalogTool promises. `make` gives a fresh world each time. */
export function toolContract(make: () => Promise<ToolUnderTest>): void {
  const planOf = async ({ tool, scope }: ToolUnderTest, args: Args): Promise<ReadyPlan> => {
    const checked = new ArgumentChecker().check(tool, { ...args })
    if (!checked.ok) throw new Error(checked.error)
    const plan = await tool.plan(checked.args, scope)
    if (plan.kind === 'invalid') throw new Error(plan.error)
    return plan
  }

  it('is described for a model, with a schema that compiles', async () => {
    const { tool } = await make()
    expect(tool.spec.name).toMatch(/^[a-z][a-z_]{0,63}$/)
    expect(tool.spec.description).toMatch(/\.$/)
    expect(() => new ArgumentChecker().compile({ schema: tool.spec.parameters })).not.toThrow()
    const fields = Object.entries(tool.spec.parameters.properties ?? {})
    expect(fields.map(([name]) => name)).toContain(tool.primaryKey)
    for (const [name, field] of fields) expect((field as { description?: string }).description, name).toMatch(/\.$/)
  })

  it('plans without an effect on the disk', async () => {
    const t = await make()
    const before = treeOf(t.scope.root)
    for (const args of [...t.valid, t.large]) await planOf(t, args)
    for (const args of Object.values(t.invalid)) await t.tool.plan(args, t.scope)
    expect(treeOf(t.scope.root)).toEqual(before)
  })

  it('shows what will run and names itself in its exec act', async () => {
    const t = await make()
    for (const args of t.valid) {
      const plan = await planOf(t, args)
      expect(plan.header).toMatch(/^\S[^\n]*$/)
      expect(plan.payload.filename).toMatch(/^[\w-]+\.\w+$/)
      expect(plan.payload.text).not.toBe('')
      expect(plan.label).toMatch(/^[a-z][a-z_]*$/)
      const exec = plan.acts.filter((act) => act.act === 'exec')
      expect(exec).toEqual([{ act: 'exec', label: plan.label, name: t.tool.spec.name }])
    }
  })

  it('gives one call in one world the same fingerprint, and another call another', async () => {
    const t = await make()
    const [first, second] = t.valid
    const once = await planOf(t, first)
    expect(once.fingerprint).not.toBe('')
    expect(await planOf(t, first)).toMatchObject({ fingerprint: once.fingerprint, header: once.header })
    expect((await planOf(t, second)).fingerprint).not.toBe(once.fingerprint)
  })

  it('names the fault of a call that cannot be planned', async () => {
    const t = await make()
    expect(Object.keys(t.invalid)).not.toEqual([])
    for (const [word, args] of Object.entries(t.invalid)) {
      expect(new ArgumentChecker().check(t.tool, { ...args }).ok).toBe(true)
      const plan = await t.tool.plan(args, t.scope)
      if (plan.kind === 'ready') throw new Error(`planned although ${word}`)
      expect(plan.error).toContain(word)
      expect(plan.error).toMatch(/^Error: .*\.$/s)
      expect(plan.header).toMatch(/^\S[^\n]*$/)
    }
  })

  it('ends when it is run after an abort', async () => {
    const t = await make()
    const plan = await planOf(t, t.valid[0])
    const signal = AbortSignal.abort(new Error('stopped'))
    // The test's own time limit is the fault that this would show.
    const end = await plan.run(runContext({ signal })).then(
      () => 'ended',
      (error: unknown) => (error as Error).message,
    )
    expect(['ended', 'stopped']).toContain(end)
  })

  it('returns text within the limit', async () => {
    const t = await make()
    const limit = 4096
    const result = await (await planOf(t, t.large)).run(runContext({ resultLimit: limit }))
    const content = limitedContent(result, limit)
    const size = content.reduce((n, p) => n + (p.type === 'text' ? p.text.length : 0), 0)
    expect(size).toBeGreaterThan(0)
    expect(size).toBeLessThanOrEqual(limit + (result.trailer?.length ?? 0) + 1)
    expect(content.every((p) => p.type !== 'text' || p.text.isWellFormed())).toBe(true)
  })
}

/** Every file below, with what a change of it would change. */
function treeOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { mode, mtimeMs, ino } = lstatSync(join(folder, name))
      const content = lstatSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'base64') : ''
      return [name, mode, mtimeMs, ino, content].join(' ')
    })
}
