import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CatalogTool, ReadyPlan, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { runProcess } from '../src/util/run-process.ts'
import { oneLine, plainTerminal } from '../src/util/visible.ts'
import file from './bash.json' with { type: 'json' }
import { blockedBy } from './support/blocklist.ts'
import { OutputCollector } from './support/output-collector.ts'
import { invalid, NOT_VALID } from './support/plans.ts'
import { scrubEnv } from './support/scrub-env.ts'
import type { ToolSettings } from './support/settings.ts'

interface Args {
  readonly command: string
  readonly timeout?: number
  readonly stop_on_error?: boolean
}

/** A script in a process group of its own, as the workspace's user, with a scrubbed environment. */
export function createBashTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, async (args, scope) => {
    const command = args.command.replace(/\r\n/g, '\n')
    if (!command.trim()) return invalid(NOT_VALID, 'Error: command is empty')
    const timeoutMs = args.timeout === undefined ? settings.timeoutMs : args.timeout * 1000
    const stopOnError = args.stop_on_error === true
    const blocked = blockedBy(command)
    return {
      kind: 'ready',
      header: headerOf(command, args),
      payload: { filename: 'command.sh', text: command },
      needsApproval: true,
      label: 'bash',
      acts: [{ act: 'exec', label: 'bash', name: 'bash' }],
      ...(blocked === undefined ? {} : { blocked }),
      fingerprint: JSON.stringify([command, timeoutMs, stopOnError, scope.root]),
      run: (context) => run({ command, timeoutMs, stopOnError, cwd: scope.root }, context, settings),
    } satisfies ReadyPlan
  })
}

function headerOf(command: string, { timeout, stop_on_error }: Args): string {
  const lines = command.trim().split('\n')
  const more = lines.length > 1 ? ` (${lines.length - 1} more lines)` : ''
  const settings = [timeout === undefined ? '' : `timeout ${timeout} s`, stop_on_error ? 'stops on error' : '']
  const said = settings.filter(Boolean).join(', ')
  return `${said ? `[${said}] ` : ''}${oneLine(lines[0] ?? '', 100)}${more}`
}

async function run(
  job: { command: string; timeoutMs: number; stopOnError: boolean; cwd: string },
  { signal, onOutput }: RunContext,
  { runAs, env, passEnv, clock }: ToolSettings,
): Promise<ToolResult> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-'))
  try {
    const script = join(folder, 'script.sh')
    await writeFile(script, job.command, { mode: 0o600 })
    if (runAs) for (const path of [folder, script]) await chown(path, runAs.uid, runAs.gid)
    const output = new OutputCollector()
    const result = await runProcess(
      {
        command: 'bash',
        args: ['-o', 'pipefail', ...(job.stopOnError ? ['-e'] : []), script],
        cwd: job.cwd,
        env: { ...scrubEnv(env, passEnv), PWD: job.cwd, ...(runAs ? { HOME: job.cwd, USER: 'nobody' } : {}) },
        timeoutMs: job.timeoutMs,
        signal,
        ...(runAs ? { as: runAs } : {}),
        onOutput: (stream, text) => onOutput(output.add(stream, text)),
      },
      clock,
    )
    signal.throwIfAborted()
    return toResult(plainTerminal(output.text()), result, job)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toResult(
  text: string,
  result: Awaited<ReturnType<typeof runProcess>>,
  { timeoutMs, stopOnError }: { timeoutMs: number; stopOnError: boolean },
): ToolResult {
  const content = [{ type: 'text' as const, text: text || '(no output)' }]
  if (result.ended === 'timeout') {
    const trailer = `[timed out after ${timeoutMs / 1000} s and was ended; what it had done until then is unknown]`
    return { content, isError: true, trailer }
  }
  if (result.signal !== null) return { content, isError: true, trailer: `[ended by ${result.signal}]` }
  const code = result.code ?? 0
  // 1 is what grep and test answer for "no": only a script told to stop on errors means a failure by it.
  const isError = code >= 2 || (stopOnError && code !== 0)
  return { content, isError, ...(code === 0 ? {} : { trailer: `[exit code: ${code}]` }) }
}
