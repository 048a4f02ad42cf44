import type { BotActions } from './bot-actions.ts'
import type { Core } from './core.ts'
import { apiError, Form } from './errors.ts'
import type { Interactions } from './interactions.ts'
import { asObject, asString, type Json } from './json.ts'
import type { LoggedRequest, SimMessage } from './model.ts'
import { limit } from './rules.ts'
import type { Threads } from './threads.ts'

export interface Parts {
  core: Core
  bot: BotActions
  interactions: Interactions
  threads: Threads
}

export interface Answer {
  status: number
  body?: unknown
}

export interface Route {
  method: string
  pattern: RegExp
  /** The interaction's or webhook's own token stands in the path. */
  open?: boolean
  run(p: Parts, params: string[], r: LoggedRequest): Answer
}

const route = (method: string, path: string, run: Route['run'], open = false): Route => ({
  method,
  pattern: new RegExp(`^${path.replace(/:[a-z]+/g, '([^/]+)')}$`),
  run,
  open,
})

const ok = (body: unknown, status = 200): Answer => ({ status, body })
const none: Answer = { status: 204 }
const json = (p: Parts, m: SimMessage, fresh = false): Json =>
  p.core.world.messageJson(m, fresh || p.core.settings.historyShowsNonce)

function history(p: Parts, channelId: string, r: LoggedRequest): Answer {
  const c = p.bot.channel(channelId)
  const asked = r.query.get('limit')
  const n = asked === null ? limit('historyDefault') : Number(asked)
  if (!Number.isInteger(n) || n < 1 || n > limit('historyLimit')) {
    const form = new Form()
    form.fail('limit', 'NUMBER_TYPE_MAX', `int value should be less than or equal to ${limit('historyLimit')}.`)
    form.throwIfFailed()
  }
  // Get Channel Messages docs: without READ_MESSAGE_HISTORY nothing is returned.
  if (c.guildId && !p.core.world.can(c, p.core.world.bot.id, 'READ_MESSAGE_HISTORY')) return ok([])
  const all = p.core.world.history(c.id).sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
  const [before, after, around] = ['before', 'after', 'around'].map((k) => r.query.get(k))
  let page = all.slice(-n)
  if (around) {
    const older = all.filter((m) => BigInt(m.id) < BigInt(around)).slice(-Math.floor(n / 2))
    page = [...older, ...all.filter((m) => BigInt(m.id) >= BigInt(around))].slice(0, n)
  } else if (before) page = all.filter((m) => BigInt(m.id) < BigInt(before)).slice(-n)
  else if (after) page = all.filter((m) => BigInt(m.id) > BigInt(after)).slice(0, n)
  return ok(page.reverse().map((m) => json(p, m)))
}

function application(p: Parts): Answer {
  const { world } = p.core
  const owner = [...world.guilds.values()].map((g) => world.user(g.ownerId))[0] ?? world.bot
  return ok({
    id: world.bot.id,
    name: world.bot.username,
    icon: null,
    description: '',
    type: null,
    flags: applicationFlags(p.core.settings.privilegedIntents),
    bot_public: true,
    bot_require_code_grant: false,
    bot: world.userJson(world.bot),
    owner: world.userJson(owner),
    verify_key: '0'.repeat(64),
    team: null,
    flags_new: String(applicationFlags(p.core.settings.privilegedIntents)),
    redirect_uris: [],
    interactions_endpoint_url: null,
    role_connections_verification_url: null,
    approximate_guild_count: world.guilds.size,
    approximate_user_install_count: 0,
    approximate_user_authorization_count: 0,
    explicit_content_filter: 0,
    eligible_oauth2_scopes: [],
  })
}

/** Discord docs: Application, flags: the "limited" ones, as for an app that is not verified. */
export function applicationFlags(privileged: number): number {
  return (
    (privileged & (1 << 8) ? 1 << 13 : 0) |
    (privileged & (1 << 1) ? 1 << 15 : 0) |
    (privileged & (1 << 15) ? 1 << 19 : 0)
  )
}

const OWN = '/applications/:app/commands'
const OF_GUILD = '/applications/:app/guilds/:guild/commands'

function own(p: Parts, app: string | undefined): void {
  if (app !== p.core.world.bot.id) throw apiError(50001)
}

const commandRoutes: Route[] = [OWN, OF_GUILD].flatMap((path) => [
  route('GET', path, (p, [app, guild = '']) => {
    own(p, app)
    return ok(p.core.commands.list(guild))
  }),
  route('PUT', path, (p, [app, guild = ''], r) => {
    own(p, app)
    if (guild) p.core.world.guild(guild)
    return ok(p.core.commands.put(guild, r.body))
  }),
  route('POST', path, (p, [app, guild = ''], r) => {
    own(p, app)
    return ok(p.core.commands.post(guild, r.body), 201)
  }),
  route('DELETE', `${path}/:command`, (p, params) => {
    own(p, params[0])
    p.core.commands.delete(params.length === 3 ? (params[1] ?? '') : '', params.at(-1) ?? '')
    return none
  }),
])

const MESSAGES = '/channels/:channel/messages'

const messageRoutes: Route[] = [
  route('GET', MESSAGES, (p, [c = ''], r) => history(p, c, r)),
  route('POST', MESSAGES, (p, [c = ''], r) => {
    const m = p.bot.send(p.bot.channel(c), asObject(r.body), r.uploads)
    return ok(json(p, m, true))
  }),
  route('GET', `${MESSAGES}/:message`, (p, [c = '', m = '']) => {
    const channel = p.bot.channel(c)
    p.bot.need(channel, 'READ_MESSAGE_HISTORY')
    return ok(json(p, p.core.world.message(c, m)))
  }),
  route('PATCH', `${MESSAGES}/:message`, (p, [c = '', m = ''], r) =>
    ok(json(p, p.bot.edit(p.bot.channel(c), m, asObject(r.body), r.uploads))),
  ),
  route('DELETE', `${MESSAGES}/:message`, (p, [c = '', m = '']) => {
    p.bot.delete(p.bot.channel(c), m)
    return none
  }),
  ...(['PUT', 'DELETE'] as const).map((method) =>
    route(method, `${MESSAGES}/:message/reactions/:emoji/@me`, (p, [c = '', m = '', emoji = '']) => {
      p.bot.react(p.bot.channel(c), m, emoji, method === 'PUT')
      return none
    }),
  ),
  route('POST', `${MESSAGES}/:message/threads`, (p, [c = '', m = ''], r) =>
    ok(p.core.world.channelJson(p.bot.threadFrom(p.bot.channel(c), m, asObject(r.body))), 201),
  ),
  route('POST', '/channels/:channel/threads', (p, [c = ''], r) => {
    const made = p.bot.threadIn(p.bot.channel(c), asObject(r.body), r.uploads)
    return ok(
      { ...p.core.world.channelJson(made.thread), ...(made.message ? { message: json(p, made.message, true) } : {}) },
      201,
    )
  }),
  route('POST', '/channels/:channel/typing', (p, [c = '']) => {
    const channel = p.bot.channel(c)
    p.bot.need(channel, channel.thread ? 'SEND_MESSAGES_IN_THREADS' : 'SEND_MESSAGES')
    p.core.typing.push({ channelId: c, at: p.core.clock.now() })
    return none
  }),
]

const channelRoutes: Route[] = [
  route('GET', '/channels/:channel', (p, [c = '']) => ok(p.core.world.channelJson(p.bot.channel(c)))),
  route('PATCH', '/channels/:channel', (p, [c = ''], r) =>
    ok(p.core.world.channelJson(p.bot.modify(p.bot.channel(c), asObject(r.body)))),
  ),
  route('DELETE', '/channels/:channel', (p, [c = '']) => {
    const channel = p.bot.channel(c)
    if (channel.guildId) {
      p.bot.need(channel, channel.thread ? 'MANAGE_THREADS' : 'MANAGE_CHANNELS')
      p.threads.delete(channel)
    }
    return ok(p.core.world.channelJson(channel))
  }),
  route('PUT', '/channels/:channel/thread-members/@me', (p, [c = '']) => {
    const channel = p.bot.channel(c)
    if (!channel.thread) throw apiError(50024)
    if (channel.thread.archived) throw apiError(50083)
    p.threads.join(channel, p.core.world.bot.id)
    return none
  }),
  route('GET', '/channels/:channel/threads/archived/public', (p, [c = '']) => {
    p.bot.need(p.bot.channel(c), 'READ_MESSAGE_HISTORY')
    const threads = [...p.core.world.channels.values()].filter(
      (t) => t.parentId === c && t.thread?.archived && t.type !== 12,
    )
    return ok({ threads: threads.map((t) => p.core.world.channelJson(t)), members: [], has_more: false })
  }),
]

/** Discord docs: Gateway, Get Gateway Bot. */
function gatewayBot(p: Parts): Answer {
  const total = limit('sessionStarts')
  const remaining = Math.max(0, total - p.core.gateway.identifies)
  return ok({
    url: p.core.origin.replace('http', 'ws'),
    shards: 1,
    session_start_limit: { total, remaining, reset_after: 86_400_000, max_concurrency: 1 },
  })
}

const userRoutes: Route[] = [
  route('GET', '/gateway/bot', gatewayBot),
  route('GET', '/gateway', (p) => ok({ url: p.core.origin.replace('http', 'ws') }), true),
  route('GET', '/users/@me', (p) =>
    ok({ ...p.core.world.userJson(p.core.world.bot), email: null, verified: true, mfa_enabled: true, locale: 'en-US' }),
  ),
  route('GET', '/users/@me/guilds', (p) =>
    ok(
      [...p.core.world.guilds.values()].map((g) => ({
        id: g.id,
        name: g.name,
        icon: null,
        banner: null,
        owner: false,
        permissions: '0',
        features: [],
      })),
    ),
  ),
  route('POST', '/users/@me/channels', (p, _, r) => {
    const recipient = asString(asObject(r.body).recipient_id)
    p.core.world.user(recipient)
    return ok(p.core.world.channelJson(p.core.world.dm(recipient)))
  }),
  route('GET', '/users/:user', (p, [u = '']) => ok(p.core.world.userJson(p.core.world.user(u)))),
  route('GET', '/applications/@me', application),
  route('GET', '/guilds/:guild', (p, [g]) => ok(p.core.world.guildJson(p.core.world.guild(g)))),
  route('GET', '/guilds/:guild/channels', (p, [g]) => {
    const all = [...p.core.world.channels.values()].filter((c) => c.guildId === p.core.world.guild(g).id && !c.thread)
    return ok(all.map((c) => p.core.world.channelJson(c)))
  }),
  route('GET', '/guilds/:guild/roles', (p, [g]) =>
    ok([...p.core.world.guild(g).roles.values()].map((role) => p.core.world.roleJson(role))),
  ),
  route('GET', '/guilds/:guild/members/:user', (p, [g, u = '']) =>
    ok(p.core.world.memberJson(p.core.world.guild(g), u)),
  ),
  route('GET', '/guilds/:guild/threads/active', (p, [g]) => {
    const guild = p.core.world.guild(g)
    const threads = [...p.core.world.channels.values()].filter(
      (c) => c.guildId === guild.id && c.thread && !c.thread.archived,
    )
    return ok({ threads: threads.map((t) => p.core.world.channelJson(t)), members: [] })
  }),
]

const HOOK = '/webhooks/:app/:token'

const interactionRoutes: Route[] = [
  route(
    'POST',
    '/interactions/:id/:token/callback',
    (p, [id = '', token = ''], r) => {
      const made = p.interactions.callback(id, token, asObject(r.body), r.uploads)
      return r.query.get('with_response') === 'true' ? ok(made) : none
    },
    true,
  ),
  route(
    'POST',
    HOOK,
    (p, [app = '', token = ''], r) =>
      ok(json(p, p.interactions.followUp(app, token, asObject(r.body), r.uploads), true)),
    true,
  ),
  route(
    'GET',
    `${HOOK}/messages/:message`,
    (p, [a = '', t = '', m = '']) => ok(json(p, p.interactions.get(a, t, m))),
    true,
  ),
  route(
    'PATCH',
    `${HOOK}/messages/:message`,
    (p, [a = '', t = '', m = ''], r) => ok(json(p, p.interactions.edit(a, t, m, asObject(r.body), r.uploads))),
    true,
  ),
  route(
    'DELETE',
    `${HOOK}/messages/:message`,
    (p, [a = '', t = '', m = '']) => {
      p.interactions.remove(a, t, m)
      return none
    },
    true,
  ),
]

/** The REST operations that are served; every other one is a 404. Discord docs name each by its path. */
export const ROUTES: Route[] = [
  ...messageRoutes,
  ...channelRoutes,
  ...userRoutes,
  ...commandRoutes,
  ...interactionRoutes,
]
