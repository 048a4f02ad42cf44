import type { Clock } from '../../src/util/time.ts'
import { sleep } from '../../src/util/time.ts'
import type { SlackApi } from './api.ts'
import { objectIn, textIn } from './json.ts'

/** A name is asked for anew after an hour; a name that Slack does not tell in a second is done without. */
const NAME_KEPT_MS = 3_600_000
const LOOKUP_MS = 1000
const MAX_NAMES = 2000

/** Shown names of users, remembered for an hour. */
export class People {
  readonly #api: SlackApi
  readonly #clock: Clock
  readonly #names = new Map<string, { name: string; until: number }>()
  readonly #asking = new Map<string, Promise<void>>()

  constructor(api: SlackApi, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  readonly name = (id: string): string | undefined => this.#names.get(id)?.name

  /** Learns the names; never rejects, and takes a second at most: a slower answer serves the next message. */
  async learn(ids: readonly string[]): Promise<void> {
    const now = this.#clock.now()
    const unknown = ids.filter((id) => /^[UW]/.test(id) && (this.#names.get(id)?.until ?? 0) <= now)
    if (unknown.length === 0) return
    const stop = new AbortController()
    const asked = Promise.all(unknown.map((id) => this.#ask(id)))
    await Promise.race([asked, sleep(this.#clock, LOOKUP_MS, stop.signal).catch(() => {})])
    stop.abort()
  }

  /** One question at a time about one person. */
  #ask(id: string): Promise<void> {
    const running = this.#asking.get(id)
    if (running) return running
    const asked = this.#fetch(id)
      .catch(() => {})
      .finally(() => this.#asking.delete(id))
    this.#asking.set(id, asked)
    return asked
  }

  async #fetch(id: string): Promise<void> {
    const user = objectIn(await this.#api.call('users.info', { user: id }, { priority: 'sign' }), 'user')
    const profile = objectIn(user, 'profile')
    const name = textIn(profile, 'display_name') ?? textIn(user, 'real_name') ?? textIn(user, 'name')
    if (!name) return
    const oldest = this.#names.keys().next().value
    if (this.#names.size >= MAX_NAMES && oldest !== undefined) this.#names.delete(oldest)
    this.#names.set(id, { name, until: this.#clock.now() + NAME_KEPT_MS })
  }
}
