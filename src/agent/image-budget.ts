import type { ImageRef } from '../turn/journal.ts'
import { IMAGE_TOKENS } from '../turn/weight.ts'

/** Images in one request: more of them, or larger, and some providers refuse it or shrink them all. */
const MAX_IMAGES = 20
/** Their bytes: base64 makes a third more of them, and the smallest limit of a provider is 20 MB for a whole request. */
const MAX_IMAGE_BYTES = 12 * 1024 * 1024
/** Share of a request's room that images may take. */
const IMAGE_SHARE = 0.5

/**
 * The images that a request leaves out, the oldest first. When they become too many, half of them go at once, so that the
 * beginning of requests stays the same for a while. Given in the order of the conversation; the same list gives the same.
 */
export function imagesLeftOut(images: readonly ImageRef[], room: number): ReadonlySet<ImageRef> {
  const most = Math.min(MAX_IMAGES, Math.max(1, Math.floor((room * IMAGE_SHARE) / IMAGE_TOKENS)))
  let from = 0
  let bytes = 0
  for (const [i, image] of images.entries()) {
    bytes += image.bytes
    if (i - from + 1 <= most && bytes <= MAX_IMAGE_BYTES) continue
    while (from < i && (i - from + 1 > Math.ceil(most / 2) || bytes > MAX_IMAGE_BYTES / 2)) {
      bytes -= images[from]?.bytes ?? 0
      from++
    }
  }
  return new Set(images.slice(0, from))
}

/** What takes its place; a line before it names the file. */
export const LEFT_OUT_IMAGE = ({ mime, bytes }: ImageRef): string =>
  `[image (${mime}, ${Math.ceil(bytes / 1024)} KB) left out to save room; read the file again, or ask for the image, if you need it]`
