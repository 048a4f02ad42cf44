import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CatalogTool, ReadyPlan, RunContext, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { noteProcess } from '../src/util/left-processes.ts'
import type { Redactor } from '../src/util/redact.ts'
import { runProcess } from '../src/util/run-process.ts'
import type { Clock } from '../src/util/time.ts'
import { oneLine, plainTerminal } from '../src/util/visible.ts'
import type { RunAs } from '../src/workspace/workspace.ts'
import file from './bash.json' with { type: 'json' }
import { blockedBy } from './support/blocklist.ts'
import { OutputCollector } from './support/output-collector.ts'
import { invalid, NOT_VALID } from './support/plans.ts'
import { scrubEnv } from './support/scrub-env.ts'

interface Args {
  readonly command: string
  readonly timeout?: number
  readonly stop_on_error?: boolean
}

export interface BashDeps {
  readonly clock: Clock
  /** How long a script may run where the call names no timeout, ms. */
  readonly timeoutMs: number
  readonly runAs: RunAs | undefined
  /** The gateway's environment, from which the script's is taken. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Names that pass to the script besides the plain ones. */
  readonly passEnv: readonly string[]
  /** Values that never pass to it. */
  readonly ownSecrets: readonly string[]
  /** What it prints loses its secrets before it is cut. */
  readonly redactor: Redactor
}

/** A script in a process group of its own, as the workspace's user, with a scrubbed environment. */
export function createBashTool(deps: BashDeps): CatalogTool {
  return defineTool<Args>(file, async (args, scope) => {
    const command = args.command.replace(/\r\n/g, '\n')
    if (!command.trim()) return invalid(NOT_VALID, 'Error: command is empty.')
    const timeoutMs = args.timeout === undefined ? deps.timeoutMs : args.timeout * 1000
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
      timeLimitMs: timeoutMs,
      run: (context) => run({ command, timeoutMs, stopOnError, cwd: scope.root }, context, deps),
    } satisfies ReadyPlan
  })
}

function headerOf(command: string, { timeout, stop_on_error }: Args): string {
  const lines = command.trim().split('\n')
  const more = lines.length > 1 ? ` (${lines.length === 2 ? '1 more line' : `${lines.length - 1} more lines`})` : ''
  const options = [timeout === undefined ? '' : `timeout ${timeout} s`, stop_on_error ? 'stops on error' : '']
  const said = options.filter(Boolean).join(', ')
  return `${said ? `[${said}] ` : ''}${oneLine(lines[0] ?? '', 100)}${more}`
}

async function run(
  job: { command: string; timeoutMs: number; stopOnError: boolean; cwd: string },
  { signal, progress }: RunContext,
  { runAs, env, passEnv, ownSecrets, redactor, clock }: BashDeps,
): Promise<ToolResult> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-'))
  const note = noteProcess(folder)
  try {
    const script = join(folder, 'script.sh')
    await writeFile(script, job.command, { mode: 0o600 })
    if (runAs) for (const path of [folder, script]) await chown(path, runAs.uid, runAs.gid)
    const output = new OutputCollector()
    const pieces = { stdout: redactor.stream(), stderr: redactor.stream() }
    const result = await runProcess(
      {
        command: 'bash',
        args: ['-o', 'pipefail', ...(job.stopOnError ? ['-e'] : []), script],
        cwd: job.cwd,
        env: {
          ...scrubEnv(env, passEnv, ownSecrets),
          ...note.env,
          PWD: job.cwd,
          ...(runAs ? { HOME: job.cwd, USER: 'nobody' } : {}),
        },
        timeoutMs: job.timeoutMs,
        signal,
        ...(runAs ? { as: runAs } : {}),
        onStart: note.started,
        onOutput: (stream, text) => progress({ kind: 'output', text: output.add(stream, pieces[stream].push(text)) }),
      },
      clock,
    )
    signal.throwIfAborted()
    for (const stream of ['stdout', 'stderr'] as const) output.add(stream, pieces[stream].end())
    return toResult(plainTerminal(output.text()), result, job)
  } finally {
    note.remove()
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
    const trailer = `[timed out after ${timeoutMs / 1000} s and was stopped; how much of it took effect is unknown]`
    return { content, isError: true, trailer }
  }
  if (result.signal !== null) return { content, isError: true, trailer: `[killed by ${result.signal}]` }
  const code = result.code ?? 0
  // grep and test exit with 1 for "no": it means a failure only where the script stops on errors.
  const isError = code >= 2 || (stopOnError && code !== 0)
  return { content, isError, ...(code === 0 ? {} : { trailer: `[exit code: ${code}]` }) }
}
