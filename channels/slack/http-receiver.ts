import { createHmac, timingSafeEqual } from 'node:crypto'
import type { App, Receiver } from '@slack/bolt'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { readBody } from '../../src/util/read-body.ts'
import type { Clock } from '../../src/util/time.ts'
import { isJson, type Json } from './json.ts'
import { LIMITS } from './limits.ts'

/** Whether Slack signed this body within the last five minutes (or, of a clock ahead, the next). */
export function isSigned(request: {
  readonly signingSecret: string
  /** As the header has it: decimal seconds since the epoch. */
  readonly requestTimestampSec: string
  readonly body: string | Uint8Array
  readonly signature: string
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}): boolean {
  const { signingSecret, requestTimestampSec, body, signature, nowMs } = request
  if (!/^\d{1,12}$/.test(requestTimestampSec)) return false
  if (Math.abs(nowMs / 1000 - Number(requestTimestampSec)) > LIMITS.signatureAgeSec) return false
  const sum = createHmac('sha256', signingSecret).update(`v0:${requestTimestampSec}:`).update(body).digest('hex')
  const given = Buffer.from(signature)
  const wanted = Buffer.from(`v0=${sum}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** Bolt's receiver over requests that the gateway's own HTTP server hands in. */
export class HttpReceiver implements Receiver {
  readonly #secret: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #open = new Set<Promise<unknown>>()
  #app: App | undefined
  #on = false

  constructor(parts: { signingSecret: string; clock: Clock; log: Log }) {
    this.#secret = parts.signingSecret
    this.#clock = parts.clock
    this.#log = parts.log
  }

  init(app: App): void {
    this.#app = app
  }

  async start(): Promise<void> {
    this.#on = true
  }

  /** Resolves when no handler runs any more, after 3 s at the latest. */
  async stop(): Promise<void> {
    this.#on = false
    await Promise.race([
      Promise.allSettled(this.#open),
      new Promise<void>((done) => void this.#clock.after(3000, done)),
    ])
  }

  /** Never rejects. 401 for what Slack did not sign, 413 over 1 MB, 500 for an event that could not be stored. */
  readonly handle = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return plain(405)
    const body = await readBody(request, LIMITS.bodyBytes, 'the request is too large').catch(() => undefined)
    if (body === undefined) return plain(413)
    const header = (name: string): string => request.headers.get(name) ?? ''
    const at = header('x-slack-request-timestamp')
    if (
      !this.#secret ||
      !isSigned({
        signingSecret: this.#secret,
        requestTimestampSec: at,
        body,
        signature: header('x-slack-signature'),
        nowMs: this.#clock.now(),
      })
    )
      return plain(401)
    const payload = parseBody(body.toString('utf8'), header('content-type'))
    if (!payload) return plain(400)
    if (payload.ssl_check) return plain(200)
    if (payload.type === 'url_verification') return json({ challenge: String(payload.challenge ?? '') })
    const app = this.#app
    if (!app || !this.#on) return plain(503)
    const isEvent = payload.type === 'event_callback' || payload.type === 'app_rate_limited'
    const retry = { num: Number(header('x-slack-retry-num')) || 0, reason: header('x-slack-retry-reason') }
    const work = isEvent ? this.#event(app, payload, retry) : this.#act(app, payload)
    this.#open.add(work)
    void work.finally(() => this.#open.delete(work))
    return work
  }

  async #event(app: App, body: Json, retry: { num: number; reason: string }): Promise<Response> {
    if (!isJson(body.event)) {
      this.#log.warn({ type: body.type }, LOG.slackHoldsBack)
      return plain(200)
    }
    try {
      await app.processEvent({ body, ack: async () => {}, retryNum: retry.num, retryReason: retry.reason })
      return plain(200)
    } catch (error) {
      this.#log.warn({ reason: messageOf(error) }, LOG.slackEventNotStored)
      return plain(500)
    }
  }

  /** Answers as soon as the press, command or modal is acknowledged; the work goes on. */
  #act(app: App, body: Json): Promise<Response> {
    return new Promise((resolve) => {
      const ack = async (answer?: unknown): Promise<void> =>
        resolve(isJson(answer) ? json(answer) : typeof answer === 'string' ? json({ text: answer }) : plain(200))
      const work = app.processEvent({ body, ack }).then(
        () => resolve(plain(200)),
        (error: unknown) => {
          this.#log.warn({ reason: messageOf(error) }, LOG.slackInteractionFailed)
          resolve(plain(200))
        },
      )
      this.#open.add(work)
      void work.finally(() => this.#open.delete(work))
    })
  }
}

function plain(status: number): Response {
  return new Response('', { status, headers: { 'content-type': 'text/plain' } })
}

function json(body: Json): Response {
  return new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
}

function parseBody(body: string, type: string): Json | undefined {
  try {
    const form = type.startsWith('application/x-www-form-urlencoded')
    const fields = form ? Object.fromEntries(new URLSearchParams(body)) : undefined
    const value: unknown = fields
      ? fields.payload === undefined
        ? fields
        : JSON.parse(fields.payload)
      : JSON.parse(body)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}
