import { type ContentPart, type Message, type ToolCall, textOf } from '../model/message.ts'
import type { JournalRow } from '../turn/journal.ts'
import { fitTurn } from './fit-history.ts'

export const CHARS_PER_TOKEN = 4
/** What an image counts as, tokens; providers differ, none charges much more. */
const IMAGE_TOKENS = 1500
/** What stands for an image the provider would not take. */
const REFUSED_IMAGE = '[an image stood here; the model could not read it]'
const LEFT_OUT = '[Earlier messages of this conversation were left out, they no longer fit.]'

/**
 * The journal as a provider takes it: every call is followed by exactly one result, in the calls' order, whatever
 * happened. Opaque blocks go with the answers of the `current` turn alone. What does not fit `room`, in tokens, is left out from the oldest end, whole turns at a time; the last turn
 * is shortened.
 */
export function buildHistory(
  rows: readonly JournalRow[],
  system: string,
  room: number,
  current: string,
): readonly Message[] {
  const lastRefusal = rows.findLast((r) => r.kind === 'images-refused')?.id ?? 0
  const results = new Map(rows.flatMap((r) => (r.kind === 'result' ? [[`${r.turn}/${r.callId}`, r] as const] : [])))
  const turns: Message[][] = []
  let turn: string | undefined
  for (const row of rows) {
    const messages = messagesOf(row, { results, current, imagesRefused: row.id < lastRefusal })
    if (messages.length === 0) continue
    if (row.turn !== turn) turns.push([])
    turn = row.turn
    turns.at(-1)?.push(...messages)
  }
  const head: Message = { role: 'system', text: system }
  const left = room - estimateTokens([head, userText(LEFT_OUT)])
  const kept = fitting(turns, left)
  const note: Message[] = kept.length < turns.length ? [userText(LEFT_OUT)] : []
  const [only] = kept.length === 1 ? kept : []
  return [head, ...note, ...(only ? fitTurn(only, left, estimateTokens) : kept.flat())]
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

function messagesOf(
  row: JournalRow,
  { results, current, imagesRefused }: { results: Results; current: string; imagesRefused: boolean },
): Message[] {
  switch (row.kind) {
    case 'user':
      return row.items.map((item) => ({ role: 'user', content: withoutImages(item.content, imagesRefused) }))
    case 'context':
    case 'note':
      return [userText(row.text)]
    case 'assistant': {
      if (!row.text.trim() && row.calls.length === 0) return []
      const answers = row.calls.map((call) => resultOf(call, results.get(`${row.turn}/${call.id}`), imagesRefused))
      const opaque = row.turn === current && row.opaque ? { opaque: row.opaque } : {}
      return [{ role: 'assistant', text: row.text, calls: row.calls, ...opaque }, ...answers]
    }
    case 'end':
      return row.state === 'done' ? [] : [userText(endNote(row))]
    default:
      return []
  }
}

/** So that the model does not take up what was stopped or failed with the next message. */
function endNote({ state, by, why }: Extract<JournalRow, { kind: 'end' }>): string {
  const what = state === 'stopped' ? `${by ?? 'Somebody'} stopped this turn` : `This turn failed: ${why ?? 'see above'}`
  return `[${what.replace(/\.$/, '')}. What was asked above was not finished. Do not take it up again unless somebody asks for it.]`
}

function resultOf(
  call: ToolCall,
  row: Extract<JournalRow, { kind: 'result' }> | undefined,
  imagesRefused: boolean,
): Message {
  const content: readonly ContentPart[] = row?.content ?? [{ type: 'text', text: 'This call was not run.' }]
  return { role: 'tool', callId: call.id, name: call.name, content: withoutImages(content, imagesRefused) }
}

function withoutImages(content: readonly ContentPart[], refused: boolean): readonly ContentPart[] {
  if (!refused) return content
  return content.map((p) => (p.type === 'image' ? { type: 'text', text: REFUSED_IMAGE } : p))
}

function userText(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}
