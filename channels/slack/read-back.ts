import type { Address, HistoryMessage, InboundMessage } from '../../src/channel/channel-adapter.ts'
import { LOG } from '../../src/copy/log.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Log } from '../../src/util/log.ts'
import { isDirect, msOf, postTargetOf, tsOf } from './address.ts'
import type { SlackApi } from './api.ts'
import { decodeText, type InboundContext, toInbound } from './inbound.ts'
import { type Json, listIn, objectIn, textIn } from './json.ts'
import type { People } from './people.ts'
import type { Poster } from './posts.ts'

/** Messages read back of one place. A choice of ours. */
const MAX_MESSAGES = 100
/** Threads of one place whose newer replies are looked at. */
const MAX_THREADS = 20
/** Pages of a long thread that are gone through for its end. */
const MAX_PAGES = 20

export interface ReadBackDeps {
  readonly api: SlackApi
  readonly poster: Poster
  readonly people: People
  readonly context: () => InboundContext
  readonly log: Log
  /** Aborts when the adapter stops. */
  readonly life: AbortSignal
}

function tsIn(message: Json): string {
  return textIn(message, 'ts') ?? '0'
}

/** Reads what was written while nobody listened, and what was written before we were asked. */
export class ReadBack {
  readonly #deps: ReadBackDeps

  constructor(deps: ReadBackDeps) {
    this.#deps = deps
  }

  /** What was written while no connection was up: events have no order and may be late. `take` gets each, oldest first. */
  async readMissed(
    places: () => Promise<readonly { to: Address; after: number }[]>,
    take: (message: InboundMessage) => Promise<void>,
  ): Promise<void> {
    const { log, life } = this.#deps
    const all = await places().catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, LOG.missedNotListed)
      return []
    })
    for (const { to, after } of all) {
      try {
        for (const message of await this.missed(to, after)) await take(message)
      } catch (error) {
        if (life.aborted) return
        log.warn({ reason: messageOf(error), to: to.id }, LOG.missedNotRead)
      }
    }
  }

  /** Messages for us that came after `after`, oldest first, at most 100. */
  async missed(to: Address, after: number): Promise<InboundMessage[]> {
    const { channel, thread } = postTargetOf(to)
    const found =
      thread && !isDirect(channel) ? await this.#thread(channel, thread, after) : await this.#channel(channel, after)
    const fresh = found.filter((m) => msOf(tsIn(m)) > after).sort((a, b) => Number(tsIn(a)) - Number(tsIn(b)))
    const latest = fresh.slice(-MAX_MESSAGES)
    await this.#deps.people.learn([...new Set(latest.flatMap((m) => textIn(m, 'user') ?? []))].slice(0, 20))
    return latest.flatMap((m) => {
      const inbound = toInbound(m, this.#deps.context())
      return inbound?.kind === 'message' ? [inbound.message] : []
    })
  }

  async #thread(channel: string, thread: string, after: number): Promise<Json[]> {
    const args = { channel, ts: thread, oldest: tsOf(after), inclusive: true, limit: MAX_MESSAGES + 1 }
    const messages = listIn(await this.#deps.api.call('conversations.replies', args, { tries: 4 }), 'messages')
    const root = messages.find((m) => tsIn(m) === thread)
    return messages.map((m) => asEvent(m, channel, textIn(root, 'user')))
  }

  /** What stands in the channel itself, and new replies in its threads. */
  async #channel(channel: string, after: number): Promise<Json[]> {
    const base = {
      channel,
      limit: MAX_MESSAGES,
      ...(isDirect(channel) ? {} : { oldest: tsOf(after), inclusive: true }),
    }
    const roots = listIn(await this.#deps.api.call('conversations.history', base, { tries: 4 }), 'messages')
    const out = roots.map((m) => asEvent(m, channel, undefined))
    const busy = roots.filter((m) => msOf(textIn(m, 'latest_reply') ?? '0') > after).slice(0, MAX_THREADS)
    for (const root of busy)
      out.push(...(await this.#thread(channel, tsIn(root), after)).filter((m) => tsIn(m) !== tsIn(root)))
    return out
  }

  /** The last messages before `before`, oldest first. */
  async history(to: Address, range: { limit: number; before?: string }): Promise<HistoryMessage[]> {
    const { channel, thread } = await this.#deps.poster.targetOf(to)
    const all = thread ? await this.#wholeThread(channel, thread, range.before) : await this.#latest(channel, range)
    const before = all.filter((m) => range.before === undefined || Number(tsIn(m)) < Number(range.before))
    const wanted = before.filter((m) => !hides(m)).slice(-range.limit)
    const context = this.#deps.context()
    await this.#deps.people.learn([...new Set(wanted.flatMap((m) => textIn(m, 'user') ?? []))].slice(0, 20))
    return wanted.map((m) => {
      const id = textIn(m, 'user') ?? textIn(m, 'bot_id') ?? ''
      const name = this.#deps.people.name(id) ?? textIn(m, 'username') ?? id
      return {
        id: tsIn(m),
        author: { id, name, bot: textIn(m, 'bot_id') !== undefined },
        own: textIn(m, 'bot_id') === context.botId || id === context.botUser,
        text: decodeText(textIn(m, 'text') ?? '', context),
        sentAt: msOf(tsIn(m)),
      }
    })
  }

  async #latest(channel: string, { limit, before }: { limit: number; before?: string }): Promise<Json[]> {
    const args = { channel, limit: Math.min(200, limit + 10), ...(before ? { latest: before } : {}) }
    return listIn(await this.#deps.api.call('conversations.history', args, { tries: 2 }), 'messages').reverse()
  }

  async #wholeThread(channel: string, thread: string, before: string | undefined): Promise<Json[]> {
    const out: Json[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES; page++) {
      const args = { channel, ts: thread, limit: 200, ...(before ? { latest: before } : {}) }
      const answer = await this.#deps.api.call(
        'conversations.replies',
        { ...args, ...(cursor ? { cursor } : {}) },
        { tries: 2 },
      )
      out.push(...listIn(answer, 'messages'))
      cursor = textIn(objectIn(answer, 'response_metadata'), 'next_cursor')
      if (!cursor) break
    }
    return out.sort((a, b) => Number(tsIn(a)) - Number(tsIn(b)))
  }
}

/** A message read back, with what an event about it would have said. */
function asEvent(message: Json, channel: string, parent: string | undefined): Json {
  return { ...message, type: 'message', channel, ...(parent ? { parent_user_id: parent } : {}) }
}

function hides(message: Json): boolean {
  return message.hidden === true || /^(?:channel_|group_|tombstone)/.test(textIn(message, 'subtype') ?? '')
}
