import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createChannels } from '../../channels/index.ts'
import { createTools, type ToolDeps } from '../../tools/index.ts'
import type { ChannelAdapter, InboundHandler } from '../channel/channel-adapter.ts'
import type { Config } from '../config/config.ts'
import { ownSecrets } from '../config/secrets.ts'
import { HEALTH } from '../copy/health.ts'
import { LOG } from '../copy/log.ts'
import { DISCORD, SLACK } from '../copy/platforms.ts'
import { createCardRedraws } from '../gateway/cards/card-redraws.ts'
import { commandSpecs } from '../gateway/commands/list.ts'
import type { GatewayDeps } from '../gateway/gateway-deps.ts'
import type { Inbox } from '../gateway/incoming/inbox.ts'
import { type Health, healthOf } from '../gateway/operations/health.ts'
import { type HttpServer, startHttpServer } from '../gateway/operations/http-server.ts'
import { createMetrics, type Metrics } from '../gateway/operations/metrics.ts'
import { startReconciler } from '../gateway/operations/reconciler.ts'
import type { Locks } from '../jobs/locks.ts'
import { createModelRegistry } from '../model/model-registry.ts'
import { acquireOwnerLock, type OwnerLock } from '../store/owner-lock.ts'
import { openStore, type SqliteStore, type Store } from '../store/store.ts'
import { createToolCatalog } from '../tool/tool-catalog.ts'
import { countQueued } from '../turn/inbox-messages.ts'
import { messageOf } from '../util/errors.ts'
import { endLeftProcesses } from '../util/left-processes.ts'
import { createLog, type Log } from '../util/log.ts'
import { createRedactor, type Redactor } from '../util/redact.ts'
import { type Clock, sleep, systemClock } from '../util/time.ts'
import { prepareWorkspace, type RunAs } from '../workspace/workspace.ts'
import { countOpenWorkstreams } from '../workstream/workstreams.ts'
import { composeEngine, composeLocal } from './compose.ts'

/** Turns that run side by side. Many: one whose platform is down waits in its place, and must not keep others from theirs. */
const MAX_TURNS_AT_ONCE = 64
/** At a stop running turns may finish for this long, ms; then they are cut and go on at the next start. */
const DRAIN_MS = 3000
/** A channel that does not close in this time is left to the process's end, ms. */
const CLOSE_CHANNEL_MS = 1500
/** How often a second gateway tries to become the first, ms. */
const STANDBY_LOOK_MS = 1000

export interface Overrides {
  readonly clock?: Clock
  readonly log?: Log
  /** Where a child's environment is taken from. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface Gateway {
  /** Where /health answers; known when start() has resolved. */
  readonly url: string
  /** Resolves when the store is open and every channel has tried to connect. Rejects with TurnstoneError. */
  start(): Promise<void>
  /** Takes nothing new, finishes or parks, ends tools. Never rejects. */
  stop(): Promise<void>
}

/** Puts everything together; the only place that knows all parts. */
export function createGateway(config: Config, overrides: Overrides = {}): Gateway {
  const redactor = createRedactor(config.secretValues)
  const log = overrides.log ?? createLog(config.logLevel, redactor)
  return new GatewayProcess(config, redactor, log, overrides.clock ?? systemClock, overrides.env ?? process.env)
}

interface Running {
  readonly store: Store
  readonly adapters: readonly ChannelAdapter[]
  readonly stopQueue: () => Promise<void>
  readonly close: () => void
}

class GatewayProcess implements Gateway {
  readonly #config: Config
  readonly #redactor: Redactor
  readonly #log: Log
  readonly #clock: Clock
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #metrics: Metrics = createMetrics()
  readonly #ending = new AbortController()
  #http: HttpServer | undefined
  #lock: OwnerLock | undefined
  #running: Running | undefined
  #slackRequest: ((request: Request) => Promise<Response>) | undefined
  #health: () => Promise<Health> = async () => ({ ready: false, status: 'starting', reason: HEALTH.starting })

  constructor(
    config: Config,
    redactor: Redactor,
    log: Log,
    clock: Clock,
    env: Readonly<Record<string, string | undefined>>,
  ) {
    this.#config = config
    this.#redactor = redactor
    this.#log = log
    this.#clock = clock
    this.#env = env
  }

  get url(): string {
    return this.#http?.url ?? ''
  }

  async start(): Promise<void> {
    const { http, databaseFile } = this.#config
    this.#http = await startHttpServer(
      { host: http.host, port: http.port, publicUrl: http.public_url },
      { health: () => this.#health(), metrics: () => this.#metrics.text(), slack: () => this.#slackRequest },
      this.#log,
    )
    this.#log.info({ url: this.url }, LOG.listening)
    try {
      await this.#becomeOwner(databaseFile)
      if (this.#ending.signal.aborted) return
      const store = await openStore(databaseFile)
      this.#running = await this.#run(store)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** One gateway serves a database file; a second one waits until the first is gone. */
  async #becomeOwner(file: string): Promise<void> {
    for (let told = false; ; told = true) {
      this.#lock = acquireOwnerLock(file)
      if (this.#lock || this.#ending.signal.aborted) return
      if (!told) this.#log.warn(HEALTH.standby)
      this.#health = async () => ({ ready: false, status: 'standby', reason: HEALTH.standby })
      await sleep(this.#clock, STANDBY_LOOK_MS, this.#ending.signal).catch(() => undefined)
    }
  }

  async #run(store: SqliteStore): Promise<Running> {
    const config = this.#config
    const [clock, log] = [this.#clock, this.#log]
    const workspace = prepareWorkspace(config.workspace)
    const models = createModelRegistry(config.models, config.secrets.modelKeys)
    const local = composeLocal({ config, store, clock, log, redactor: this.#redactor, models })
    const { queue, signals, locks } = local
    const channels = await createChannels(config, { clock, log, locks, commands: commandSpecs(models.aliases) })
    this.#slackRequest = channels.slackRequest
    const adapters = new Map(channels.adapters.map((a) => [a.platform, a]))
    const redraws = createCardRedraws({ ...local, adapters }, this.#ending.signal)
    const deps: GatewayDeps = { ...local, adapters, redraws }
    const tools = createTools(this.#toolDeps(workspace.runAs, locks))
    const engine = composeEngine(deps, {
      models,
      catalog: createToolCatalog(() => tools, log),
      workspaceOf: (id) => workspace.of(id),
      count: (what) => this.#metrics.count(what),
    })
    this.#measure(store, channels.adapters)
    this.#sayAtStart(channels.adapters, workspace.root)
    // Before any turn goes on: the model is told that they were interrupted.
    const left = await endLeftProcesses(tmpdir())
    if (left > 0) log.warn({ processes: left }, LOG.scriptsEnded)
    await queue.work(engine.handleJob, { concurrency: MAX_TURNS_AT_ONCE })
    const stopReconciler = startReconciler(deps, this.#ending.signal)
    signals.onForeignWrite(() => {
      queue.poke()
      redraws.soon()
    })
    await Promise.all(channels.adapters.map((a) => this.#startChannel(a, this.#gated(engine.inbox))))
    this.#health = () => healthOf({ store, adapters: channels.adapters, remarks: [HEALTH.noSandbox] })
    return {
      store,
      adapters: channels.adapters,
      stopQueue: () => queue.stop(DRAIN_MS),
      close: () => {
        stopReconciler()
        signals.stop()
      },
    }
  }

  #toolDeps(runAs: RunAs | undefined, locks: Locks): ToolDeps {
    const { databaseFile, file, tools, sandbox } = this.#config
    const database = ['', '-wal', '-shm', '-journal', '-lock'].map((end) => databaseFile + end)
    const own = [...(file === undefined ? [] : [file]), ...(databaseFile === ':memory:' ? [] : database)]
    return {
      clock: this.#clock,
      locks,
      timeoutMs: tools.timeout * 1000,
      runAs,
      ownPaths: own.flatMap((path) => [path, realOf(path)]),
      env: this.#env,
      passEnv: sandbox.env,
      ownSecrets: ownSecrets(this.#config.secrets),
      redactor: this.#redactor,
    }
  }

  #measure(store: Store, adapters: readonly ChannelAdapter[]): void {
    const metrics = this.#metrics
    metrics.gauge('turnstone_workstreams_open', 'Open conversations.', () => countOpenWorkstreams(store.db))
    metrics.gauge('turnstone_messages_waiting', 'Accepted messages that the model does not have yet.', () =>
      countQueued(store.db),
    )
    metrics.gauge('turnstone_channels_ready', 'Channels that are connected.', () => {
      return adapters.filter((a) => a.state().state === 'ready').length
    })
  }

  #sayAtStart(adapters: readonly ChannelAdapter[], root: string): void {
    const config = this.#config
    for (const note of config.notes) this.#log.warn(note)
    this.#log.warn({ workspace: root }, HEALTH.noSandbox)
    if (config.approvals.skip_permissions) this.#log.warn(LOG.skipPermissions)
    const on = new Set(adapters.map((a) => a.platform))
    const off = [
      ...(on.has('discord') ? [] : [`discord (${DISCORD.turnOn})`]),
      ...(on.has('slack') ? [] : [`slack (${SLACK.turnOn(config.channels.slack.mode)})`]),
    ]
    if (off.length > 0) this.#log.info(HEALTH.channelsOff(off))
  }

  async #startChannel(adapter: ChannelAdapter, inbound: InboundHandler): Promise<void> {
    try {
      await adapter.start(inbound)
      const { state, reason } = adapter.state()
      this.#log.info(
        { channel: adapter.platform, state, ...(reason === undefined ? {} : { reason }) },
        state === 'ready' ? LOG.channelReady : LOG.channelNotReady,
      )
    } catch (error) {
      this.#log.error({ err: error, channel: adapter.platform }, LOG.channelNotStarted)
    }
  }

  /** While stopping nothing is accepted: what a platform repeats is not acknowledged, the rest is read back at the next start. */
  #gated(inbox: Inbox): InboundHandler {
    const open = <T>(run: () => Promise<T>): Promise<T> =>
      this.#ending.signal.aborted ? Promise.reject(new Error('the gateway is stopping')) : run()
    return {
      message: (m) => (this.#ending.signal.aborted ? new Promise(() => undefined) : inbox.message(m)),
      decision: (d) => open(() => inbox.decision(d)),
      command: (c) => open(() => inbox.command(c)),
      deleted: (ref) => open(() => inbox.deleted(ref)),
      missedConversations: (channel) => open(() => inbox.missedConversations(channel)),
    }
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the gateway is stopping'))
    const running = this.#running
    this.#running = undefined
    if (running) {
      await quietly(this.#log, running.stopQueue())
      const closing = running.adapters.map((a) => this.#stopChannel(a))
      await Promise.all(closing)
      running.close()
    }
    await quietly(this.#log, this.#http?.close())
    await quietly(this.#log, running?.store.close())
    this.#lock?.release()
    this.#lock = undefined
  }

  async #stopChannel(adapter: ChannelAdapter): Promise<void> {
    const late = new AbortController()
    const limit = sleep(systemClock, CLOSE_CHANNEL_MS, late.signal).catch(() => undefined)
    await quietly(this.#log, Promise.race([adapter.stop(), limit]))
    late.abort()
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

async function quietly(log: Log, work: Promise<unknown> | undefined): Promise<void> {
  try {
    await work
  } catch (error) {
    log.warn({ reason: messageOf(error) }, LOG.stopFailed)
  }
}
