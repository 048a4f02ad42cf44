import type { CatalogTool, PlanScope, ToolResult } from '../src/tool/catalog-tool.ts'
import { defineTool } from '../src/tool/define-tool.ts'
import { failure, success } from '../src/tool/run-plan.ts'
import { imageMime } from '../src/util/image-mime.ts'
import type { Redactor } from '../src/util/redact.ts'
import { isBinary, readWholeFile, scanFile } from '../src/workspace/files.ts'
import { type PathRules, type ResolvedPath, resolvePath } from '../src/workspace/paths.ts'
import file from './read_file.json' with { type: 'json' }
import { NumberedLines } from './support/numbered-lines.ts'
import { checkUnmoved, observed, pathAct, planned } from './support/plans.ts'

interface Args {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Largest image that is sent, bytes. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

/** What providers take. */
const SENT_IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** What tells the kind of a file, bytes. */
const HEAD_BYTES = 8192
/** Room for what is said of lines that are not shown, characters. */
const NOTE_CHARS = 200

export interface ReadFileDeps {
  /** The gateway's own files and folders, absolute after symlinks. */
  readonly ownPaths: readonly string[]
  /** Long lines lose their secrets before they are cut. */
  readonly redactor: Redactor
}

/** Numbered lines of text, or an image; what was read is remembered with its hash. */
export function createReadFileTool({ ownPaths, redactor }: ReadFileDeps): CatalogTool {
  return defineTool<Args>(file, (args, scope) =>
    planned(async () => {
      const rules = { root: scope.root, ownPaths }
      const place = await resolvePath(args.path, rules)
      return {
        kind: 'ready',
        header: place.shown,
        payload: { filename: 'path.txt', text: place.path },
        needsApproval: false,
        label: 'read_file',
        acts: [{ act: 'exec', label: 'read_file', name: 'read_file' }, pathAct('read', place)],
        fingerprint: JSON.stringify([place.path, args.offset, args.limit]),
        effects: { reads: [place.path] },
        run: ({ resultLimit }) =>
          observed(() => run(args, { place, rules }, scope, { room: resultLimit - NOTE_CHARS, redactor })),
      }
    }),
  )
}

async function run(
  args: Args,
  { place, rules }: { place: ResolvedPath; rules: PathRules },
  scope: PlanScope,
  { room, redactor }: { room: number; redactor: Redactor },
): Promise<ToolResult> {
  const range = { offset: args.offset ?? 1, limit: args.limit ?? Number.POSITIVE_INFINITY, room }
  const lines = new NumberedLines(range, redactor)
  let hash: string
  let head: Buffer | undefined
  let size = 0
  try {
    await checkUnmoved(args.path, place, rules)
    hash = await scanFile(place, (piece) => {
      head ??= Buffer.from(piece.subarray(0, HEAD_BYTES))
      size += piece.length
      lines.push(piece)
    })
  } catch (error) {
    scope.files.unmark(place.path)
    throw error
  }
  const image = head && imageKind(head)
  if (!image && head && isBinary(head)) {
    scope.files.unmark(place.path)
    return failure(`Error: ${place.shown} is a binary file (${size} bytes).`)
  }
  scope.files.markRead(place.path, hash)
  return image ? imageResult(place, size, image, scope.vision) : success(lines.end())
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

async function imageResult(place: ResolvedPath, size: number, mime: string, vision: boolean): Promise<ToolResult> {
  const named = `${place.shown}: ${mime}, ${size} bytes`
  if (!SENT_IMAGES.has(mime)) return success(`[image ${named}; models cannot view this format]`)
  if (!vision) return success(`[image ${named}; this model cannot see images]`)
  if (size > MAX_IMAGE_BYTES) return success(`[image ${named}; too large to show, the limit is 4 MB]`)
  const bytes = await readWholeFile(place)
  return {
    content: [
      { type: 'text', text: `[image ${named}]` },
      { type: 'image', mime, base64: bytes.toString('base64') },
    ],
    isError: false,
  }
}
