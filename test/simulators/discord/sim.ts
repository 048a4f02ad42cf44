import { type Clock, systemClock } from '../../../src/util/time.ts'
import { BotActions } from './bot-actions.ts'
import { Commands } from './commands.ts'
import type { Core, Settings } from './core.ts'
import { Faults } from './faults.ts'
import { Gateway } from './gateway.ts'
import { HttpSide } from './http.ts'
import { Interactions } from './interactions.ts'
import type { Json } from './json.ts'
import { Messages } from './messages.ts'
import type { LoggedRequest, SimChannel, SimGuild, SimMessage, SimRole, SimUser, SpecViolation } from './model.ts'
import { isPosted, People } from './people.ts'
import { bits, PERMISSION, type PermissionName } from './permissions.ts'
import { RateLimits } from './rate-limits.ts'
import { applicationFlags } from './routes.ts'
import { CHANNEL, INTENT, limit } from './rules.ts'
import { SpecCheck } from './spec-check.ts'
import { Threads } from './threads.ts'
import { World } from './world.ts'

export interface DiscordSimOptions {
  /** Protocol time: 3 s and 15 min of interactions, nonces, resumes, timestamps. */
  clock?: Clock
  /** Time of the rate limits; real by default, since clients wait for them in real time. */
  rateLimitNow?: () => number
  token?: string
  botName?: string
  /** Switches granted to the application; default only messageContent. */
  granted?: { messageContent?: boolean; guildMembers?: boolean; presences?: boolean }
  historyShowsNonce?: boolean
  nonceWindowMs?: number
  archivedRefusesSends?: boolean
  heartbeatMs?: number
  resumeWindowMs?: number
}

/** A Discord on the loopback interface: REST, gateway and file host for one application. */
export class DiscordSim extends People {
  readonly world: World
  readonly gateway: Gateway
  readonly faults: Faults
  readonly rateLimits: RateLimits
  /** What can be changed while it runs. */
  readonly settings: Settings
  readonly commands: Commands
  readonly threads: Threads
  readonly spec: SpecCheck
  readonly #core: Core
  readonly #http: HttpSide

  private constructor(core: Core, o: { limits: RateLimits; faults: Faults; spec: SpecCheck }) {
    const messages = new Messages(core)
    const threads = new Threads(core, messages)
    const interactions = new Interactions(core, messages)
    super(core, messages, threads, interactions)
    this.#core = core
    this.world = core.world
    this.gateway = core.gateway
    this.settings = core.settings
    this.commands = core.commands
    this.threads = threads
    this.faults = o.faults
    this.rateLimits = o.limits
    this.spec = o.spec
    const bot = new BotActions(core, messages, threads)
    this.#http = new HttpSide({ core, bot, interactions, threads }, o.faults, o.limits, o.spec)
  }

  static async start(o: DiscordSimOptions = {}): Promise<DiscordSim> {
    const clock = o.clock ?? systemClock
    const world = new World(clock, o.botName ?? 'turnstone')
    const granted = { messageContent: true, ...o.granted }
    const settings: Settings = {
      historyShowsNonce: o.historyShowsNonce ?? false,
      nonceWindowMs: o.nonceWindowMs ?? limit('nonceWindowMs'),
      archivedRefusesSends: o.archivedRefusesSends ?? false,
      token: o.token ?? `${Buffer.from(world.bot.id).toString('base64url')}.sim.discord-token`,
      privilegedIntents:
        (granted.messageContent ? INTENT.messageContent : 0) |
        (granted.guildMembers ? INTENT.guildMembers : 0) |
        (granted.presences ? INTENT.guildPresences : 0),
    }
    const gateway = new Gateway(world, {
      token: () => settings.token,
      privileged: () => settings.privilegedIntents,
      applicationFlags: () => applicationFlags(settings.privilegedIntents),
      heartbeatMs: o.heartbeatMs ?? limit('heartbeatMs'),
      resumeWindowMs: o.resumeWindowMs ?? limit('resumeWindowMs'),
      url: () => core.origin.replace('http', 'ws'),
    })
    const core: Core = {
      clock,
      world,
      gateway,
      settings,
      commands: new Commands(world),
      requests: [],
      typing: [],
      files: new Map(),
      origin: '',
    }
    const limits = new RateLimits(o.rateLimitNow ?? Date.now)
    const sim = new DiscordSim(core, { limits, faults: new Faults(), spec: await SpecCheck.load() })
    gateway.attach(sim.#http.server)
    core.origin = await sim.#http.listen()
    return sim
  }

  /** Ends connections and the server. Throws if the simulator itself had failed at a request. */
  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.#http.stop()
    if (this.#http.crashes.length) throw new AggregateError(this.#http.crashes, 'the Discord simulator failed')
  }

  /** For rest.api of discord.js, which adds /v10. */
  get apiUrl(): string {
    return `${this.#core.origin}/api`
  }

  /** Where attachments are served, under /attachments. */
  get cdnUrl(): string {
    return this.#core.origin
  }

  get token(): string {
    return this.settings.token
  }

  get bot(): SimUser {
    return this.world.bot
  }

  get requests(): LoggedRequest[] {
    return this.#core.requests
  }

  get specViolations(): SpecViolation[] {
    return this.spec.violations
  }

  /** Grants or takes the privileged message-content switch, for the next IDENTIFY. */
  grantMessageContent(on: boolean): void {
    const bit = INTENT.messageContent
    this.settings.privilegedIntents = on
      ? this.settings.privilegedIntents | bit
      : this.settings.privilegedIntents & ~bit
  }

  guild(name = 'guild'): SimGuild {
    const guild = this.world.addGuild(name)
    this.gateway.dispatch('GUILD_CREATE', INTENT.guilds, () => this.world.guildCreateJson(guild))
    return guild
  }

  user(name: string, ...guilds: SimGuild[]): SimUser {
    const user = this.world.addUser(name)
    for (const guild of guilds) this.world.addMember(guild, user)
    return user
  }

  otherBot(name: string, ...guilds: SimGuild[]): SimUser {
    const user = this.user(name, ...guilds)
    user.bot = true
    return user
  }

  role(
    guild: SimGuild,
    name: string,
    o: { permissions?: PermissionName[]; mentionable?: boolean; members?: SimUser[] } = {},
  ): SimRole {
    const role = this.world.addRole(guild, name, o.permissions, o.mentionable)
    for (const user of o.members ?? []) guild.members.get(user.id)?.roles.push(role.id)
    this.gateway.dispatch('GUILD_ROLE_CREATE', INTENT.guilds, () => ({
      guild_id: guild.id,
      role: this.world.roleJson(role),
    }))
    return role
  }

  channel(guild: SimGuild, name: string, kind: 'text' | 'announcement' | 'forum' = 'text'): SimChannel {
    const channel = this.world.addChannel({ type: CHANNEL[kind], name, guildId: guild.id })
    this.gateway.dispatch('CHANNEL_CREATE', INTENT.guilds, () => this.world.channelJson(channel))
    return channel
  }

  dm(user: SimUser): SimChannel {
    return this.world.dm(user.id)
  }

  /** Takes permissions from the bot in that channel and its threads. */
  deny(channel: SimChannel, ...names: PermissionName[]): void {
    this.#overwrite(channel, (o) => ({ deny: o.deny | bits(names), allow: o.allow & ~bits(names) }))
  }

  /** Gives the bot permissions there, over what roles give. */
  allow(channel: SimChannel, ...names: PermissionName[]): void {
    this.#overwrite(channel, (o) => ({ allow: o.allow | bits(names), deny: o.deny & ~bits(names) }))
  }

  #overwrite(
    channel: SimChannel,
    change: (o: { allow: bigint; deny: bigint }) => { allow: bigint; deny: bigint },
  ): void {
    const home = channel.thread && channel.parentId ? this.world.channel(channel.parentId) : channel
    const old = home.overwrites.get(this.bot.id) ?? { allow: 0n, deny: 0n }
    home.overwrites.set(this.bot.id, { id: this.bot.id, type: 1, ...change(old) })
    this.threads.changed(home)
  }

  archive(thread: SimChannel, locked = false): void {
    this.threads.setArchived(thread, true, locked)
  }

  unarchive(thread: SimChannel): void {
    this.threads.setArchived(thread, false, false)
  }

  deleteChannel(channel: SimChannel): void {
    this.threads.delete(channel)
  }

  /** Posts of people and bots, oldest first: no system lines, nothing deleted or ephemeral. */
  messages(channelId: string): SimMessage[] {
    return this.world.history(channelId).filter(isPosted)
  }

  /** Those of the bot. */
  botMessages(channelId: string): SimMessage[] {
    return this.messages(channelId).filter((m) => m.authorId === this.bot.id)
  }

  /** Ephemeral messages shown to that person, oldest first. */
  ephemerals(userId: string): SimMessage[] {
    return [...this.world.messages.values()].filter((m) => m.ephemeralFor === userId && m.deletedAt === undefined)
  }

  deletedMessages(channelId: string): SimMessage[] {
    return [...this.world.messages.values()].filter((m) => m.channelId === channelId && m.deletedAt !== undefined)
  }

  threadsOf(channelId: string): SimChannel[] {
    return [...this.world.channels.values()].filter((c) => c.thread && c.parentId === channelId)
  }

  /** Times of typing calls. */
  typing(channelId: string): number[] {
    return this.#core.typing.filter((t) => t.channelId === channelId).map((t) => t.at)
  }

  /** Requests by method and path, for counting. */
  requestsTo(method: string, path: RegExp): LoggedRequest[] {
    return this.requests.filter((r) => r.method === method && path.test(r.path))
  }

  permissionsOf(user: SimUser, channel: SimChannel): PermissionName[] {
    const held = this.world.permissions(channel, user.id)
    return (Object.keys(PERMISSION) as PermissionName[]).filter((name) => held & PERMISSION[name])
  }

  /** Sends any event to every session, whatever its intents. */
  dispatchRaw(event: string, data: Json): void {
    this.gateway.dispatch(event, 0, () => data)
  }

  /** Waits in real time until `read` gives something true; rejects after `ms`. */
  async until<T>(read: () => T | undefined | null | false, ms = 5000): Promise<T> {
    const end = Date.now() + ms
    for (;;) {
      const value = read()
      if (value) return value
      if (Date.now() > end) throw new Error(`not within ${ms} ms: ${read}`)
      await new Promise((next) => setTimeout(next, 5))
    }
  }
}
