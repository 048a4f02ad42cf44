import type { Core } from '../core.ts'
import type { Tier } from '../rules.ts'
import { isJson, type Json, type SlackChannel } from '../world.ts'

/** An `ok: false` answer. */
export class SlackError extends Error {
  readonly code: string
  readonly extra: Json

  constructor(code: string, extra: Json = {}) {
    super(code)
    this.code = code
    this.extra = extra
  }
}

/** Arguments of a call, whichever way they came. */
export class Args {
  readonly all: Json

  constructor(all: Json) {
    this.all = all
  }

  has(key: string): boolean {
    const value = this.all[key]
    return value !== undefined && value !== null && value !== ''
  }

  text(key: string): string | undefined {
    const value = this.all[key]
    return value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value)
  }

  need(key: string, code = 'invalid_arguments'): string {
    const value = this.text(key)
    if (value === undefined || value === '')
      throw new SlackError(code, { response_metadata: { messages: [`[ERROR] missing required field: ${key}`] } })
    return value
  }

  flag(key: string): boolean {
    return ['true', '1', 1, true].includes(this.all[key] as string)
  }

  number(key: string, otherwise: number): number {
    const value = Number(this.all[key] ?? otherwise)
    return Number.isFinite(value) ? value : otherwise
  }

  /** A nested value: an object or list, or its JSON text. */
  json(key: string, code = 'invalid_json'): unknown {
    const value = this.all[key]
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      throw new SlackError(code)
    }
  }

  list(key: string, code: string): Json[] | undefined {
    const value = this.json(key, code)
    if (value === undefined) return undefined
    if (!Array.isArray(value) || !value.every(isJson)) throw new SlackError(code)
    return value
  }
}

export interface Method {
  token?: 'bot' | 'app'
  /** Scope needed; a function where it depends on the arguments. */
  scope?: string | ((core: Core, args: Args) => string | undefined)
  tier: Tier
  run(core: Core, args: Args): Json
}

export type Methods = Record<string, Method>

/** The channel if the bot may see it. */
export function visibleChannel(core: Core, id: string): SlackChannel {
  const channel = core.world.channels.get(id)
  const member = channel?.members.has(core.world.bot.userId)
  if (!channel || (channel.kind !== 'public' && !member)) throw new SlackError('channel_not_found')
  return channel
}

/** The channel if the bot may write there; a user's id means the direct messages with them. */
export function writableChannel(core: Core, id: string): SlackChannel {
  const user = /^[UW]/.test(id) ? core.world.users.get(id) : undefined
  const channel = user ? core.world.im(user.id) : visibleChannel(core, id)
  if (channel.archived) throw new SlackError('is_archived')
  if (!channel.members.has(core.world.bot.userId)) throw new SlackError('not_in_channel')
  return channel
}

const PREFIX = { public: 'channels', private: 'groups', im: 'im', mpim: 'mpim' } as const

/** `channels:history` and its kin, by the kind of the channel asked about. */
export function kindScope(what: 'history' | 'read'): (core: Core, args: Args) => string {
  return (core, args) => `${PREFIX[core.world.channels.get(args.text('channel') ?? '')?.kind ?? 'public']}:${what}`
}
