import { type AddressInfo, isIP, isIPv6 } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { LISTEN } from '../../copy/config.ts'
import { HTTP } from '../../copy/health.ts'
import { LOG } from '../../copy/log.ts'
import { messageOf, TurnstoneError } from '../../util/errors.ts'
import type { Log } from '../../util/log.ts'
import type { Health } from './health.ts'

/** Slack's events are small; anything larger is not from Slack, bytes. */
const MAX_SLACK_BODY_BYTES = 1024 * 1024

export interface HttpRoutes {
  readonly health: () => Promise<Health>
  readonly metrics: () => Promise<string>
  /** Undefined unless Slack is in http mode. */
  readonly slack: () => ((request: Request) => Promise<Response>) | undefined
}

export interface HttpServer {
  readonly url: string
  close(): Promise<void>
}

/** Listens before anything else is ready, so that /health can report the start. Throws 'port-taken'. */
export async function startHttpServer(
  { host, port, publicUrl }: { host: string; port: number; publicUrl: string },
  routes: HttpRoutes,
  log: Log,
): Promise<HttpServer> {
  const app = new Hono()
  // A page in somebody's browser can make its own name lead here.
  app.use(async (c, next) => {
    if (isOurHost(c.req.header('host'), { host, publicUrl })) return next()
    return c.json({ error: HTTP.foreignHost }, 403)
  })
  app.get('/', (c) => c.text(HTTP.front))
  app.get('/health', async (c) => {
    const { ready, ...body } = await routes.health()
    return c.json(body, ready ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await routes.metrics(), 200, { 'content-type': 'text/plain; version=0.0.4' }))
  const tooLarge = bodyLimit({
    maxSize: MAX_SLACK_BODY_BYTES,
    onError: (c) => c.json({ error: HTTP.tooLarge }, 413),
  })
  app.post('/slack/events', tooLarge, async (c) => {
    const handle = routes.slack()
    return handle ? handle(c.req.raw) : c.json({ error: HTTP.slackNotHttp }, 404)
  })
  app.notFound((c) => c.json({ error: HTTP.notFound }, 404))
  app.onError((error, c) => {
    log.error({ err: error, path: c.req.path }, LOG.requestFailed)
    return c.json({ error: HTTP.failed }, 500)
  })
  return listen(app, host, port)
}

/**
 * Whether a Host header names this gateway: loopback, `http.host` or the host of `http.public_url`. Where it listens on all
 * addresses, each of them does: no name can be made to look like an address.
 */
function isOurHost(header: string | undefined, { host, publicUrl }: { host: string; publicUrl: string }): boolean {
  const named = header === undefined ? undefined : hostname(`http://${header}`)
  if (named === undefined) return false
  const ours = [hostname(`http://${isIPv6(host) ? `[${host}]` : host}`), hostname(publicUrl)]
  if (named === 'localhost' || named.endsWith('.localhost') || ours.includes(named)) return true
  const address = named.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return false
  return /^(?:127\.|::1$)/.test(address) || host === '0.0.0.0' || host === '::'
}

function hostname(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined
}

function listenFault(host: string, port: number, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return LISTEN.portTaken(host, port)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return LISTEN.foreignHost(host)
    case 'EACCES':
      return LISTEN.privileged(host, port)
    default:
      return LISTEN.failed(host, port, messageOf(error))
  }
}

function listen(app: Hono, host: string, port: number): Promise<HttpServer> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: host, port })
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new TurnstoneError('port-taken', listenFault(host, port, error), { cause: error }))
    })
    server.once('listening', () => {
      const { port: actual } = server.address() as AddressInfo
      const shown = host.includes(':') ? `[${host}]` : host
      resolve({
        url: `http://${shown}:${actual}`,
        close: () =>
          new Promise((done) => {
            server.close(() => done())
            if ('closeAllConnections' in server) server.closeAllConnections()
          }),
      })
    })
  })
}
