import { DiscordAPIError, REST, type RouteLike } from 'discord.js'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import { DISCORD_REFUSED, REFUSED } from '../../src/copy/platforms.ts'
import { TIMES } from './limits.ts'

export interface UploadFile {
  readonly name: string
  readonly data: string
}

/** A REST client for the configured API. Its repeats are harmless: every post carries an enforced nonce. */
export function createRest(apiUrl: string, token: string): REST {
  return new REST({ api: apiUrl.replace(/\/+$/, ''), version: '10', timeout: TIMES.request, retries: 2 }).setToken(
    token,
  )
}

/** Said on every send and edit, since what is left out is parsed. */
const NO_PINGS = { allowed_mentions: { parse: [], replied_user: false } } as const

/** Refusals that time cures: edits of old messages, slow mode, the write limits. */
const PASSING: ReadonlySet<number> = new Set([20016, 20022, 20028, 20029, 30046, 40062, 130000, 131000])

/** Refusals of the place, not of the message: unknown channel or server, no access, no permission, locked. */
const OF_PLACE: ReadonlySet<number> = new Set([10003, 10004, 50001, 50007, 50013, 160005])

/** Discord's code of a refusal; undefined for anything else. */
export function codeOf(error: unknown): number | undefined {
  if (error instanceof DiscordAPIError && typeof error.code === 'number') return error.code
  return error instanceof PostRefusedError ? codeOf(error.cause) : undefined
}

/** The error as the port wants it: PostRefused where Discord said a final no, else the error itself. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof DiscordAPIError) || typeof error.code !== 'number') return error
  const { code, status } = error
  const unclear = code === 0 || PASSING.has(code) || status === 401 || status === 429 || status < 400 || status >= 500
  if (unclear) return error
  const reason = DISCORD_REFUSED[code] ?? REFUSED.discord(error.message.split('\n')[0] ?? String(code))
  return new PostRefusedError(reason, { cause: error, ofPlace: OF_PLACE.has(code) })
}

/** The calls the adapter makes. All reject with PostRefused for a final no. */
export class Api {
  readonly rest: REST

  constructor(rest: REST) {
    this.rest = rest
  }

  async get(path: string, query?: Record<string, string>): Promise<unknown> {
    return this.#call(() => this.rest.get(route(path), query ? { query: new URLSearchParams(query) } : {}))
  }

  async put(path: string, body?: unknown): Promise<unknown> {
    return this.#call(() => this.rest.put(route(path), body === undefined ? {} : { body }))
  }

  async delete(path: string): Promise<void> {
    await this.#call(() => this.rest.delete(route(path)))
  }

  async post(path: string, body?: unknown): Promise<unknown> {
    return this.#call(() => this.rest.post(route(path), body === undefined ? {} : { body }))
  }

  async patch(path: string, body: unknown): Promise<unknown> {
    return this.#call(() => this.rest.patch(route(path), { body }))
  }

  /** Posts a message, opening an archived thread first where Discord does not by itself. Gives its id. */
  async send(channel: string, body: Record<string, unknown>, files: readonly UploadFile[] = []): Promise<string> {
    return this.opening(channel, async () => {
      const path = route(`/channels/${channel}/messages`)
      const made = await this.#withoutReference(body, (b) =>
        this.rest.post(path, withFiles({ ...b, ...NO_PINGS }, files)),
      )
      return (made as { id: string }).id
    })
  }

  /** Changes a message. False where it does not exist any more. */
  async edit(channel: string, id: string, body: Record<string, unknown>): Promise<boolean> {
    try {
      const path = route(`/channels/${channel}/messages/${id}`)
      await this.opening(channel, () => this.rest.patch(path, { body: { ...body, ...NO_PINGS } }))
      return true
    } catch (error) {
      if (codeOf(error) === 10008) return false
      throw error
    }
  }

  /** Answers an interaction or posts to it, by its own token. */
  async interaction(method: 'post' | 'patch' | 'delete', path: string, body?: Record<string, unknown>): Promise<void> {
    await this.#call(() => this.rest[method](route(path), { auth: false, ...(body ? { body } : {}) }))
  }

  /** Runs a call on a thread; one that says "archived" is repeated once the thread is opened. */
  async opening<T>(channel: string, call: () => Promise<T>): Promise<T> {
    return this.#call(async () => {
      try {
        return await call()
      } catch (error) {
        if (codeOf(error) !== 50083) throw error
        await this.rest.patch(route(`/channels/${channel}`), { body: { archived: false } })
        return call()
      }
    })
  }

  /** Without the permission to read history a reply is refused: then it is posted as no reply. */
  async #withoutReference<T>(
    body: Record<string, unknown>,
    call: (body: Record<string, unknown>) => Promise<T>,
  ): Promise<T> {
    try {
      return await call(body)
    } catch (error) {
      if (codeOf(error) !== 160002 || !body.message_reference) throw error
      const { message_reference: _, ...rest } = body
      return call(rest)
    }
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw asRefusal(error)
    }
  }
}

function withFiles(
  body: Record<string, unknown>,
  files: readonly UploadFile[],
): { body: unknown; files?: never } | object {
  if (files.length === 0) return { body }
  const attachments = files.map(({ name }, id) => ({ id: String(id), filename: name }))
  return {
    body: { ...body, attachments },
    files: files.map(({ name, data }) => ({ name, data: Buffer.from(data, 'utf8'), contentType: 'text/plain' })),
  }
}

function route(path: string): RouteLike {
  return path as RouteLike
}
