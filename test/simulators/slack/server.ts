import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sleep } from '../../../src/util/time.ts'
import type { ApiCall, Core } from './core.ts'
import type { Fault } from './faults.ts'
import { METHODS } from './methods/index.ts'
import { Args, type Method, SlackError } from './methods/method.ts'
import { useResponseUrl } from './response-url.ts'
import { isJson, type Json, type SlackFile, type TokenInfo } from './world.ts'

interface Reply {
  status: number
  headers?: Record<string, string>
  body: string | Buffer
}

const LOGIN_PAGE =
  '<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body><form id="signin"></form></body></html>'

function json(body: Json, status = 200, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  }
}

function html(): Reply {
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: LOGIN_PAGE }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** Arguments from the query, a form, JSON or a multipart body. */
async function readArgs(request: IncomingMessage, body: Buffer): Promise<Json> {
  const query = Object.fromEntries(new URL(request.url ?? '/', 'http://sim').searchParams)
  const type = request.headers['content-type'] ?? ''
  if (type.startsWith('application/json')) {
    const value: unknown = JSON.parse(body.toString('utf8') || '{}')
    return isJson(value) ? { ...query, ...value } : query
  }
  if (type.startsWith('multipart/form-data')) {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const out: Json = { ...query }
    for (const [key, value] of form)
      out[key] = typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer())
    return out
  }
  return { ...query, ...Object.fromEntries(new URLSearchParams(body.toString('utf8'))) }
}

/** The HTTP server of the simulated Slack: Web API, uploads, downloads, response URLs and the socket's upgrade. */
export class SlackServer {
  readonly #core: Core
  readonly #server: Server

  constructor(core: Core) {
    this.#core = core
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    this.#server.on('upgrade', (request, socket, head) => core.sockets.upgrade(request, socket, head))
  }

  async start(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    this.#core.host = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://sim').pathname
    const body = await readBody(request)
    const [, first, second, third] = path.split('/')
    if (first === 'api') return this.#api(second ?? '', request, response, body)
    if (first === 'upload')
      return this.#faulty('files.upload', { id: third ?? '' }, response, () => this.#upload(third ?? '', request, body))
    if (first === 'files-pri')
      return this.#faulty('files.download', { path }, response, async () => this.#download(path, request))
    if (first === 'actions') {
      const args = await readArgs(request, body).catch(() => ({}))
      return this.#faulty('response_url', args, response, async () => useResponseUrl(this.#core, third ?? '', args))
    }
    if (first === 'login') return send(response, html())
    send(response, { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Not found</html>' })
  }

  async #api(method: string, request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    let args: Json = {}
    let broken = false
    try {
      args = await readArgs(request, body)
    } catch {
      broken = true
    }
    const bearer = request.headers.authorization?.match(/^Bearer (.+)$/)?.[1]
    const token = bearer ?? (typeof args.token === 'string' ? args.token : undefined)
    const known = token === undefined ? undefined : this.#core.world.tokens.get(token)
    delete args.token
    const call: ApiCall = {
      at: this.#core.clock.now(),
      method,
      args,
      token: known?.kind ?? (token === undefined ? 'none' : 'unknown'),
      status: 0,
      ok: false,
      response: {},
    }
    this.#core.calls.push(call)
    const work = async (): Promise<Reply> =>
      broken ? json({ ok: false, error: 'invalid_json' }) : this.#run(method, new Args(args), token, known)
    await this.#faulty(method, args, response, work, call)
  }

  #run(method: string, args: Args, token: string | undefined, known: TokenInfo | undefined): Reply {
    const found = METHODS[method]
    if (!found) return json({ ok: false, error: 'unknown_method', req_method: method })
    try {
      this.#authorize(found, args, token, known)
      const channel = args.text('channel')
      const wait = this.#core.limits.take(method, found.tier, channel)
      if (wait !== undefined) return limited(wait)
      return json({ ok: true, ...found.run(this.#core, args) }, 200, {
        'x-oauth-scopes': [...(known?.scopes ?? [])].join(','),
      })
    } catch (error) {
      if (error instanceof SlackError) return json({ ok: false, error: error.code, ...error.extra })
      return json({ ok: false, error: 'internal_error', detail: String(error) }, 500)
    }
  }

  #authorize(method: Method, args: Args, token: string | undefined, known: TokenInfo | undefined): void {
    if (token === undefined) throw new SlackError('not_authed')
    if (!known) throw new SlackError('invalid_auth')
    if (known.revoked) throw new SlackError('token_revoked')
    if (known.kind !== (method.token ?? 'bot')) throw new SlackError('not_allowed_token_type')
    const needed = typeof method.scope === 'function' ? method.scope(this.#core, args) : method.scope
    if (needed && !known.scopes.has(needed))
      throw new SlackError('missing_scope', { needed, provided: [...known.scopes].join(',') })
  }

  /** Does the work with whatever fault the test has set for it. */
  async #faulty(
    name: string,
    args: Json,
    response: ServerResponse,
    work: () => Promise<Reply>,
    call?: ApiCall,
  ): Promise<void> {
    const fault = this.#core.faults.take(name, args)
    if (fault?.until) await fault.until
    if (fault?.delayBeforeMs) await sleep(this.#core.clock, fault.delayBeforeMs)
    if (fault?.dropBefore) return void response.socket?.destroy()
    if (fault?.hang) return
    const reply = (fault && instead(fault)) || (await work())
    note(call, reply)
    if (fault?.delayAfterMs) await sleep(this.#core.clock, fault.delayAfterMs)
    if (fault?.hangAfter) return
    if (fault?.dropAfter) return void response.socket?.destroy()
    send(response, reply)
  }

  async #upload(id: string, request: IncomingMessage, body: Buffer): Promise<Reply> {
    const file = this.#core.world.files.get(id)
    if (!file?.pending) return { status: 404, body: 'not found' }
    const multipart = (request.headers['content-type'] ?? '').startsWith('multipart/form-data')
    const bytes = multipart ? Object.values(await readArgs(request, body)).find(Buffer.isBuffer) : body
    if (!bytes || bytes.length !== file.expected) return { status: 400, body: 'size mismatch' }
    file.bytes = bytes
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: `OK - ${bytes.length}` }
  }

  #download(path: string, request: IncomingMessage): Reply {
    const id = path.split('/')[2]?.split('-')[1] ?? ''
    const file: SlackFile | undefined = this.#core.world.files.get(id)
    const token = this.#core.world.tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
    if (!file) return { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>File not found</html>' }
    if (!token || token.revoked || token.kind !== 'bot')
      return {
        status: 302,
        headers: { location: `${this.#core.host}/login?redir=${encodeURIComponent(path)}` },
        body: '',
      }
    if (!token.scopes.has('files:read')) return html()
    return {
      status: 200,
      headers: { 'content-type': file.mimetype, 'content-length': String(file.bytes.length) },
      body: file.bytes,
    }
  }
}

function limited(seconds: number): Reply {
  return json({ ok: false, error: 'ratelimited' }, 429, { 'retry-after': String(seconds) })
}

function instead(fault: Fault): Reply | undefined {
  if (fault.retryAfter !== undefined) return limited(fault.retryAfter)
  if (fault.html) return html()
  if (fault.error !== undefined) return json({ ok: false, error: fault.error, ...fault.extra })
  if (fault.status === undefined) return undefined
  const type = fault.body?.startsWith('{') ? 'application/json' : 'text/html'
  return { status: fault.status, headers: { 'content-type': type, ...fault.headers }, body: fault.body ?? '' }
}

function note(call: ApiCall | undefined, reply: Reply): void {
  if (!call) return
  call.status = reply.status
  if (typeof reply.body !== 'string' || !reply.body.startsWith('{')) return
  call.response = JSON.parse(reply.body) as Json
  call.ok = call.response.ok === true
  if (typeof call.response.error === 'string') call.error = call.response.error
}

function send(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, reply.headers)
  response.end(reply.body)
}
