import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { imageMime } from '../src/util/image-mime.ts'
import { hashOf, isBinary, readWholeFile } from '../src/workspace/files.ts'
import { type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './read_file.json' with { type: 'json' }
import { checkUnmoved, observed, pathAct, planned } from './support/plans.ts'

interface Args {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Largest image that is sent, bytes. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

export interface ReadFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
}

/** Numbered lines of text, or an image; what was read is remembered with its hash. */
export function createReadFileTool({ ownPaths }: ReadFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const rules = { root: scope.root, ownPaths }
      const place = await resolvePath(args.path, rules)
      await markEarly(place, scope)
      return {
        kind: 'ready',
        header: place.shown,
        payload: { filename: 'path.txt', text: place.path },
        needsApproval: false,
        label: 'read_file',
        acts: [{ act: 'exec', label: 'read_file', name: 'read_file' }, pathAct('read', place)],
        fingerprint: JSON.stringify([place.path, args.offset, args.limit]),
        run: () => observed(() => run(args, { place, rules }, scope)),
      }
    }),
  )
}

/** An edit in the same step relies on this read: inside the workspace it counts as soon as it is planned. */
async function markEarly(place: ResolvedPath, scope: PlanScope): Promise<void> {
  if (place.zone !== 'workspace' || !place.exists) return
  const bytes = await readWholeFile(place).catch(() => undefined)
  if (bytes) scope.files.markRead(place.path, hashOf(bytes))
}

async function run(
  args: Args,
  { place, rules }: { place: ResolvedPath; rules: PathRules },
  scope: PlanScope,
): Promise<ToolResult> {
  let bytes: Buffer
  try {
    await checkUnmoved(args.path, place, rules)
    bytes = await readWholeFile(place)
  } catch (error) {
    scope.files.unmark(place.path)
    throw error
  }
  const image = imageKind(bytes)
  if (image) {
    scope.files.markRead(place.path, hashOf(bytes))
    return imageResult(place, bytes, image, scope.vision)
  }
  if (isBinary(bytes)) {
    scope.files.unmark(place.path)
    return failure(`Error: ${place.shown} is a binary file (${bytes.length} bytes).`)
  }
  scope.files.markRead(place.path, hashOf(bytes))
  return success(numbered(bytes.toString('utf8'), args))
}

function numbered(text: string, { offset = 1, limit }: Args): string {
  if (text === '') return '(empty file)'
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  if (offset > lines.length) return `(the file has ${lines.length} lines; line ${offset} is past the end)`
  const end = limit === undefined ? lines.length : offset - 1 + limit
  return lines
    .slice(offset - 1, end)
    .map((line, i) => `${String(offset + i).padStart(4)}\t${line}`)
    .join('\n')
}

/** Also recognizes image formats that no provider accepts. */
function imageKind(bytes: Uint8Array): string | undefined {
  const known = imageMime(bytes)
  if (known) return known
  const head = Buffer.from(bytes.subarray(0, 4)).toString('latin1')
  if (head.startsWith('BM') && isBinary(bytes)) return 'image/bmp'
  if (head === 'II*\u0000' || head === 'MM\u0000*') return 'image/tiff'
  return head === '\u0000\u0000\u0001\u0000' ? 'image/x-icon' : undefined
}

function imageResult(place: ResolvedPath, bytes: Buffer, mime: string, vision: boolean): ToolResult {
  const named = `${place.shown}: ${mime}, ${bytes.length} bytes`
  if (!imageMime(bytes)) return success(`[image ${named}; models cannot view this format]`)
  if (!vision) return success(`[image ${named}; this model cannot see images]`)
  if (bytes.length > MAX_IMAGE_BYTES) return success(`[image ${named}; too large to show, the limit is 4 MB]`)
  return {
    content: [
      { type: 'text', text: `[image ${named}]` },
      { type: 'image', mime, base64: bytes.toString('base64') },
    ],
    isError: false,
  }
}
