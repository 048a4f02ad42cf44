import type { AddressInfo } from 'node:net'
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
  { host, port }: { host: string; port: number },
  routes: HttpRoutes,
  log: Log,
): Promise<HttpServer> {
  const app = new Hono()
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
