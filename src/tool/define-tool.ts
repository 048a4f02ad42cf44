import type { CatalogTool, PlanScope, ToolPlan } from './catalog-tool.ts'

/** A tool's JSON file: what the model sees, and beside it our own keys. */
export interface ToolFile {
  readonly name: string
  readonly description: string
  /** JSON Schema; our own keyword `"clamp": true` beside minimum and maximum moves a number into the range instead of refusing it. */
  readonly parameters: object
  /** Offered to planning sub-agents. */
  readonly agent: boolean
  /** Offered to task sub-agents. */
  readonly task_agent: boolean
  /** Runs without approval in sub-agents; in the main session the plan decides. */
  readonly auto_approve: boolean
  /** Where a bare string goes. */
  readonly primary_key: string
}

/** `plan` gets arguments that fit the schema; `Args` says what the schema promises (a test compares the two). */
export function defineTool<Args>(
  file: ToolFile,
  plan: (args: Args, scope: PlanScope) => Promise<ToolPlan>,
): CatalogTool {
  const { name, description } = file
  const schema = file.parameters as CatalogTool['schema']
  return {
    spec: { name, description, parameters: withoutClamps(schema) as CatalogTool['schema'] },
    schema,
    primaryKey: file.primary_key,
    origin: 'built-in',
    traits: { agent: file.agent, taskAgent: file.task_agent, autoApprove: file.auto_approve },
    plan: (args, scope) => plan(args as Args, scope),
  }
}

/** The schema as models know it: some servers refuse keywords that JSON Schema does not have. */
function withoutClamps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutClamps)
  if (typeof value !== 'object' || value === null) return value
  // `clamp: true` is the keyword; a property of that name has a schema as its value.
  const kept = Object.entries(value).filter(([key, v]) => key !== 'clamp' || typeof v !== 'boolean')
  return Object.fromEntries(kept.map(([key, v]) => [key, withoutClamps(v)]))
}
