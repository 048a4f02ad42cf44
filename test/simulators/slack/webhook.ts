import { createHmac } from 'node:crypto'
import type { Clock } from '../../../src/util/time.ts'
import type { Attempt, Delivery, Settle, Transport } from './delivery.ts'
import type { Json } from './world.ts'

export interface WebhookOptions {
  /** Request URL of events; the other two default to it. */
  url: string
  interactivityUrl?: string
  commandUrl?: string
}

export interface PostOptions {
  badSignature?: boolean
  /** Added to the timestamp header, in seconds. */
  timestampShift?: number
  headers?: Record<string, string>
}

/** HTTP mode: signed POSTs to the app's request URLs. */
export class Webhook implements Transport {
  /** Applied to every POST that follows. */
  options: PostOptions = {}
  readonly #urls: WebhookOptions
  readonly #secret: string
  readonly #clock: Clock

  constructor(urls: WebhookOptions, secret: string, clock: Clock) {
    this.#urls = urls
    this.#secret = secret
    this.#clock = clock
  }

  gone(): boolean {
    return false
  }

  send(delivery: Delivery, attempt: Attempt, settle: Settle): string {
    const retry: Record<string, string> =
      attempt.n > 0 ? { 'x-slack-retry-num': String(attempt.n), 'x-slack-retry-reason': attempt.reason } : {}
    void this.#deliver(delivery, retry, settle)
    return 'http'
  }

  async #deliver(delivery: Delivery, retry: Record<string, string>, settle: Settle): Promise<void> {
    try {
      const answer = await this.#postKind(delivery, retry)
      const text = await answer.text()
      if (answer.ok) settle('acked', { payload: parse(text), status: answer.status })
      else settle('http_error', { status: answer.status, noRetry: answer.headers.get('x-slack-no-retry') === '1' })
    } catch {
      settle('connection_failed')
    }
  }

  #postKind(delivery: Delivery, retry: Record<string, string>): Promise<Response> {
    const { url, interactivityUrl, commandUrl } = this.#urls
    if (delivery.kind === 'events_api')
      return this.post(url, JSON.stringify(delivery.payload), 'application/json', retry)
    const form = new URLSearchParams()
    if (delivery.kind === 'interactive') form.set('payload', JSON.stringify(delivery.payload))
    else for (const [key, value] of Object.entries(delivery.payload)) form.set(key, String(value))
    const to = delivery.kind === 'interactive' ? interactivityUrl : commandUrl
    return this.post(to ?? url, form.toString(), 'application/x-www-form-urlencoded', {})
  }

  /** A signed POST of any body. */
  post(url: string, body: string, type: string, headers: Record<string, string> = {}): Promise<Response> {
    const at = Math.floor(this.#clock.now() / 1000) + (this.options.timestampShift ?? 0)
    const sum = createHmac('sha256', this.#secret).update(`v0:${at}:${body}`).digest('hex')
    return fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': type,
        'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
        'x-slack-request-timestamp': String(at),
        'x-slack-signature': `v0=${this.options.badSignature ? sum.replace(/^./, (c) => (c === '0' ? '1' : '0')) : sum}`,
        ...headers,
        ...this.options.headers,
      },
      body,
    })
  }

  /** The check Slack makes when a request URL is entered: the challenge must come back. */
  async verify(): Promise<boolean> {
    const challenge = crypto.randomUUID()
    const body: Json = { token: 'verification', challenge, type: 'url_verification' }
    const answer = await this.post(this.#urls.url, JSON.stringify(body), 'application/json')
    const text = await answer.text()
    const json = parse(text)
    return answer.ok && (text === challenge || (json as Json | undefined)?.challenge === challenge)
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
