import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError, apiError, notFound, unauthorized } from './errors.ts'
import { type FaultSpec, type Faults, tooMany } from './faults.ts'
import type { LoggedRequest, Upload } from './model.ts'
import type { RateLimits } from './rate-limits.ts'
import { type Answer, type Parts, ROUTES } from './routes.ts'
import type { SpecCheck } from './spec-check.ts'

const API = '/api/v10'
const JSON_TYPE = 'application/json'

interface Reply extends Answer {
  headers?: Record<string, string>
  bytes?: Uint8Array
}

/** The REST API under /api/v10 and the file host under /attachments, on one port of the loopback interface. */
export class HttpSide {
  readonly server: Server
  readonly #parts: Parts
  readonly #faults: Faults
  readonly #limits: RateLimits
  readonly #spec: SpecCheck
  /** What the simulator itself failed at: always a fault of its own, never of the client. */
  readonly crashes: unknown[] = []

  constructor(parts: Parts, faults: Faults, limits: RateLimits, spec: SpecCheck) {
    this.#parts = parts
    this.#faults = faults
    this.#limits = limits
    this.#spec = spec
    this.server = createServer((req, res) => {
      this.#serve(req, res).catch((e: unknown) => {
        if (!res.destroyed && !req.destroyed) this.crashes.push(e)
        res.destroy()
      })
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise<void>((done) => this.server.close(() => done()))
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://x')
    const isApi = url.pathname.startsWith(`${API}/`)
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const request: LoggedRequest = {
      method: req.method ?? 'GET',
      path: isApi ? url.pathname.slice(API.length) : url.pathname,
      query: url.searchParams,
      headers: Object.fromEntries(Object.entries(req.headers).map(([k, v]) => [k, String(v)])),
      body: undefined,
      uploads: [],
      time: this.#parts.core.clock.now(),
      status: 0,
    }
    const readable = await readBody(request, Buffer.concat(chunks))
    this.#parts.core.requests.push(request)
    const fault = this.#faults.take(request)
    const overridden = fault ? replyOf(fault) : undefined
    if (fault && !fault.afterWork && (await held(fault, res))) return
    let reply = fault && !fault.afterWork ? overridden : undefined
    reply ??= isApi ? this.#api(request, readable) : this.#file(url, request)
    if (fault?.afterWork) {
      if (await held(fault, res)) return
      reply = overridden ?? reply
    }
    if (isApi) this.#limits.note(reply.status, reply.headers ?? {})
    request.status = reply.status
    send(res, reply)
  }

  #api(request: LoggedRequest, readable: boolean): Reply {
    let headers: Record<string, string> = {}
    try {
      if (!readable) throw apiError(50109)
      this.#spec.request(request)
      const segments = request.path.split('/').map(decodeURIComponent)
      const path = segments.join('/')
      const route = ROUTES.find(
        (r) => r.method === request.method && r.pattern.test(request.path.replaceAll('%40', '@')),
      )
      const needsToken = !route?.open
      if (needsToken && request.headers.authorization !== `Bot ${this.#parts.core.settings.token}`) throw unauthorized()
      headers = this.#limits.take(
        request.method,
        path,
        path.startsWith('/interactions/') || path.startsWith('/webhooks/'),
      )
      if (!route) throw notFound()
      const raw = route.pattern.exec(request.path.replaceAll('%40', '@'))?.slice(1) ?? []
      return { ...route.run(this.#parts, raw.map(decodeURIComponent), request), headers }
    } catch (e) {
      if (e instanceof ApiError) return { status: e.status, body: e.body, headers: { ...headers, ...e.headers } }
      this.crashes.push(e)
      return { status: 500, body: { message: '500: Internal Server Error', code: 0 }, headers }
    }
  }

  /** Discord docs: Reference, Signed Attachment CDN URLs. */
  #file(url: URL, request: LoggedRequest): Reply {
    const file = this.#parts.core.files.get(url.pathname)
    const fresh = file && this.#parts.core.clock.now() <= file.expiresAt
    if (request.method !== 'GET' || !fresh)
      return {
        status: 404,
        bytes: Buffer.from('This content is no longer available.'),
        headers: { 'content-type': 'text/plain' },
      }
    return {
      status: 200,
      bytes: file.bytes,
      headers: { 'content-type': file.contentType ?? 'application/octet-stream' },
    }
  }
}

/** Fills in body and uploads; false where the body is not what its content type says. */
async function readBody(r: LoggedRequest, raw: Buffer): Promise<boolean> {
  if (raw.length === 0) return true
  const type = r.headers['content-type'] ?? ''
  try {
    if (type.startsWith('multipart/form-data')) {
      const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData()
      for (const [key, value] of form) {
        if (key === 'payload_json') r.body = JSON.parse(typeof value === 'string' ? value : await value.text())
        else if (typeof value !== 'string') r.uploads.push(await upload(key, value))
      }
      r.body ??= {}
    } else r.body = JSON.parse(raw.toString('utf8'))
    return true
  } catch {
    return false
  }
}

async function upload(key: string, file: File): Promise<Upload> {
  return {
    index: /^files\[(\d+)\]$/.exec(key)?.[1] ?? key,
    filename: file.name,
    contentType: file.type,
    bytes: new Uint8Array(await file.arrayBuffer()),
  }
}

function replyOf(f: FaultSpec): Reply | undefined {
  if (f.rateLimit) {
    const made = tooMany(f.rateLimit.retryAfter, f.rateLimit.global ? 'global' : (f.rateLimit.scope ?? 'user'))
    return { status: 429, body: made.body, headers: made.headers }
  }
  if (f.status === undefined) return undefined
  return {
    status: f.status,
    body: f.body ?? { message: `${f.status}`, code: 0 },
    ...(f.headers ? { headers: f.headers } : {}),
  }
}

/** Delays; true where the request gets no answer at all. */
async function held(f: FaultSpec, res: ServerResponse): Promise<boolean> {
  if (typeof f.delay === 'number') await new Promise((done) => setTimeout(done, f.delay as number).unref())
  else if (f.delay) await f.delay.catch?.(() => {})
  if (f.drop) res.destroy()
  return Boolean(f.drop || f.hang)
}

function send(res: ServerResponse, reply: Reply): void {
  if (res.destroyed) return
  const headers: Record<string, string> = { ...reply.headers }
  let bytes: Uint8Array | string | undefined = reply.bytes
  if (!bytes && reply.body !== undefined && reply.status !== 204) {
    bytes = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
    headers['content-type'] ??= typeof reply.body === 'string' ? 'text/html' : JSON_TYPE
  }
  res.writeHead(reply.status, headers)
  res.end(bytes)
}
