import { createSlackAdapter } from '../../channels/slack/adapter.ts'
import type {
  ChannelAdapter,
  CommandReply,
  DecisionReceipt,
  InboundCommand,
  InboundDecision,
  InboundHandler,
  InboundMessage,
  MessageRef,
} from '../../src/channel/channel-adapter.ts'
import { createPostLog } from '../../src/channel/post-log.ts'
import { type Config, configSchema } from '../../src/config/config.ts'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { createLog } from '../../src/util/log.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { type Clock, systemClock } from '../../src/util/time.ts'
import { SlackSim, type SlackSimOptions } from '../simulators/slack/index.ts'

/** A clock that runs `factor` times as fast as the world's: waits of seconds pass in milliseconds, I/O included. */
export function fastClock(factor: number): Clock {
  const began = Date.now()
  return {
    now: () => began + Math.round((Date.now() - began) * factor),
    after(ms, run) {
      const timer = setTimeout(run, ms / factor)
      return () => clearTimeout(timer)
    },
  }
}

/** What the gateway would do, recorded; a test overrides the answers. */
export class FakeInbound implements InboundHandler {
  readonly messages: InboundMessage[] = []
  readonly decisions: InboundDecision[] = []
  readonly commands: InboundCommand[] = []
  readonly removed: MessageRef[] = []
  readonly keys = new Set<string>()
  onMessage: (m: InboundMessage) => Promise<void> = async () => {}
  onDecision: (d: InboundDecision) => Promise<DecisionReceipt> = async () => ({ effective: true, text: '' })
  onCommand: (c: InboundCommand) => Promise<CommandReply> = async () => ({ text: 'done', private: true })
  places: { to: { platform: 'slack'; id: string }; after: number }[] = []

  async message(m: InboundMessage): Promise<void> {
    await this.onMessage(m)
    if (this.keys.has(m.key)) return
    this.keys.add(m.key)
    this.messages.push(m)
  }

  async decision(d: InboundDecision): Promise<DecisionReceipt> {
    this.decisions.push(d)
    return this.onDecision(d)
  }

  async command(c: InboundCommand): Promise<CommandReply> {
    this.commands.push(c)
    return this.onCommand(c)
  }

  async deleted(ref: MessageRef): Promise<void> {
    this.removed.push(ref)
  }

  async missedConversations() {
    return this.places
  }
}

type SlackConfig = Config['channels']['slack']

/** The adapter against a simulated workspace with one person and one channel. */
export class Bench {
  readonly sim: SlackSim
  readonly clock: Clock
  readonly store: Store
  readonly ada: string
  readonly room: string
  readonly lines: string[] = []
  readonly config: SlackConfig
  inbound = new FakeInbound()
  adapter: ChannelAdapter
  onRequest: (request: Request) => Promise<Response>
  readonly #all: ChannelAdapter[] = []

  private constructor(sim: SlackSim, clock: Clock, store: Store, config: Partial<SlackConfig>) {
    this.sim = sim
    this.clock = clock
    this.store = store
    const user = sim.user('ada')
    this.ada = user.id
    this.room = sim.channel('general', { members: [user] }).id
    this.config = { ...configSchema.parse({}).channels.slack, api_url: sim.apiUrl, ...config }
    const made = this.make()
    this.adapter = made.adapter
    this.onRequest = made.onRequest
  }

  static async start(
    options: { factor?: number; config?: Partial<SlackConfig>; sim?: SlackSimOptions; begin?: boolean } = {},
  ): Promise<Bench> {
    const clock = fastClock(options.factor ?? 10)
    const sim = await SlackSim.start({ clock, ackClock: systemClock, ...options.sim })
    const bench = new Bench(sim, clock, await openStore(':memory:'), options.config ?? {})
    if (options.begin !== false) await bench.adapter.start(bench.inbound)
    return bench
  }

  make() {
    const log = createLog('debug', createRedactor([]), (line) => void this.lines.push(line))
    const made = createSlackAdapter({
      config: this.config,
      tokens: { bot: this.sim.botToken, app: this.sim.appToken, signingSecret: this.sim.signingSecret },
      deps: { clock: this.clock, log, locks: createLocalLocks(), commands: [] },
    })
    this.#all.push(made.adapter)
    return made
  }

  /** As after a kill and a new start: the old adapter does nothing any more, a new one takes its place. */
  async restart(): Promise<void> {
    await this.adapter.stop()
    const made = this.make()
    this.adapter = made.adapter
    this.onRequest = made.onRequest
    await this.adapter.start(this.inbound)
  }

  get posts() {
    return createPostLog(this.store, this.clock)
  }

  async stop(): Promise<void> {
    for (const adapter of this.#all) await adapter.stop()
    await this.sim.stop()
    await this.store.close()
  }
}
