import type { Clock } from '../../../src/util/time.ts'
import type { RuleValues } from './rules.ts'
import type { Json, World } from './world.ts'

export type DeliveryKind = 'events_api' | 'interactive' | 'slash_commands'
export type Outcome = 'acked' | 'timeout' | 'http_error' | 'connection_failed'

export interface Attempt {
  n: number
  reason: string
  at: number
  via: string
  envelopeId: string
  outcome?: Outcome
  settledAt?: number
  /** HTTP status, in HTTP mode. */
  status?: number
  /** An ack that came when the attempt was already given up. */
  lateAck?: boolean
}

/** One thing Slack tells the app, with every attempt to do so. */
export interface Delivery {
  kind: DeliveryKind
  /** Event or interaction type, or the command. */
  type: string
  payload: Json
  eventId?: string
  acceptsResponse: boolean
  attempts: Attempt[]
  state: 'waiting' | 'acked' | 'failed'
  /** What came with the ack. */
  ack?: unknown
  ackMs?: number
  /** Shown to the person: "operation_timed_out" or "dispatch_failed". */
  error?: string
  done: Promise<Delivery>
}

/** Tells how an attempt ended. */
export type Settle = (outcome: Outcome, more?: { payload?: unknown; status?: number; noRetry?: boolean }) => void

export interface Transport {
  /** The name of the connection used, or undefined where there is none. */
  send(delivery: Delivery, attempt: Attempt, settle: Settle): string | undefined
  /** Whether the connection of that name has ended. */
  gone(via: string): boolean
}

interface Inner extends Delivery {
  finish(): void
  cancel?: () => void
}

export class Deliveries {
  readonly all: Delivery[] = []
  transport: Transport | undefined
  readonly #clock: Clock
  readonly #rules: RuleValues
  readonly #world: World
  readonly #open = new Set<Inner>()

  constructor(world: World, clock: Clock, rules: RuleValues) {
    this.#world = world
    this.#clock = clock
    this.#rules = rules
  }

  send(given: {
    kind: DeliveryKind
    type: string
    payload: Json
    eventId?: string
    acceptsResponse?: boolean
  }): Delivery {
    let finish: () => void = () => {}
    const done = new Promise<void>((resolve) => {
      finish = resolve
    })
    const delivery: Inner = {
      ...given,
      acceptsResponse: given.acceptsResponse ?? false,
      attempts: [],
      state: 'waiting',
      done: done.then(() => delivery),
      finish,
    }
    this.all.push(delivery)
    this.#open.add(delivery)
    this.#attempt(delivery, 0, '')
    return delivery
  }

  /** Sends an event once more, as after an ack that Slack did not see. */
  redeliver(delivery: Delivery, reason = 'timeout'): void {
    this.#attempt(delivery as Inner, (delivery.attempts.at(-1)?.n ?? 0) + 1, reason)
  }

  /** A new connection is there: what has no ack and waits for none goes out at once. */
  flush(): void {
    for (const delivery of [...this.#open]) {
      const last = delivery.attempts.at(-1)
      if (last && last.outcome === undefined && !this.transport?.gone(last.via)) continue
      if (last && last.outcome === undefined) {
        last.outcome = 'connection_failed'
        last.settledAt = this.#clock.now()
      }
      const n = (last?.n ?? 0) + 1
      if (n <= 3) this.#attempt(delivery, n, last ? 'timeout' : 'connection_failed')
    }
  }

  stop(): void {
    for (const delivery of this.#open) delivery.cancel?.()
    this.#open.clear()
  }

  #attempt(delivery: Inner, n: number, reason: string): void {
    delivery.cancel?.()
    const attempt: Attempt = { n, reason, at: this.#clock.now(), via: '', envelopeId: this.#world.id('env-') }
    const settle: Settle = (outcome, more) => this.#settle(delivery, attempt, outcome, more ?? {})
    const via = this.transport?.send(delivery, attempt, settle)
    if (via === undefined) {
      this.#unsent(delivery)
      return
    }
    attempt.via = via
    delivery.attempts.push(attempt)
    if (attempt.outcome === undefined) delivery.cancel = this.#clock.after(this.#rules.ackMs, () => settle('timeout'))
  }

  /** No connection: an event waits for one, a person is told at once. */
  #unsent(delivery: Inner): void {
    if (delivery.kind !== 'events_api') {
      this.#fail(delivery, 'dispatch_failed')
      return
    }
    delivery.cancel = this.#clock.after(this.#rules.keepUnsentMs, () => this.#fail(delivery, 'dispatch_failed'))
  }

  #settle(
    delivery: Inner,
    attempt: Attempt,
    outcome: Outcome,
    more: { payload?: unknown; status?: number; noRetry?: boolean },
  ): void {
    if (attempt.outcome !== undefined) {
      if (outcome === 'acked') attempt.lateAck = true
      return
    }
    attempt.outcome = outcome
    attempt.settledAt = this.#clock.now()
    if (more.status !== undefined) attempt.status = more.status
    if (delivery.state === 'acked') return
    if (outcome !== 'acked') {
      this.#again(delivery, attempt, outcome, more.noRetry === true)
      return
    }
    delivery.cancel?.()
    delivery.state = 'acked'
    delivery.ack = more.payload
    delivery.ackMs = attempt.settledAt - attempt.at
    this.#open.delete(delivery)
    delivery.finish()
  }

  #again(delivery: Inner, attempt: Attempt, outcome: Outcome, noRetry: boolean): void {
    const { retryFirstMs, retrySecondMs, retryThirdMs } = this.#rules
    const wait = [retryFirstMs, retrySecondMs, retryThirdMs][attempt.n]
    delivery.cancel?.()
    if (delivery.kind !== 'events_api' || wait === undefined || noRetry) {
      this.#fail(delivery, 'operation_timed_out')
      return
    }
    const reason = attempt.via === 'http' && outcome === 'timeout' ? 'http_timeout' : outcome
    delivery.cancel = this.#clock.after(wait, () => this.#attempt(delivery, attempt.n + 1, reason))
  }

  #fail(delivery: Inner, error: string): void {
    if (delivery.state !== 'waiting') return
    delivery.cancel?.()
    delivery.state = 'failed'
    delivery.error = error
    this.#open.delete(delivery)
    delivery.finish()
  }
}
