import type { ToolSpec } from '../model/message.ts'
import type { CatalogTool } from './catalog-tool.ts'

/** All tools there are, and the sets derived from their files. */
export interface ToolCatalog {
  readonly tools: readonly CatalogTool[]
  get(name: string): CatalogTool | undefined
  /** In the order of the catalogue. */
  readonly specs: readonly ToolSpec[]
  readonly names: ReadonlySet<string>
  readonly agentTools: readonly CatalogTool[]
  readonly taskAgentTools: readonly CatalogTool[]
  /** Names that never ask in sub-agents. */
  readonly autoTools: ReadonlySet<string>
  readonly primaryKeys: ReadonlyMap<string, string>
}

/** Throws where two tools share a name. */
export function createToolCatalog(tools: readonly CatalogTool[]): ToolCatalog {
  const byName = new Map(tools.map((t) => [t.spec.name, t]))
  if (byName.size !== tools.length) throw new Error('two tools share a name')
  return {
    tools,
    get: (name) => byName.get(name),
    specs: tools.map((t) => t.spec),
    names: new Set(byName.keys()),
    agentTools: tools.filter((t) => t.traits.agent),
    taskAgentTools: tools.filter((t) => t.traits.taskAgent),
    autoTools: new Set(tools.filter((t) => t.traits.autoApprove).map((t) => t.spec.name)),
    primaryKeys: new Map(tools.flatMap((t) => (t.primaryKey === undefined ? [] : [[t.spec.name, t.primaryKey]]))),
  }
}
