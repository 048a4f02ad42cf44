import type { CardCall } from '../../src/approval/approval.ts'
import type { CardView } from '../../src/channel/card.ts'
import type { DecisionAction } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import {
  ALWAYS_COVERS,
  APPROVAL_NEEDED,
  BUTTONS,
  CHANGED,
  expires,
  fileLine,
  hiddenCharacters,
  manyCalls,
  NO_FURTHER_INPUT,
  NOTE,
  OUTCOMES,
  REASON,
} from '../../src/copy/cards.ts'
import { makeVisible, oneLine } from '../../src/util/visible.ts'
import { hiddenMarks } from '../support/hidden-marks.ts'
import { LIMITS } from './limits.ts'
import { escapeText, inlineCode } from './markdown.ts'
import { fileName } from './parts.ts'

export interface CardFile {
  readonly name: string
  readonly data: string
}

export interface RenderedCard {
  readonly content: string
  readonly components: readonly unknown[]
  readonly files: readonly CardFile[]
}

/** Room kept for a card's first and last line in any state, UTF-16 units. */
const MAX_FRAME_CHARS = 420
/** Longest note shown on a closed card; the whole note is in the journal. */
const MAX_NOTE_CHARS = 250
/** Room a line of text gets. A header is never cut on an open card: it may be a path that is written. */
const SIZES = [
  { header: 700, text: 300 },
  { header: 700, text: 120 },
] as const
/** A closed card that no longer fits may be shortened: it asks for nothing. */
const CLOSED = { header: 40, text: 60 } as const
type Size = (typeof SIZES)[number] | typeof CLOSED

/** How a card's calls are shown; the same for every state of the card, so that its files stay what they are. */
interface Layout {
  readonly body: string
  readonly files: readonly CardFile[]
}

/**
 * An approval as one message. A payload that does not fit is a file of exactly its bytes. Throws PostRefused where an
 * open card cannot show all that would run; a closed one is shortened instead.
 */
export function renderCard(card: CardView): RenderedCard {
  const layout = layOut(card)
  if (card.state.kind === 'open') {
    if (!layout) throw new PostRefusedError('unshowable')
    return {
      content: frame(openHead(card), layout.body, expiry(card.state.expiresAt)),
      components: buttons(card),
      files: layout.files,
    }
  }
  const head = closedHead(card)
  const body = layout?.body ?? card.calls.map((call, i) => title(call, i, CLOSED)).join('\n')
  const content = frame(head, body, '')
  return {
    content: content.length <= LIMITS.content ? content : `${content.slice(0, LIMITS.content - 2)}\n…`,
    components: [],
    files: [],
  }
}

function frame(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
}

function openHead(card: CardView): string {
  return `🔐 **${APPROVAL_NEEDED}**${manyCalls(card.calls.length)} · turn ${inlineCode(oneLine(card.turn, 20))}`
}

function expiry(at: number | undefined): string {
  return at === undefined ? '' : `-# ${expires(`<t:${Math.floor(at / 1000)}:R>`)}`
}

function closedHead(card: CardView): string {
  if (card.state.kind !== 'closed') return ''
  const { outcome, by, note } = card.state
  const { sign, title, byPerson, after } = OUTCOMES[outcome]
  const who = by === undefined || !byPerson ? '' : ` by ${escapeText(oneLine(by, 60))}`
  const line = `${sign} **${title}**${who}${after} · turn ${inlineCode(oneLine(card.turn, 20))}`
  return note ? `${line}\n${NOTE} ${inlineCode(oneLine(note, MAX_NOTE_CHARS))}` : line
}

/** Payloads stand on the card as long as they fit; the longest go into files first. Undefined where it cannot be shown. */
function layOut(card: CardView): Layout | undefined {
  const room = LIMITS.content - MAX_FRAME_CHARS
  for (const size of SIZES) {
    const attached = new Set(card.calls.flatMap((call, i) => (showsWhole(call) ? [] : [i])))
    for (;;) {
      const body = bodyOf(card, attached, size)
      if (body.length <= room) return withFiles(card, attached, body)
      const next = longest(card, attached)
      if (next === undefined) break
      attached.add(next)
    }
  }
  return undefined
}

/** Three backticks would end the code block in which the payload stands; what is longer than a message cannot stand in one. */
function showsWhole(call: CardCall): boolean {
  return call.payload.text.length <= LIMITS.content && !call.payload.text.includes('```')
}

function longest(card: CardView, attached: ReadonlySet<number>): number | undefined {
  const left = card.calls
    .map((call, i) => ({ i, length: call.payload.text.length }))
    .filter(({ i }) => !attached.has(i))
  return left.sort((a, b) => b.length - a.length).find(({ length }) => length > 0)?.i
}

function withFiles(card: CardView, attached: ReadonlySet<number>, body: string): Layout | undefined {
  const files = card.calls.flatMap((call, i) =>
    attached.has(i) ? [{ name: attachmentName(call, i), data: call.payload.text }] : [],
  )
  const tooLarge = card.calls.some((call, i) => attached.has(i) && call.payload.bytes > LIMITS.fileBytes)
  return tooLarge || files.length > LIMITS.files ? undefined : { body, files }
}

function attachmentName(call: CardCall, index: number): string {
  return `${index + 1}-${fileName(call.payload.filename)}`
}

function bodyOf(card: CardView, attached: ReadonlySet<number>, size: Size): string {
  const changed = card.changed === undefined ? [] : [`✏️ ${CHANGED} ${escapeText(oneLine(card.changed, size.text))}`]
  return [...changed, ...card.calls.map((call, i) => callText(shownCall(card, call), i, attached.has(i), size))].join(
    '\n',
  )
}

/** What *Always allow* would cover matters while it can be pressed. */
function shownCall({ state }: CardView, call: CardCall): CardCall {
  if (state.kind === 'open') return call
  const { label: _label, ...rest } = call
  return rest
}

function title(call: CardCall, index: number, size: Size): string {
  return `**${index + 1}.** ${inlineCode(oneLine(call.tool, 64))} ${inlineCode(oneLine(call.header, size.header))}`
}

function callText(call: CardCall, index: number, attached: boolean, size: Size): string {
  const line = (sign: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`${sign} ${escapeText(oneLine(text, size.text))}`]
  return [
    title(call, index, size),
    attached ? attachedFile(call, index) : payloadBlock(call),
    ...line('⚠️', call.warning),
    ...line(REASON, call.because),
    ...(call.label === undefined
      ? []
      : [`*${BUTTONS.always}* ${ALWAYS_COVERS} ${inlineCode(oneLine(call.label, size.text))}`]),
  ].join('\n')
}

function payloadBlock(call: CardCall): string {
  const text = makeVisible(call.payload.text)
  return text === '' ? NO_FURTHER_INPUT : `\`\`\`\n${text}\n\`\`\``
}

function attachedFile(call: CardCall, index: number): string {
  const { text, bytes, sha256 } = call.payload
  const hidden = hiddenMarks(text)
  const warning = hidden.length ? `\n⚠️ ${hiddenCharacters(hidden)}` : ''
  return `📎 ${fileLine(inlineCode(attachmentName(call, index)), bytes, `\`${sha256}\``)}${warning}`
}

const STYLE = { primary: 1, secondary: 2, success: 3, danger: 4 } as const

function buttons(card: CardView): readonly unknown[] {
  const button = (action: string, label: string, style: number): unknown => ({
    type: 2,
    style,
    label,
    custom_id: `ts:${action}:${card.approval}`,
  })
  return [
    {
      type: 1,
      components: [
        button('approve', BUTTONS.approve, STYLE.success),
        ...(card.always ? [button('always', BUTTONS.always, STYLE.primary)] : []),
        button('reject', BUTTONS.reject, STYLE.danger),
        button('note', BUTTONS.note, STYLE.secondary),
      ],
    },
  ]
}

/** What a pressed button or a sent form is about; undefined where it is not the bot's. Cards of version 0.1 say `deny`. */
export function parseCustomId(id: string): { action: DecisionAction | 'note'; approval: string } | undefined {
  const [, word, approval] = /^ts:(approve|always|reject|deny|note):(.{1,80})$/.exec(id) ?? []
  if (approval === undefined) return undefined
  const action = word === 'deny' ? 'reject' : (word as DecisionAction | 'note')
  return { action, approval }
}

/** Whether a message's components are those of the open card whose post key names its approval. */
export function isCardOf(components: unknown, key: string): boolean {
  const ids = [...JSON.stringify(components ?? []).matchAll(/"ts:approve:([^"]+)"/g)].map((found) => found[1] ?? '')
  return ids.some((id) => id !== '' && key.includes(id))
}
