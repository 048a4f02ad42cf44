import type { Address } from '../../src/channel/channel-adapter.ts'
import { isWorking, type TurnView } from '../../src/channel/turn-view.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { postTargetOf } from './address.ts'
import type { SlackApi } from './api.ts'
import { codeOf } from './errors.ts'
import { LIMITS } from './limits.ts'

/** Whether a feature that not every workspace has is there; once refused it is off for this process. */
export interface Feature {
  on: boolean
}

/** A turn waits no longer than this for its status line to go, ms. */
const CLEARED_WITHIN_MS = 3000

const MISSING = new Set(['unknown_method', 'feature_disabled', 'not_allowed', 'method_not_supported', 'missing_scope'])

export function isMissing(error: unknown): boolean {
  return MISSING.has(codeOf(error) ?? '')
}

export interface StatusDeps {
  readonly api: SlackApi
  readonly clock: Clock
  readonly log: Log
  readonly feature: Feature
  readonly life: AbortSignal
}

/** The line "… is thinking" under a thread. A sign only: failures are logged, nothing waits for it. */
export class StatusLine {
  readonly #deps: StatusDeps
  readonly #place: { channel: string; thread?: string }
  #shown = ''
  #taken = false
  #writing = false
  #cancel: () => void = () => {}
  #last: Promise<void> = Promise.resolve()

  constructor(deps: StatusDeps, to: Address) {
    this.#deps = deps
    this.#place = postTargetOf(to)
  }

  show({ phase, sections }: TurnView): void {
    this.#writing = phase === 'writing'
    if (!isWorking(phase)) return
    const tool = sections.at(-1)?.items.findLast((i) => i.kind === 'tool' && i.state === 'running')
    const text = tool?.kind === 'tool' ? `is running ${tool.tool}…` : 'is thinking…'
    const stands = this.#shown !== '' && !this.#taken
    // Text that grows is a sign itself.
    if (this.#writing ? !stands && !this.#taken : !stands || text !== this.#shown) this.#set(text)
  }

  /** A message of ours took the line away. */
  posted(): void {
    this.#taken = true
    if (this.#shown && !this.#writing) this.#set(this.#shown)
  }

  /** Resolves when it was tried, or after 3 s. Also right after a restart, for a line that an earlier process left. */
  async clear(): Promise<void> {
    this.#cancel()
    this.#set('')
    const done = new AbortController()
    const late = sleep(this.#deps.clock, CLEARED_WITHIN_MS, done.signal).catch(() => {})
    await Promise.race([this.#last, late])
    done.abort()
  }

  #again(): void {
    if (this.#shown && !this.#taken) this.#set(this.#shown)
  }

  #set(status: string): void {
    const { api, clock, log, feature, life } = this.#deps
    const { channel, thread } = this.#place
    this.#shown = status
    this.#taken = false
    this.#cancel()
    if (!thread || !feature.on || life.aborted) return
    if (status) this.#cancel = clock.after(LIMITS.statusEveryMs, () => this.#again())
    const args = { channel_id: channel, thread_ts: thread, status }
    this.#last = this.#last.then(async () => {
      if (this.#shown !== status) return
      try {
        await api.call('assistant.threads.setStatus', args, { priority: 'sign' })
      } catch (error) {
        if (isMissing(error)) feature.on = false
        log.debug({ reason: messageOf(error) }, LOG.statusNotSet)
      }
    })
  }
}
