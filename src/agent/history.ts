import { type ContentPart, type Message, textOf } from '../model/message.ts'
import type { ImageRef, JournalPart, JournalRow } from '../turn/journal.ts'
import { CHARS_PER_TOKEN, IMAGE_TOKENS } from '../turn/weight.ts'
import { fitTurn } from './fit-history.ts'
import { imagesLeftOut, LEFT_OUT_IMAGE } from './image-budget.ts'

/** What takes the place of an image the provider would not take. */
const REFUSED_IMAGE = '[an image stood here; the model could not read it]'
const LEFT_OUT = '[Earlier messages of this conversation were left out, they no longer fit.]'
/** How much of its room a history gives up at once when it no longer fits. */
const STEP = 0.4

/**
 * Where the history of a request begins, in tokens of the workstream's weight. It moves in large steps only, so that the
 * beginning of requests stays the same for many turns and a provider's prompt cache holds. Nothing that lies before
 * `limit` can fit; a turn across the edge is left out unless it is `heavy`, when little else would remain.
 */
export function historyStart(weight: number, room: number): { above: number; limit: number; heavy: number } {
  const limit = Math.max(0, weight - Math.max(room, 1))
  const step = Math.max(1, Math.floor(room * STEP))
  return { above: Math.ceil(limit / step) * step, limit, heavy: step / 2 }
}

export interface HistoryOf {
  /** Whole turns, oldest first. */
  readonly rows: readonly JournalRow[]
  /** Whether there are turns before them. */
  readonly older: boolean
  readonly system: string
  /** What messages may take, tokens. */
  readonly room: number
  /** The turn that is being answered. */
  readonly current: string
}

/**
 * The journal as a provider takes it: every call is followed by exactly one result, in the calls' order, whatever
 * happened. Opaque blocks go with the answers of the current turn alone. What still does not fit is left out from the
 * oldest end, whole turns at a time; the last turn is shortened. `imageOf` gives an image's bytes; undefined where they
 * are not there any more.
 */
export function buildHistory(
  { rows, older, system, room, current }: HistoryOf,
  imageOf: (image: ImageRef) => string | undefined,
): readonly Message[] {
  const lastRefusal = rows.findLast((r) => r.kind === 'images-refused')?.id ?? 0
  const results = new Map(rows.flatMap((r) => (r.kind === 'result' ? [[`${r.turn}/${r.callId}`, r] as const] : [])))
  const leftOut = imagesLeftOut(imagesIn(rows), room)
  const turns: Message[][] = []
  let turn: string | undefined
  for (const row of rows) {
    const content = (parts: readonly JournalPart[]): readonly ContentPart[] =>
      parts.map((part) => shown(part, { refused: row.id < lastRefusal, leftOut, imageOf }))
    const messages = messagesOf(row, { results, current, content })
    if (messages.length === 0) continue
    if (row.turn !== turn) turns.push([])
    turn = row.turn
    turns.at(-1)?.push(...messages)
  }
  const head: Message = { role: 'system', text: system }
  const left = room - estimateTokens([head, userText(LEFT_OUT)])
  const kept = fitting(turns, left)
  const note: Message[] = older || kept.length < turns.length ? [userText(LEFT_OUT)] : []
  const [only] = kept.length === 1 ? kept : []
  return [head, ...note, ...(only ? fitTurn(only, left, estimateTokens) : kept.flat())]
}

/** In the order in which they stand in the request. */
function imagesIn(rows: readonly JournalRow[]): readonly ImageRef[] {
  const parts = rows.flatMap((row): readonly JournalPart[] => {
    if (row.kind === 'user') return row.items.flatMap((item) => item.content)
    return row.kind === 'result' ? row.content : []
  })
  return parts.filter((part) => part.type === 'image-ref')
}

/** The images that a request of these rows carries. */
export function imagesOf({ rows, room }: Pick<HistoryOf, 'rows' | 'room'>): readonly ImageRef[] {
  const lastRefusal = rows.findLast((r) => r.kind === 'images-refused')?.id ?? 0
  const leftOut = imagesLeftOut(imagesIn(rows), room)
  return imagesIn(rows.filter((r) => r.id >= lastRefusal)).filter((image) => !leftOut.has(image))
}

/** The newest turns that fit; always at least the last. */
function fitting(turns: readonly Message[][], room: number): readonly Message[][] {
  let left = room
  let from = turns.length
  while (from > 0) {
    const cost = estimateTokens(turns[from - 1] ?? [])
    if (cost > left && from < turns.length) break
    left -= cost
    from--
  }
  return turns.slice(from)
}

/** Roughly, at 4 characters a token. */
export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0
  for (const m of messages) {
    if (m.role === 'system') tokens += m.text.length / CHARS_PER_TOKEN
    else if (m.role === 'assistant') {
      const calls = m.calls.reduce((n, c) => n + c.name.length + c.arguments.length, 0)
      const opaque = m.opaque ? JSON.stringify(m.opaque.blocks).length : 0
      tokens += (m.text.length + calls + opaque) / CHARS_PER_TOKEN
    } else {
      tokens += textOf(m.content).length / CHARS_PER_TOKEN
      tokens += m.content.filter((p) => p.type === 'image').length * IMAGE_TOKENS
    }
  }
  return Math.ceil(tokens)
}

type Results = ReadonlyMap<string, Extract<JournalRow, { kind: 'result' }>>

interface Shown {
  readonly refused: boolean
  readonly leftOut: ReadonlySet<ImageRef>
  readonly imageOf: (image: ImageRef) => string | undefined
}

function shown(part: JournalPart, { refused, leftOut, imageOf }: Shown): ContentPart {
  if (part.type === 'text') return part
  if (refused) return { type: 'text', text: REFUSED_IMAGE }
  if (part.type === 'image') return part
  const base64 = leftOut.has(part) ? undefined : imageOf(part)
  return base64 === undefined
    ? { type: 'text', text: LEFT_OUT_IMAGE(part) }
    : { type: 'image', mime: part.mime, base64 }
}

function messagesOf(
  row: JournalRow,
  of: { results: Results; current: string; content: (parts: readonly JournalPart[]) => readonly ContentPart[] },
): Message[] {
  switch (row.kind) {
    case 'user':
      return row.items.map((item) => ({ role: 'user', content: of.content(item.content) }))
    case 'context':
    case 'note':
      return [userText(row.text)]
    case 'assistant': {
      if (!row.text.trim() && row.calls.length === 0) return []
      const answers = row.calls.map((call): Message => {
        const result: readonly JournalPart[] = of.results.get(`${row.turn}/${call.id}`)?.content ?? [NOT_RUN]
        return { role: 'tool', callId: call.id, name: call.name, content: of.content(result) }
      })
      const opaque = row.turn === of.current && row.opaque ? { opaque: row.opaque } : {}
      return [{ role: 'assistant', text: row.text, calls: row.calls, ...opaque }, ...answers]
    }
    case 'end':
      return row.state === 'done' ? [] : [userText(endNote(row))]
    default:
      return []
  }
}

const NOT_RUN: ContentPart = { type: 'text', text: 'This call was not run.' }

/** So that the model does not take up what was stopped or failed with the next message. */
function endNote({ state, by, why }: Extract<JournalRow, { kind: 'end' }>): string {
  const what = state === 'stopped' ? `${by ?? 'Somebody'} stopped this turn` : `This turn failed: ${why ?? 'see above'}`
  return `[${what.replace(/\.$/, '')}. What was asked above was not finished. Do not take it up again unless somebody asks for it.]`
}

function userText(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}
