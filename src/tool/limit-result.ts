import type { ContentPart } from '../model/message.ts'
import type { ToolResult } from './catalog-tool.ts'

/** No result is cut below this, characters: an error or an exit code must stay readable. */
const MIN_RESULT_CHARS = 2048
/** No result is longer, bytes. */
const MAX_RESULT_BYTES = 256 * 1024
const CHARS_PER_TOKEN = 4

/** Characters a result may have: the least of 256 KiB, half the window and what is left of it; never under 2,048. */
export function resultLimit(contextWindow: number, usedTokens: number): number {
  const half = (contextWindow / 2) * CHARS_PER_TOKEN
  const left = (contextWindow - usedTokens) * CHARS_PER_TOKEN
  return Math.max(MIN_RESULT_CHARS, Math.floor(Math.min(MAX_RESULT_BYTES, half, left)))
}

/** The result's content within the limit, head and tail kept; its trailer comes after the cut, never inside. */
export function limitedContent(result: ToolResult, limit: number): readonly ContentPart[] {
  const parts = result.content.map((p) => (p.type === 'text' ? { ...p, text: cutMiddle(p.text, limit) } : p))
  if (result.trailer === undefined) return parts
  const last = parts.at(-1)
  if (last?.type !== 'text') return [...parts, { type: 'text', text: result.trailer }]
  return [...parts.slice(0, -1), { type: 'text', text: last.text ? `${last.text}\n${result.trailer}` : result.trailer }]
}

/** At most `limit` characters and 256 KiB, the notice included; never half a surrogate pair. */
export function cutMiddle(text: string, limit: number): string {
  const bytes = Buffer.byteLength(text)
  const most = bytes > MAX_RESULT_BYTES ? Math.min(limit, Math.floor((MAX_RESULT_BYTES / bytes) * text.length)) : limit
  if (text.length <= most) return text
  const notice = (dropped: number): string =>
    `\n\n[… ${dropped} characters omitted; the call did run, do not repeat it just to see them …]\n\n`
  const room = Math.max(0, most - notice(text.length).length)
  const head = text.slice(0, Math.ceil(room / 2)).replace(/[\uD800-\uDBFF]$/, '')
  const tailStart = text.length - Math.floor(room / 2)
  const tail = room < 2 ? '' : text.slice(tailStart).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}${notice(text.length - head.length - tail.length)}${tail}`
}
