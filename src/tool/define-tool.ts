import type { ToolSpec } from '../model/message.ts'
import type { CatalogTool, PlanScope, ToolPlan } from './catalog-tool.ts'

/** A tool's JSON file: what the model sees, and beside it keys of ours. */
export interface ToolFile {
  readonly name: string
  readonly description: string
  readonly parameters: object
  /** Offered to planning sub-agents. */
  readonly agent: boolean
  /** Offered to task sub-agents. */
  readonly task_agent: boolean
  /** Unasked in sub-agents; in the main session the plan decides. */
  readonly auto_approve: boolean
  /** Where a bare string goes. */
  readonly primary_key: string
}

/** `plan` gets arguments that fit the schema; `Args` is what the schema promises. */
export function defineTool<Args>(
  file: ToolFile,
  plan: (args: Args, scope: PlanScope) => Promise<ToolPlan>,
): CatalogTool {
  const { name, description, parameters } = file
  return {
    spec: { name, description, parameters: parameters as ToolSpec['parameters'] },
    primaryKey: file.primary_key,
    origin: 'built-in',
    traits: { agent: file.agent, taskAgent: file.task_agent, autoApprove: file.auto_approve },
    plan: (args, scope) => plan(args as Args, scope),
  }
}
