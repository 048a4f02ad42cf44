import type { CatalogTool } from '../src/tool/catalog-tool.ts'
import { bash } from './bash.ts'
import { diffFile } from './diff_file.ts'
import { editFile } from './edit_file.ts'
import { readFile } from './read_file.ts'
import { search } from './search.ts'
import type { ToolSettings } from './support/settings.ts'
import { writeFile } from './write_file.ts'

/** The built-in tools, in the order in which a model sees them. */
export function createTools(settings: ToolSettings): readonly CatalogTool[] {
  return [bash, readFile, writeFile, editFile, diffFile, search].map((make) => make(settings))
}
