import type { Address, HistoryMessage, InboundHandler } from '../../src/channel/channel-adapter.ts'
import { MESSAGE_NOT_SAVED } from '../../src/copy/cards.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import type { Api } from './api.ts'
import type { ChannelInfo } from './channel-directory.ts'
import { type InboundContext, isAllowed, type RawMessage, toHistory, toInbound } from './inbound.ts'
import { LIMITS, snowflakeAt, TIMES } from './limits.ts'
import { channelOf, readAfter } from './posts.ts'

/** Conversations read back at once. */
const MAX_READS_AT_ONCE = 5
/** Live messages wait this long for what was missed before them, ms. */
const GATE_MS = 10_000

export interface ReaderDeps {
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly inbound: InboundHandler
  place(id: string): Promise<ChannelInfo>
  context(): InboundContext
}

/** Takes messages in: live ones in the order of their channel, missed ones before them. */
export class Reader {
  readonly #deps: ReaderDeps
  readonly #lanes = new Map<string, Promise<void>>()
  readonly #reportedAt = new Map<string, number>()
  #gate: Promise<void> = Promise.resolve()

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  /** A message as it comes. Returns at once. */
  enqueue(message: RawMessage): void {
    const channel = message.channel_id
    const gate = this.#gate
    const before = this.#lanes.get(channel) ?? Promise.resolve()
    const mine = before.then(() => gate).then(() => this.#live(message))
    this.#lanes.set(channel, mine)
    void mine.then(() => {
      if (this.#lanes.get(channel) === mine) this.#lanes.delete(channel)
    })
  }

  async #live(message: RawMessage): Promise<void> {
    try {
      if (message.author.id === this.#deps.context().self) return
      await this.#hand(message)
    } catch (error) {
      this.#deps.log.error({ err: error, message: message.id }, LOG.messageNotSaved)
      await this.#reportNotSaved(message)
    }
  }

  /** Hands a message on if it concerns us. Rejects where it could not be stored. */
  async #hand(message: RawMessage): Promise<void> {
    const place = await this.#deps.place(message.channel_id)
    const home = place.guild === undefined ? {} : { guild_id: place.guild }
    const inbound = toInbound({ ...message, ...home }, place, this.#deps.context())
    if (inbound) await this.#deps.inbound.message(inbound)
  }

  async #reportNotSaved(message: RawMessage): Promise<void> {
    const { clock, api, log } = this.#deps
    const channel = message.channel_id
    const now = clock.now()
    if (now - (this.#reportedAt.get(channel) ?? Number.NEGATIVE_INFINITY) < TIMES.notStored) return
    const place = await this.#deps.place(channel).catch(() => undefined)
    if (!place || !isAllowed(place, this.#deps.context().config)) return
    this.#reportedAt.set(channel, now)
    const content = MESSAGE_NOT_SAVED
    await api.send(channel, { content }).catch((error: unknown) => {
      log.warn({ reason: messageOf(error), channel }, LOG.notReportedEither)
    })
  }

  /** Reads back what came while nobody listened; live messages wait for it, for 10 s at most. */
  readMissed(): void {
    const all = this.#missed().catch((error: unknown) => {
      this.#deps.log.warn({ reason: messageOf(error) }, LOG.missedNotRead)
    })
    this.#gate = Promise.race([all, sleep(this.#deps.clock, GATE_MS)])
  }

  async #missed(): Promise<void> {
    const rest = [...(await this.#deps.inbound.missedConversations('discord'))]
    const work = async (): Promise<void> => {
      for (let next = rest.shift(); next; next = rest.shift()) await this.#readBack(next.to, next.after)
    }
    await Promise.all(Array.from({ length: MAX_READS_AT_ONCE }, work))
  }

  async #readBack(to: Address, after: number): Promise<void> {
    try {
      for (const message of await readAfter(this.#deps.api, channelOf(to), snowflakeAt(after)))
        await this.#hand(message)
    } catch (error) {
      this.#deps.log.warn({ reason: messageOf(error), channel: channelOf(to) }, LOG.missedNotRead)
    }
  }
}

/** The last messages of a conversation before one, oldest first, system lines left out. */
export async function readHistory(
  api: Api,
  to: Address,
  range: { limit: number; before?: string },
  context: InboundContext,
): Promise<readonly HistoryMessage[]> {
  const found: RawMessage[] = []
  let before = range.before
  while (found.length < range.limit) {
    const size = Math.min(LIMITS.page, range.limit - found.length)
    const query = { limit: String(size), ...(before === undefined ? {} : { before }) }
    const page = (await api.get(`/channels/${channelOf(to)}/messages`, query)) as RawMessage[]
    found.push(...page)
    before = page.at(-1)?.id
    if (page.length < size) break
  }
  return found.toReversed().flatMap((message) => toHistory(message, context) ?? [])
}
