import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import { textOf } from '../../src/model/message.ts'
import { ArgumentChecker } from '../../src/tool/arguments.ts'
import type {
  CatalogTool,
  EarlierCalls,
  PlanScope,
  ReadyPlan,
  RunContext,
  ToolResult,
} from '../../src/tool/catalog-tool.ts'
import { limitedContent } from '../../src/tool/limit-result.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { systemClock } from '../../src/util/time.ts'
import type { FileLedger } from '../../src/workspace/file-ledger.ts'
import { prepareWorkspace } from '../../src/workspace/workspace.ts'
import { createTools, type ToolDeps } from '../../tools/index.ts'

/** What a call runs with where nobody watches and nobody answers. */
export function runContext(more: Partial<RunContext> = {}): RunContext {
  return {
    signal: new AbortController().signal,
    progress: () => undefined,
    ask: async () => ({ declined: 'nobody is there' }),
    resultLimit: 262_144,
    ...more,
  }
}

/** The real tools on a fresh folder, called as the pipeline calls them but without a policy. */
export function toolBench(settings: Partial<ToolDeps> = {}, vision = true) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tools-')))
  chmodSync(base, 0o755)
  const home = join(base, 'workspace')
  mkdirSync(home)
  const { root, runAs } = prepareWorkspace({ root: home, per_workstream: false })
  const known = new Map<string, string>()
  const files: FileLedger = {
    hashOf: async (path) => known.get(path),
    markRead: (path, hash) => void known.set(path, hash),
    unmark: (path) => void known.delete(path),
  }
  const earlier: EarlierCalls = { reads: () => false, knows: () => false, contentOf: async () => undefined }
  const scope: PlanScope = { workstream: 'w', author: 'alice', root, files, earlier, vision, mayRead: () => true }
  const all = createTools({
    clock: systemClock,
    locks: createLocalLocks(),
    timeoutMs: 20_000,
    runAs,
    ownPaths: [],
    env: process.env,
    passEnv: [],
    ownSecrets: [],
    redactor: createRedactor(),
    ...settings,
  })
  const checker = new ArgumentChecker()
  const toolOf = (name: string): CatalogTool => {
    const tool = all.find((t) => t.spec.name === name)
    if (!tool) throw new Error(`no tool ${name}`)
    return tool
  }
  const plan = async (name: string, args: Record<string, unknown>, s: PlanScope = scope) => {
    const checked = checker.check(toolOf(name), args)
    if (!checked.ok) return { kind: 'invalid' as const, header: name, error: checked.error }
    return toolOf(name).plan(checked.args, s)
  }
  const ready = async (name: string, args: Record<string, unknown>): Promise<ReadyPlan> => {
    const made = await plan(name, args)
    if (made.kind !== 'ready') throw new Error(made.error)
    return made
  }
  const result = async (
    name: string,
    args: Record<string, unknown>,
    signal = new AbortController().signal,
  ): Promise<ToolResult> => {
    return (await ready(name, args)).run(runContext({ signal }))
  }
  /** The text the model gets, or the error of the plan. */
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const made = await plan(name, args)
    if (made.kind === 'invalid') return made.error
    return textOf(limitedContent(await result(name, args), 262_144))
  }
  return { root, base, all, files, scope, runAs, plan, ready, result, call }
}
