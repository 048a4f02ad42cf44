import type { Attachment } from '../channel/channel-adapter.ts'
import { ATTACHMENT } from '../copy/turns.ts'
import type { ContentPart } from '../model/message.ts'
import { messageOf } from '../util/errors.ts'
import { imageMime } from '../util/image-mime.ts'
import type { Redactor } from '../util/redact.ts'
import { oneLine } from '../util/visible.ts'

const MAX_FILES = 10
const MAX_BYTES = 20 * 1024 * 1024
const MAX_TEXT_BYTES = 256 * 1024
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

export interface Received {
  readonly parts: readonly ContentPart[]
  /** What was not taken and why, a line each; told to the person and the model. */
  readonly refused: readonly string[]
}

/** Downloads a message's files: text is inlined, images go to a model with vision, the rest is named with the reason. */
export async function receiveAttachments(
  files: readonly Attachment[],
  tools: {
    vision: boolean
    redactor: Redactor
    download: (file: Attachment, maxBytes: number) => Promise<Uint8Array>
  },
  signal: AbortSignal,
): Promise<Received> {
  const parts: ContentPart[] = []
  const refused: string[] = []
  for (const [index, file] of files.entries()) {
    const given = tools.redactor.redact(file.name).replaceAll('\\', '/').split('/').at(-1) ?? ''
    const name = oneLine(given, 100) || 'file'
    const outcome = await receive(file, index, tools).catch((error: unknown): Outcome => {
      signal.throwIfAborted()
      return { kind: 'refused', why: ATTACHMENT.failed(tools.redactor.redact(messageOf(error))) }
    })
    if (outcome.kind === 'refused') refused.push(`${name}: ${outcome.why}`)
    else if (outcome.kind === 'text') parts.push({ type: 'text', text: inlined(name, outcome.text) })
    else parts.push({ type: 'text', text: `Attached image: ${name}` }, outcome.image)
  }
  if (refused.length > 0) parts.push({ type: 'text', text: `Attachments that you cannot see:\n${refused.join('\n')}` })
  return { parts, refused }
}

type Outcome =
  | { readonly kind: 'image'; readonly image: ContentPart }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly why: string }

async function receive(
  file: Attachment,
  index: number,
  tools: Parameters<typeof receiveAttachments>[1],
): Promise<Outcome> {
  const no = (why: string): Outcome => ({ kind: 'refused', why })
  if (index >= MAX_FILES) return no(ATTACHMENT.tooMany(MAX_FILES))
  if (file.size > MAX_BYTES) return no(ATTACHMENT.tooLarge)
  const bytes = await tools.download(file, MAX_BYTES)
  if (bytes.length === 0) return no(ATTACHMENT.empty)
  const mime = imageMime(bytes)
  if (mime) {
    if (!tools.vision) return no(ATTACHMENT.noVision)
    if (bytes.length > MAX_IMAGE_BYTES) return no(ATTACHMENT.largeImage)
    return { kind: 'image', image: { type: 'image', mime, base64: Buffer.from(bytes).toString('base64') } }
  }
  const text = utf8(bytes)
  if (text === undefined) return no(ATTACHMENT.unknownKind)
  if (bytes.length > MAX_TEXT_BYTES) return no(ATTACHMENT.largeText)
  return { kind: 'text', text: tools.redactor.redact(text) }
}

function inlined(name: string, text: string): string {
  return `Attached file ${name}:\n<attachment>\n${text}\n</attachment>`
}

function utf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
