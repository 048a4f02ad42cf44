import type { CardCall } from '../../src/approval/approval.ts'
import type { CardView } from '../../src/channel/card.ts'
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
import type { Json } from './json.ts'
import { LIMITS } from './limits.ts'
import { clip, defuse, hasReference, mrkdwn } from './markdown.ts'
import { fallbackOf, type MessageBody } from './outbound.ts'

/** Action ids carry the verb, values the approval's id; nothing else. */
export const ACTION = { approve: 'ts:approve', always: 'ts:always', reject: 'ts:reject', note: 'ts:note' } as const

/**
 * Indexes of calls whose payload is a file before the card: too long alone, no longer fitting beside the others, or
 * holding what Slack writes for a mention, which could not be shown on the card as it is.
 */
export function filesBefore(card: CardView): number[] {
  let total = 0
  return card.calls.flatMap((call, i) => {
    const { text } = call.payload
    // A text never gets shorter: of one that is too long already the rest is not looked at.
    const { length } = text.length > LIMITS.cardPayload ? text : makeVisible(text)
    if (length > LIMITS.cardPayload || hasReference(text) || total + length > LIMITS.cardPayloads) return [i]
    total += length
    return []
  })
}

/**
 * The card, wholly from its row. Calls are rich text, which cannot be broken out of. Throws
 * PostRefused('unshowable') where Slack cannot show all of it.
 */
export function cardBody(card: CardView): MessageBody {
  const files = new Set(filesBefore(card))
  const names = card.calls.map((c) => c.tool).join(', ')
  const open = card.state.kind === 'open'
  const [title = '', ...note] = open
    ? [`🔐 *${APPROVAL_NEEDED}*${manyCalls(card.calls.length)}`]
    : closedLine(card).split('\n')
  const head = section([`${title} · turn \`${mrkdwn(card.turn)}\``, ...note].join('\n'))
  const changed = card.changed ? [section(`✏️ ${CHANGED} ${mrkdwn(makeVisible(card.changed))}`)] : []
  const calls = card.calls.map((call, i) => callBlock(call, files.has(i), open))
  const blocks = [head, ...changed, ...calls, ...expiry(card), ...(open ? [buttons(card)] : [])]
  const long = card.changed !== undefined && mrkdwn(makeVisible(card.changed)).length > LIMITS.section - 100
  if (blocks.length > LIMITS.blocks || long || textOf(blocks) > LIMITS.cardText)
    throw new PostRefusedError('unshowable')
  const state = open ? APPROVAL_NEEDED : plain(closedLine(card))
  return { text: fallbackOf(`${state}: ${oneLine(names, 200)}`), blocks }
}

function plain(line: string): string {
  return line.replaceAll('*', '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function textOf(blocks: readonly Json[]): number {
  return JSON.stringify(blocks).length
}

function section(text: string): Json {
  return { type: 'section', text: { type: 'mrkdwn', text } }
}

function closedLine({ state }: CardView): string {
  if (state.kind === 'open') return ''
  const { sign, title, byPerson, after } = OUTCOMES[state.outcome]
  const by = state.by && byPerson ? ` by ${mrkdwn(oneLine(state.by, 100))}` : ''
  const note = state.note
    ? `\n> ${NOTE} ${mrkdwn(clip(makeVisible(state.note), LIMITS.note)).replaceAll('\n', '\n> ')}`
    : ''
  return clip(`${sign} *${title}*${by}${after}${note}`, LIMITS.section - 100)
}

function callBlock(call: CardCall, attached: boolean, open: boolean): Json {
  const { payload } = call
  const text = (value: string, style?: Json): Json => ({
    type: 'text',
    text: defuse(value),
    ...(style ? { style } : {}),
  })
  const bold = (value: string): Json => text(value, { bold: true })
  const line = (...elements: Json[]): Json => ({ type: 'rich_text_section', elements })
  const shown = attached ? '' : makeVisible(payload.text)
  const hidden = attached ? hiddenMarks(payload.text) : []
  const body = attached
    ? [
        line(
          text(`📎 ${fileLine(`the file ${oneLine(payload.filename, 200)} above`, payload.bytes, '')}`),
          text(payload.sha256, { code: true }),
        ),
        ...(hidden.length ? [line(bold('⚠️ '), text(hiddenCharacters(hidden)))] : []),
      ]
    : shown.trim() === ''
      ? [line(text(NO_FURTHER_INPUT))]
      : [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: shown }] }]
  const notes = [
    ...(call.warning ? [line(bold('⚠️ '), text(makeVisible(call.warning)))] : []),
    ...(call.because ? [line(text(`${REASON} ${makeVisible(call.because)}`))] : []),
    ...(open && call.label
      ? [line(text(`${BUTTONS.always} ${ALWAYS_COVERS} `), text(makeVisible(call.label), { code: true }))]
      : []),
  ]
  const header = oneLine(call.header, 2000)
  return {
    type: 'rich_text',
    elements: [line(bold(oneLine(call.tool, 200)), ...(header ? [text(` — ${header}`)] : [])), ...body, ...notes],
  }
}

function expiry({ state }: CardView): Json[] {
  if (state.kind !== 'open' || state.expiresAt === undefined) return []
  const at = new Date(state.expiresAt).toISOString()
  const text = expires(`<!date^${Math.floor(state.expiresAt / 1000)}^{date_short_pretty} at {time}|${at}>`)
  return [{ type: 'context', elements: [{ type: 'mrkdwn', text }] }]
}

function buttons({ approval, always }: CardView): Json {
  const button = (label: string, action: string, style?: string): Json => ({
    type: 'button',
    text: { type: 'plain_text', text: label },
    action_id: action,
    value: approval,
    ...(style ? { style } : {}),
  })
  return {
    type: 'actions',
    block_id: approval,
    elements: [
      button(BUTTONS.approve, ACTION.approve, 'primary'),
      ...(always ? [button(BUTTONS.always, ACTION.always)] : []),
      button(BUTTONS.reject, ACTION.reject, 'danger'),
      button(BUTTONS.note, ACTION.note),
    ],
  }
}
