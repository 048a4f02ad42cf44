import { LOG } from '../copy/log.ts'
import type { ToolSpec } from '../model/message.ts'
import { messageOf } from '../util/errors.ts'
import type { Log } from '../util/log.ts'
import { ArgumentChecker, type Parsed } from './arguments.ts'
import type { CatalogTool } from './catalog-tool.ts'

/** Where the tools come from. They may change at any time; a snapshot does not. */
export interface ToolCatalog {
  /** The tools there are now. Never throws: a tool that cannot be offered is left out. */
  snapshot(): ToolSnapshot
}

/** The tools of one step: what its request offers is what its calls are planned and run with. Immutable. */
export interface ToolSnapshot {
  /** In the order of the catalogue. */
  readonly specs: readonly ToolSpec[]
  readonly names: ReadonlySet<string>
  get(name: string): CatalogTool | undefined
  /** Arguments made to fit the tool's schema, or what is wrong with them. */
  check(tool: CatalogTool, args: Record<string, unknown>): Parsed
}

/** `list` gives the tools of the moment; of two that share a name the first is offered. */
export function createToolCatalog(list: () => readonly CatalogTool[], log: Log): ToolCatalog {
  const checker = new ArgumentChecker()
  const logged = new Set<string>()
  const setAside = (tool: CatalogTool, reason: string): void => {
    const line = `${tool.origin} ${tool.spec.name}: ${reason}`
    if (!logged.has(line)) log.warn({ tool: tool.spec.name, origin: tool.origin, reason }, LOG.toolNotOffered)
    logged.add(line)
  }
  return {
    snapshot() {
      const byName = new Map<string, CatalogTool>()
      for (const tool of list()) {
        const fault = byName.has(tool.spec.name) ? 'another tool has the same name' : schemaFault(checker, tool)
        if (fault === undefined) byName.set(tool.spec.name, tool)
        else setAside(tool, fault)
      }
      return {
        specs: [...byName.values()].map((t) => t.spec),
        names: new Set(byName.keys()),
        get: (name) => byName.get(name),
        check: (tool, args) => checker.check(tool, args),
      }
    },
  }
}

function schemaFault(checker: ArgumentChecker, tool: CatalogTool): string | undefined {
  try {
    checker.compile(tool)
    return undefined
  } catch (error) {
    return `its schema does not compile: ${messageOf(error)}`
  }
}
