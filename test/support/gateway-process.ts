import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export interface ProcessOptions {
  /** Holds config, database and workspace; kept over restarts when it is given again. */
  readonly dir?: string
  readonly toml: string
  readonly env?: Readonly<Record<string, string>>
  /** The shipped entry instead of the one whose clock can be driven. */
  readonly shipped?: boolean
}

const ENTRY = resolve(import.meta.dirname, 'gateway-child.ts')
const SHIPPED = resolve(import.meta.dirname, '../../src/app/main.ts')
const READY_WITHIN = 20_000
/** Compiled code of earlier starts: they are many. */
const COMPILED = join(tmpdir(), 'gateway-compiled')

/** A gateway as its own process. */
export class GatewayProcess {
  readonly dir: string
  readonly child: ChildProcess
  /** Everything it wrote, a line each. */
  readonly output: string[] = []
  url = ''
  #asked = 0
  readonly #exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>

  private constructor(dir: string, options: ProcessOptions) {
    this.dir = dir
    writeFileSync(join(dir, 'config.toml'), options.toml)
    const args = options.shipped ? ['--max-semi-space-size=2', SHIPPED, 'serve'] : [ENTRY]
    this.child = spawn(process.execPath, args, {
      cwd: dir,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: dir,
        TURNSTONE_LOG_LEVEL: 'debug',
        NODE_COMPILE_CACHE: COMPILED,
        ...options.env,
      },
      stdio: options.shipped ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const pipe of [this.child.stdout, this.child.stderr]) {
      pipe?.setEncoding('utf8').on('data', (text: string) => this.output.push(...text.split('\n').filter(Boolean)))
    }
    this.#exited = new Promise((done) => this.child.once('exit', (code, signal) => done({ code, signal })))
  }

  /** Resolves when it is ready; rejects with its output where it ends before that. */
  static async start(options: ProcessOptions): Promise<GatewayProcess> {
    const made = GatewayProcess.spawn(options)
    const ready = options.shipped ? made.#saysReady() : made.#sendsReady()
    const ended = made.#exited.then(() => Promise.reject(new Error(`it ended: ${made.output.join('\n')}`)))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not ready: ${made.output.join('\n')}`)), READY_WITHIN)
    })
    try {
      await Promise.race([ready, ended, late])
    } finally {
      clearTimeout(timer)
      ended.catch(() => undefined)
    }
    return made
  }

  /** Starts it without waiting. */
  static spawn(options: ProcessOptions): GatewayProcess {
    return new GatewayProcess(options.dir ?? newDir(), options)
  }

  /** Skips so much time. */
  jump(ms: number): void {
    // It may be on its way out.
    if (this.child.connected) this.child.send({ jump: ms }, () => undefined)
  }

  /** Asks the entry whose clock can be driven; its number. Rejects where the process ends instead. */
  ask(what: string, value?: number): Promise<number> {
    const id = this.#asked++
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.child.off('message', onAnswer)
        this.child.off('exit', gone)
      }
      const onAnswer = (message: { id?: number; answer?: number }): void => {
        if (message.id !== id) return
        over()
        resolve(message.answer ?? 0)
      }
      const gone = (): void => {
        over()
        reject(new Error('it ended'))
      }
      this.child.on('message', onAnswer)
      this.child.once('exit', gone)
      if (!this.child.connected) gone()
      else this.child.send({ ask: what, value, id }, (error) => error && gone())
    })
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** SIGKILL: as a crash. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#exited
  }

  /** SIGTERM; how it ended and how long it took, ms. */
  async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null; ms: number }> {
    const begun = Date.now()
    this.child.kill('SIGTERM')
    return { ...(await this.#exited), ms: Date.now() - begun }
  }

  async exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return this.#exited
  }

  async health(): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.url}/health`)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  #sendsReady(): Promise<void> {
    return new Promise((done) =>
      this.child.on('message', (message: { ready?: string }) => {
        if (message.ready === undefined) return
        this.url = message.ready
        done()
      }),
    )
  }

  async #saysReady(): Promise<void> {
    for (;;) {
      const line = this.output.find((l) => l.includes('"msg":"ready"'))
      if (line) {
        this.url = (JSON.parse(line) as { url: string }).url
        return
      }
      await new Promise((next) => setTimeout(next, 10))
    }
  }
}

/** Open to every user above, as tools need it. */
export function newDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-')))
  chmodSync(dir, 0o755)
  return dir
}
