import type { CatalogTool, RunContext, ToolResult } from '../../src/tool/catalog-tool.ts'
import { defineTool } from '../../src/tool/define-tool.ts'
import { success } from '../../src/tool/run-plan.ts'

/** A tool whose runs are counted and whose course a test decides. */
export function probeTool(
  name: string,
  options: {
    asks?: boolean
    run?: (args: { text?: string }, context: RunContext) => Promise<ToolResult>
    fingerprint?: () => string
    payload?: (text: string) => string
  } = {},
): CatalogTool & { readonly runs: string[] } {
  const runs: string[] = []
  const file = {
    name,
    description: name,
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    agent: false,
    task_agent: false,
    auto_approve: !options.asks,
    primary_key: 'text',
  }
  const tool = defineTool<{ text?: string }>(file, async (args) => {
    const text = args.text ?? ''
    return {
      kind: 'ready',
      header: `${name} ${text}`,
      payload: { filename: 'text.txt', text: options.payload?.(text) ?? text },
      needsApproval: options.asks ?? false,
      label: name,
      acts: [{ act: 'exec', label: name, name }],
      fingerprint: options.fingerprint?.() ?? text,
      run: async (context) => {
        runs.push(text)
        return options.run ? options.run(args, context) : success(`${name} ran ${text}`)
      },
    }
  })
  return { ...tool, runs }
}
