import type { CatalogTool } from '../src/tool/catalog-tool.ts'
import { type BashDeps, createBashTool } from './bash.ts'
import { createDiffFileTool, type DiffFileDeps } from './diff_file.ts'
import { createEditFileTool, type EditFileDeps } from './edit_file.ts'
import { createReadFileTool, type ReadFileDeps } from './read_file.ts'
import { createSearchTool, type SearchDeps } from './search.ts'
import { createWriteFileTool, type WriteFileDeps } from './write_file.ts'

/** What the built-in tools need together; each names its own part. */
export type ToolDeps = BashDeps & ReadFileDeps & WriteFileDeps & EditFileDeps & DiffFileDeps & SearchDeps

/** The built-in tools, in the order in which a model sees them. */
export function createTools(all: ToolDeps): readonly CatalogTool[] {
  return [
    createBashTool(all),
    createReadFileTool(all),
    createWriteFileTool(all),
    createEditFileTool(all),
    createDiffFileTool(all),
    createSearchTool(all),
  ]
}
