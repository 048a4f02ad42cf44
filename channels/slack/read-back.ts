import type { Address, HistoryMessage, InboundMessage } from '../../src/channel/channel-adapter.ts'
import { isDirect, msOf, placeOf, tsOf } from './address.ts'
import type { SlackApi } from './api.ts'
import { decodeText, type InboundContext, toInbound } from './inbound.ts'
import { type Json, listIn, objectIn, textIn } from './json.ts'
import type { People } from './people.ts'
import type { Poster } from './poster.ts'

/** Messages read back of one place. A choice of ours. */
const MOST = 100
/** Threads of one place whose newer replies are looked at. */
const THREADS = 20
/** Pages of a long thread that are gone through for its end. */
const PAGES = 20

export interface ReadBackParts {
  readonly api: SlackApi
  readonly poster: Poster
  readonly people: People
  readonly context: () => InboundContext
}

function tsIn(message: Json): string {
  return textIn(message, 'ts') ?? '0'
}

/** Reads what was written while nobody listened, and what was written before we were asked. */
export class ReadBack {
  readonly #p: ReadBackParts

  constructor(parts: ReadBackParts) {
    this.#p = parts
  }

  /** Messages for us that came after `after`, oldest first, at most 100. */
  async missed(to: Address, after: number): Promise<InboundMessage[]> {
    const { room, thread } = placeOf(to)
    const found = thread && !isDirect(room) ? await this.#thread(room, thread, after) : await this.#room(room, after)
    const fresh = found.filter((m) => msOf(tsIn(m)) > after).sort((a, b) => Number(tsIn(a)) - Number(tsIn(b)))
    const latest = fresh.slice(-MOST)
    await this.#p.people.learn([...new Set(latest.flatMap((m) => textIn(m, 'user') ?? []))].slice(0, 20))
    return latest.flatMap((m) => {
      const inbound = toInbound(m, this.#p.context())
      return inbound?.kind === 'message' ? [inbound.message] : []
    })
  }

  async #thread(room: string, thread: string, after: number): Promise<Json[]> {
    const args = { channel: room, ts: thread, oldest: tsOf(after), inclusive: true, limit: MOST + 1 }
    const messages = listIn(await this.#p.api.call('conversations.replies', args, { tries: 4 }), 'messages')
    const root = messages.find((m) => tsIn(m) === thread)
    return messages.map((m) => asEvent(m, room, textIn(root, 'user')))
  }

  /** What stands in the room itself, and new replies in its threads. */
  async #room(room: string, after: number): Promise<Json[]> {
    const base = { channel: room, limit: MOST, ...(isDirect(room) ? {} : { oldest: tsOf(after), inclusive: true }) }
    const roots = listIn(await this.#p.api.call('conversations.history', base, { tries: 4 }), 'messages')
    const out = roots.map((m) => asEvent(m, room, undefined))
    const busy = roots.filter((m) => msOf(textIn(m, 'latest_reply') ?? '0') > after).slice(0, THREADS)
    for (const root of busy)
      out.push(...(await this.#thread(room, tsIn(root), after)).filter((m) => tsIn(m) !== tsIn(root)))
    return out
  }

  /** The last messages before `before`, oldest first. */
  async history(to: Address, range: { limit: number; before?: string }): Promise<HistoryMessage[]> {
    const { room, thread } = await this.#p.poster.place(to)
    const all = thread ? await this.#wholeThread(room, thread, range.before) : await this.#latest(room, range)
    const before = all.filter((m) => range.before === undefined || Number(tsIn(m)) < Number(range.before))
    const wanted = before.filter((m) => !hides(m)).slice(-range.limit)
    const context = this.#p.context()
    await this.#p.people.learn([...new Set(wanted.flatMap((m) => textIn(m, 'user') ?? []))].slice(0, 20))
    return wanted.map((m) => {
      const id = textIn(m, 'user') ?? textIn(m, 'bot_id') ?? ''
      const name = this.#p.people.name(id) ?? textIn(m, 'username') ?? id
      return {
        id: tsIn(m),
        author: { id, name, bot: textIn(m, 'bot_id') !== undefined },
        own: textIn(m, 'bot_id') === context.botId || id === context.botUser,
        text: decodeText(textIn(m, 'text') ?? '', context),
        sentAt: msOf(tsIn(m)),
      }
    })
  }

  async #latest(room: string, { limit, before }: { limit: number; before?: string }): Promise<Json[]> {
    const args = { channel: room, limit: Math.min(200, limit + 10), ...(before ? { latest: before } : {}) }
    return listIn(await this.#p.api.call('conversations.history', args, { tries: 2 }), 'messages').reverse()
  }

  async #wholeThread(room: string, thread: string, before: string | undefined): Promise<Json[]> {
    const out: Json[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES; page++) {
      const args = { channel: room, ts: thread, limit: 200, ...(before ? { latest: before } : {}) }
      const answer = await this.#p.api.call(
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
function asEvent(message: Json, room: string, parent: string | undefined): Json {
  return { ...message, type: 'message', channel: room, ...(parent ? { parent_user_id: parent } : {}) }
}

function hides(message: Json): boolean {
  return message.hidden === true || /^(?:channel_|group_|tombstone)/.test(textIn(message, 'subtype') ?? '')
}
