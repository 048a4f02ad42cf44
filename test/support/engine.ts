import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { composeEngine, composeLocal } from '../../src/app/compose.ts'
import type { InboundMessage, Platform } from '../../src/channel/channel-adapter.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { createCardRedraws } from '../../src/gateway/cards/card-redraws.ts'
import type { GatewayDeps } from '../../src/gateway/gateway-deps.ts'
import type { ModelProvider } from '../../src/model/model-provider.ts'
import { openStore } from '../../src/store/store.ts'
import type { CatalogTool } from '../../src/tool/catalog-tool.ts'
import { createToolCatalog } from '../../src/tool/tool-catalog.ts'
import { createLog } from '../../src/util/log.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { type Clock, systemClock } from '../../src/util/time.ts'
import { FakeAdapter, FakePlatform } from './fake-adapter.ts'

export const USERS = {
  alice: { role: 'member' as const, discord: ['u-alice'], slack: ['U-alice'] },
  bob: { role: 'member' as const, discord: ['u-bob'], slack: ['U-bob'] },
  root: { role: 'admin' as const, discord: ['u-root'], slack: [] },
}

/** Real store, queue, inbox and turn engine; a fake platform and a given model. */
export async function startEngine(options: {
  model: ModelProvider
  tools?: readonly CatalogTool[]
  platform?: FakePlatform
  file?: string
  clock?: Clock
  config?: (config: Config) => Config
  secrets?: readonly string[]
  channel?: Platform
  /** The workspace of every workstream. */
  root?: string
  /** Models by alias; the first is the default. */
  aliases?: readonly string[]
}) {
  const clock = options.clock ?? systemClock
  const base = loadConfig({}, { env: {}, cwd: mkdtempSync(join(tmpdir(), 'engine-')), home: '/nonexistent' })
  const config = (options.config ?? ((c) => c))({ ...base, users: USERS })
  const lines: string[] = []
  const redactor = createRedactor(options.secrets ?? [])
  const log = createLog('debug', redactor, (line) => lines.push(line))
  const store = await openStore(options.file ?? ':memory:')
  const platform = options.platform ?? new FakePlatform()
  const adapter = new FakeAdapter(platform, { platform: options.channel ?? 'discord', clock })
  const aliases = options.aliases ?? ['main', 'other']
  const models = {
    defaultAlias: aliases[0] ?? '',
    aliases,
    label: (a: string) => a,
    get: async (alias: string) => {
      if (!aliases.includes(alias)) throw new Error(`no model is named "${alias}"`)
      return options.model
    },
  }
  const local = composeLocal({ config, store, clock, log, redactor, models })
  const { queue, signals } = local
  const adapters = new Map([[adapter.platform, adapter]])
  const life = new AbortController()
  const redraws = createCardRedraws({ ...local, adapters }, life.signal)
  const deps: GatewayDeps = { ...local, adapters, redraws }
  const counts: string[] = []
  const { inbox, handleJob } = composeEngine(deps, {
    models,
    catalog: createToolCatalog(() => options.tools ?? [], log),
    workspaceOf: async () => options.root ?? tmpdir(),
    count: (what) => counts.push(what),
  })
  await queue.work(handleJob, { concurrency: 8 })
  await adapter.start(inbox)
  return {
    ...deps,
    inbox,
    adapter,
    platform,
    counts,
    logLines: lines,
    async stop(graceMs = 0) {
      await queue.stop(graceMs)
      life.abort(new Error('stopped'))
      signals.stop()
      await store.close()
    },
  }
}

let nextMessage = 1

/** A message of a person in a Discord-like place: in a channel it begins a thread of its own id. */
export function message(
  author: string,
  text: string,
  at: { thread?: string; dm?: string; id?: string } = {},
): InboundMessage {
  const id = at.id ?? `m${nextMessage++}`
  const channel = at.thread ?? at.dm ?? 'chan'
  const place = { platform: 'discord' as const, id: at.thread ?? at.dm ?? id }
  return {
    key: `discord:${id}`,
    platform: 'discord',
    author: { id: `u-${author}`, name: author, bot: false },
    text,
    attachments: [],
    ref: { platform: 'discord', channel, id },
    sentAt: Date.now(),
    addressed: at.dm ? 'direct' : at.thread ? 'thread' : 'mention',
    location:
      at.thread || at.dm
        ? { kind: 'conversation', to: place, startedByPeople: false }
        : { kind: 'channel', channel: 'chan', to: place },
  }
}

/** Looks until it holds; real time, for what other parts do meanwhile. */
export async function until<T>(look: () => T | Promise<T>, ms = 15_000): Promise<NonNullable<T>> {
  const end = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`did not come true within ${ms} ms: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
