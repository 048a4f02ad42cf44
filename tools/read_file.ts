import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { imageMime } from '../src/util/image-mime.ts'
import { hashOf, isBinary, readWholeFile } from '../src/workspace/files.ts'
import { type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './read_file.json' with { type: 'json' }
import { observed, pathAct, planned, stillAt } from './support/plans.ts'
import type { ToolSettings } from './support/settings.ts'

interface Args {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Largest image that is sent, bytes. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

/** Numbered lines of text, or an image; what was read is remembered with its hash. */
export function createReadFileTool(settings: ToolSettings): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const place = await resolvePath(args.path, { root: scope.root, ownPaths: settings.ownPaths })
      await markEarly(place, scope)
      return {
        kind: 'ready',
        header: place.shown,
        payload: { filename: 'path.txt', text: place.path },
        needsApproval: false,
        label: 'read_file',
        acts: [{ act: 'exec', label: 'read_file', name: 'read_file' }, pathAct('read', place)],
        fingerprint: JSON.stringify([place.path, args.offset, args.limit]),
        run: () => observed(() => run(args, place, scope, settings)),
      }
    }),
  )
}

/** An edit in the same step counts on this read: inside the workspace it is noted when it is planned. */
async function markEarly(place: ResolvedPath, scope: PlanScope): Promise<void> {
  if (place.zone !== 'workspace' || !place.exists) return
  const bytes = await readWholeFile(place).catch(() => undefined)
  if (bytes) scope.files.markRead(place.path, hashOf(bytes))
}

async function run(args: Args, place: ResolvedPath, scope: PlanScope, settings: ToolSettings): Promise<ToolResult> {
  let bytes: Buffer
  try {
    await stillAt(args.path, place, scope, settings)
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
    return failure(`Error: ${place.shown} is a binary file (${bytes.length} bytes)`)
  }
  scope.files.markRead(place.path, hashOf(bytes))
  return success(numbered(bytes.toString('utf8'), args))
}

function numbered(text: string, { offset = 1, limit }: Args): string {
  if (text === '') return '(empty file)'
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  if (offset > lines.length) return `(the file has ${lines.length} lines; line ${offset} is past its end)`
  const end = limit === undefined ? lines.length : offset - 1 + limit
  return lines
    .slice(offset - 1, end)
    .map((line, i) => `${String(offset + i).padStart(4)}\t${line}`)
    .join('\n')
}

/** Formats that are images although no provider takes them. */
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
  if (!imageMime(bytes)) return success(`[image ${named}; this format cannot be shown to a model]`)
  if (!vision) return success(`[image ${named}; this model cannot see images]`)
  if (bytes.length > MAX_IMAGE_BYTES)
    return success(`[image ${named}; larger than the 4 MB that can be shown to a model]`)
  return {
    content: [
      { type: 'text', text: `[image ${named}]` },
      { type: 'image', mime, base64: bytes.toString('base64') },
    ],
    isError: false,
  }
}
