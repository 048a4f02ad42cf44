import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, type AnswerContext, type HttpErrorSpec, streamEvents, wholeBody } from './answer.ts'
import { checkRequest } from './check.ts'
import { Gate } from './gate.ts'
import { isRecord, type Violation } from './violation.ts'

/** A request to /chat/completions as it came. */
export interface ModelRequest {
  n: number
  at: number
  method: string
  path: string
  headers: Record<string, string>
  raw: string
  body: Record<string, unknown>
  model: string
  messages: Record<string, unknown>[]
  /** Names of the function tools. */
  tools: string[]
  stream: boolean
  /** HTTP status answered; undefined while it waits. */
  status?: number
  violations: Violation[]
  /** The client went away before the answer's end. */
  aborted: boolean
  /** The answer was written to its intended end. */
  finished: boolean
}

export type Step = Answer | string | ((request: ModelRequest) => Answer | string | Promise<Answer | string>)

export interface ModelSimOptions {
  key?: string
  models?: string[]
  contextTokens?: number
  /** 0: any free port. */
  port?: number
}

/** An answer of plain text. */
export function text(content: string, more: Omit<Answer, 'text'> = {}): Answer {
  return { ...more, text: content }
}

export class ModelSim {
  /** Every request, of any path. */
  readonly requests: ModelRequest[] = []
  /** What correct clients never send; requests refused for the length of the context are not among them. */
  readonly violations: (Violation & { request: number })[] = []
  key: string
  models: string[]
  contextTokens: number
  readonly #server: Server
  readonly #gates = new Set<Gate>()
  readonly #arrivals = new Set<() => void>()
  #steps: Step[] = []
  #always: Step | undefined

  private constructor(options: ModelSimOptions) {
    this.key = options.key ?? 'sk-sim'
    this.models = options.models ?? ['sim-model', 'sim-small', 'gpt-5.4', 'gpt-5.6-terra', 'gpt-4o-mini']
    this.contextTokens = options.contextTokens ?? 1_000_000
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: ModelSimOptions = {}): Promise<ModelSim> {
    const sim = new ModelSim(options)
    await new Promise<void>((resolve) => sim.#server.listen(options.port ?? 0, '127.0.0.1', resolve))
    return sim
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async stop(): Promise<void> {
    for (const gate of this.#gates) gate.release()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** A function answers every request; a list answers one request each and is used up. */
  script(script: Step | Step[]): void {
    if (Array.isArray(script)) {
      this.#steps = [...script]
      this.#always = undefined
    } else {
      this.#steps = []
      this.#always = script
    }
  }

  /** Adds steps behind those that are left; they go before a function. */
  add(...steps: Step[]): void {
    this.#steps.push(...steps)
  }

  /** Steps not used yet. */
  get left(): number {
    return this.#steps.length
  }

  gate(): Gate {
    const gate = new Gate()
    this.#gates.add(gate)
    return gate
  }

  /** The completion requests alone, in order. */
  get completions(): ModelRequest[] {
    return this.requests.filter((request) => request.path.endsWith('/chat/completions'))
  }

  /** Resolves with the n-th (from 1) completion request as soon as it has come. */
  async request(n: number): Promise<ModelRequest> {
    for (;;) {
      const found = this.completions[n - 1]
      if (found) return found
      await new Promise<void>((resolve) => this.#arrivals.add(resolve))
    }
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const bytes = Buffer.concat(parts)
    const request = this.#record(incoming, bytes)
    response.on('close', () => {
      request.aborted = !request.finished && !response.writableEnded
    })
    const refused = this.#refusal(request, bytes, incoming)
    if (refused) return refuse(request, response, refused)
    if (request.path.endsWith('/models')) return this.#list(request, response)
    const answer = await this.#next(request)
    const context: AnswerContext = {
      id: `chatcmpl-sim${String(request.n).padStart(6, '0')}`,
      model: request.model,
      created: Math.floor(Date.now() / 1000),
      includeUsage: isRecord(request.body.stream_options) && request.body.stream_options.include_usage === true,
    }
    await respond(request, response, answer, context)
  }

  #record(incoming: IncomingMessage, bytes: Buffer): ModelRequest {
    const raw = bytes.toString('utf8')
    const body = parse(raw) ?? {}
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([key, value]) => [key, String(value)]))
    const tools = Array.isArray(body.tools) ? body.tools : []
    const request: ModelRequest = {
      n: this.requests.length + 1,
      at: Date.now(),
      method: incoming.method ?? 'GET',
      path: new URL(incoming.url ?? '/', 'http://sim').pathname,
      headers,
      raw,
      body,
      model: String(body.model ?? ''),
      messages: Array.isArray(body.messages) ? body.messages.filter(isRecord) : [],
      tools: tools.flatMap((tool) => (isRecord(tool) && isRecord(tool.function) ? [String(tool.function.name)] : [])),
      stream: body.stream === true,
      violations: [],
      aborted: false,
      finished: false,
    }
    this.requests.push(request)
    for (const tell of this.#arrivals) tell()
    this.#arrivals.clear()
    return request
  }

  #refusal(request: ModelRequest, bytes: Buffer, incoming: IncomingMessage): HttpErrorSpec | undefined {
    const found = this.#check(request, bytes, incoming)
    request.violations.push(...found)
    this.violations.push(...found.filter((v) => !v.expected).map((v) => ({ ...v, request: request.n })))
    const first = found[0]
    if (!first) return undefined
    return { status: first.status ?? 400, message: first.message, code: first.code ?? null, param: first.param ?? null }
  }

  #check(request: ModelRequest, bytes: Buffer, incoming: IncomingMessage): Violation[] {
    const given = incoming.headers.authorization?.match(/^Bearer (.+)$/)?.[1]
    if (!given) return [{ status: 401, message: "You didn't provide an API key." }]
    if (given !== this.key)
      return [{ status: 401, message: `Incorrect API key provided: ${given}.`, code: 'invalid_api_key' }]
    if (request.path === '/v1/models' && request.method === 'GET') return []
    if (request.path !== '/v1/chat/completions')
      return [{ status: 404, message: `Invalid URL (${request.method} ${request.path})`, code: 'unknown_url' }]
    if (request.method !== 'POST') return [{ status: 405, message: 'Method not allowed.' }]
    if (!incoming.headers['content-type']?.startsWith('application/json'))
      return [{ message: 'Unsupported content type: use application/json.' }]
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      return [{ message: 'The request body is not valid UTF-8.' }]
    }
    const body = parse(request.raw)
    if (!body) return [{ message: 'We could not parse the JSON body of your request.' }]
    return checkRequest(body, request.raw.length, this)
  }

  #list(request: ModelRequest, response: ServerResponse): void {
    const data = this.models.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'sim' }))
    sendJson(request, response, 200, { object: 'list', data })
  }

  async #next(request: ModelRequest): Promise<Answer> {
    const step = this.#steps.shift() ?? this.#always
    if (step === undefined) {
      this.violations.push({ message: 'a request came that the script has no step for', request: request.n })
      return { http: { status: 400, message: 'The script has no step left.', code: 'script_exhausted' } }
    }
    const answer = typeof step === 'function' ? await step(request) : step
    return typeof answer === 'string' ? { text: answer } : answer
  }
}

function parse(raw: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(raw)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function sendJson(request: ModelRequest, response: ServerResponse, status: number, body: unknown): void {
  request.status = status
  request.finished = true
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': `req_sim${request.n}` })
  response.end(JSON.stringify(body))
}

const TYPES: Record<number, string> = {
  401: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
}

function refuse(request: ModelRequest, response: ServerResponse, error: HttpErrorSpec): void {
  request.status = error.status
  request.finished = true
  const type = error.type ?? TYPES[error.status] ?? 'invalid_request_error'
  const made = {
    error: {
      message: error.message ?? 'Simulated failure.',
      type,
      param: error.param ?? null,
      code: error.code ?? null,
    },
    ...(error.retryAfterInBody === undefined ? {} : { retry_after: error.retryAfterInBody }),
  }
  const html = error.body?.trimStart().startsWith('<')
  response.writeHead(error.status, {
    'content-type': html ? 'text/html' : 'application/json',
    'x-request-id': `req_sim${request.n}`,
    ...error.headers,
  })
  response.end(error.body ?? JSON.stringify(made))
}

async function respond(
  request: ModelRequest,
  response: ServerResponse,
  answer: Answer,
  context: AnswerContext,
): Promise<void> {
  for (const hold of answer.holds ?? []) if (hold.at === 'headers') await hold.gate.pass()
  if (response.destroyed) return
  if (answer.http) return refuse(request, response, answer.http)
  if (answer.html !== undefined) {
    request.status = 200
    request.finished = true
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(answer.html)
    return
  }
  if (request.stream) await stream(request, response, answer, context)
  else sendJson(request, response, 200, wholeBody(answer, context))
}

async function stream(
  request: ModelRequest,
  response: ServerResponse,
  answer: Answer,
  context: AnswerContext,
): Promise<void> {
  request.status = 200
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  response.socket?.setNoDelay(true)
  const events = streamEvents(answer, context)
  for (let i = 0; i <= events.length; i++) {
    for (const hold of answer.holds ?? []) if (hold.at === i) await hold.gate.pass()
    if (response.destroyed) return
    if (answer.streamError?.after === i) {
      const { message, code, type } = answer.streamError
      const error = { message, type: type ?? 'server_error', param: null, code: code ?? null }
      await write(response, JSON.stringify({ error }), answer.bytewise)
      break
    }
    if (answer.cut && i === Math.min(answer.cut.after, events.length)) return cut(request, response, answer.cut.how)
    const event = events[i]
    if (event === undefined) break
    await write(response, event, answer.bytewise)
    if (answer.delayMs) await wait(answer.delayMs)
  }
  if (!answer.streamError) await write(response, '[DONE]', answer.bytewise)
  request.finished = true
  response.end()
}

function cut(request: ModelRequest, response: ServerResponse, how: 'destroy' | 'end' | 'done'): void {
  request.finished = true
  if (how === 'destroy') {
    // What was written goes out before the reset.
    setImmediate(() => response.socket?.destroy())
    return
  }
  if (how === 'done') response.write('data: [DONE]\n\n')
  response.end()
}

async function write(response: ServerResponse, data: string, bytewise: boolean | undefined): Promise<void> {
  const bytes = Buffer.from(`data: ${data}\n\n`)
  if (!bytewise) {
    response.write(bytes)
    return
  }
  for (const byte of bytes) {
    response.write(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
