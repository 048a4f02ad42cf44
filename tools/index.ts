import type { CatalogTool } from '../src/tool/catalog-tool.ts'
import { createBashTool } from './bash.ts'
import { createDiffFileTool } from './diff_file.ts'
import { createEditFileTool } from './edit_file.ts'
import { createReadFileTool } from './read_file.ts'
import { createSearchTool } from './search.ts'
import type { ToolSettings } from './support/settings.ts'
import { createWriteFileTool } from './write_file.ts'

/** The built-in tools, in the order in which a model sees them. */
export function createTools(settings: ToolSettings): readonly CatalogTool[] {
  return [
    createBashTool,
    createReadFileTool,
    createWriteFileTool,
    createEditFileTool,
    createDiffFileTool,
    createSearchTool,
  ].map((make) => make(settings))
}
