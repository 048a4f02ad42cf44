import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import type { Clock } from './time.ts'

export interface ProcessRequest {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Run as this user and group; only where we are root. */
  readonly as?: { readonly uid: number; readonly gid: number }
  /** For a child that nobody was asked about: it can start no other. */
  readonly limits?: { readonly memoryBytes: number; readonly cpuSeconds: number }
  /** Called once it runs, with the number of its process group; must not throw. */
  readonly onStart?: (group: number) => void
  /** Called with decoded text as it comes; must not throw. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', text: string) => void
}

export interface ProcessResult {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly ended: 'exit' | 'timeout' | 'aborted'
}

/** After the process itself has ended, output still in the pipes is read for this long, ms: a background child may hold them open. */
const PIPE_GRACE_MS = 150
/** Between SIGTERM and SIGKILL to the whole group, ms. */
const KILL_GRACE_MS = 500

/**
 * Runs a program in a process group of its own and ends the whole group: at the timeout, when the signal aborts, and
 * after a normal exit, so that nothing it left behind runs on. Rejects only where it could not be started.
 */
export function runProcess(request: ProcessRequest, clock: Clock): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const { cwd, env, as, signal } = request
    if (signal.aborted) return resolve({ code: null, signal: null, ended: 'aborted' })
    const [command, args] = limited(request)
    const child = spawn(command, args, {
      cwd,
      env: { ...env },
      detached: true,
      // Not a pipe of Node's, which is a socket: bash takes that for a remote shell and reads .bashrc.
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(as ? { uid: as.uid, gid: as.gid } : {}),
    })
    if (child.pid !== undefined) request.onStart?.(child.pid)
    let ended: ProcessResult['ended'] = 'exit'
    const end = (why: 'timeout' | 'aborted'): void => {
      if (ended !== 'exit') return
      ended = why
      killGroup(child, clock)
    }
    const cancelTimeout = clock.after(request.timeoutMs, () => end('timeout'))
    const onAbort = (): void => end('aborted')
    signal.addEventListener('abort', onAbort, { once: true })
    const cleanUp = (): void => {
      cancelTimeout()
      signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      cleanUp()
      reject(error)
    })
    const drained = Promise.all([readPipe(child, 'stdout', request), readPipe(child, 'stderr', request)])
    child.once('exit', (code, died) => {
      cleanUp()
      signalGroup(child, 'SIGKILL')
      const done = (): void => {
        cancelGrace()
        child.stdout.destroy()
        child.stderr.destroy()
        resolve({ code, signal: died, ended })
      }
      // Real time on purpose: pipes drain by the kernel's clock.
      const timer = setTimeout(done, PIPE_GRACE_MS)
      const cancelGrace = (): void => clearTimeout(timer)
      void drained.then(done)
    })
  })
}

/** The shell sets the limits and becomes the program. Not prlimit: what is here wherever bash runs needs no package. */
function limited({ command, args, limits }: ProcessRequest): [string, string[]] {
  if (!limits) return [command, [...args]]
  const set = `ulimit -v ${Math.ceil(limits.memoryBytes / 1024)} -t ${limits.cpuSeconds} -c 0 -u 1 && exec "$@"`
  return ['bash', ['--noprofile', '--norc', '-c', set, 'bash', command, ...args]]
}

function readPipe(child: ChildProcess, name: 'stdout' | 'stderr', { onOutput }: ProcessRequest): Promise<void> {
  const pipe = child[name]
  const decoder = new StringDecoder('utf8')
  return new Promise((resolve) => {
    pipe?.on('data', (chunk: Buffer) => {
      onOutput?.(name, decoder.write(chunk))
      // One piece, then others have their turn: a program that prints without end would keep the event loop to itself.
      pipe.pause()
      setImmediate(() => pipe.resume())
    })
    pipe?.once('close', () => {
      const rest = decoder.end()
      if (rest) onOutput?.(name, rest)
      resolve()
    })
  })
}

function killGroup(child: ChildProcess, clock: Clock): void {
  signalGroup(child, 'SIGTERM')
  clock.after(KILL_GRACE_MS, () => signalGroup(child, 'SIGKILL'))
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group is gone.
  }
}
