import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { messageOf, TurnstoneError } from '../../util/errors.ts'
import type { Log } from '../../util/log.ts'
import type { Health } from './health.ts'

/** Slack's events are small; larger is not from Slack, bytes. */
const MAX_SLACK_BODY_BYTES = 1024 * 1024

const FRONT_PAGE =
  'turnstone gateway is running. GET /health reports channel status; GET /metrics serves Prometheus metrics. ' +
  'The web channel and the console are not in this version: talk to it in Discord or Slack.\n'

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

/** Listens before anything else is ready, so that /health can say what is being waited for. Throws 'port-taken'. */
export async function startHttpServer(
  { host, port }: { host: string; port: number },
  routes: HttpRoutes,
  log: Log,
): Promise<HttpServer> {
  const app = new Hono()
  app.get('/', (c) => c.text(FRONT_PAGE))
  app.get('/health', async (c) => {
    const { ready, ...body } = await routes.health()
    return c.json(body, ready ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await routes.metrics(), 200, { 'content-type': 'text/plain; version=0.0.4' }))
  const tooLarge = bodyLimit({
    maxSize: MAX_SLACK_BODY_BYTES,
    onError: (c) => c.json({ error: 'the body is too large' }, 413),
  })
  app.post('/slack/events', tooLarge, async (c) => {
    const handle = routes.slack()
    return handle ? handle(c.req.raw) : c.json({ error: 'Slack is not in http mode here' }, 404)
  })
  app.notFound((c) => c.json({ error: 'there is nothing at this address' }, 404))
  app.onError((error, c) => {
    log.error({ err: error, path: c.req.path }, 'a request failed')
    return c.json({ error: 'something went wrong here; the log says what' }, 500)
  })
  return listen(app, host, port)
}

function listen(app: Hono, host: string, port: number): Promise<HttpServer> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname: host, port })
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'the port is taken' : messageOf(error)
      reject(
        new TurnstoneError(
          'port-taken',
          `cannot listen on ${host}:${port}: ${why}; set http.port in config.toml, or TURNSTONE_CHANNEL_PORT`,
          {
            cause: error,
          },
        ),
      )
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
