import type { TurnView, ViewItem } from '../channel/turn-view.ts'
import type { TurnEvent } from './turn.ts'

type Section = { readonly items: readonly ViewItem[] }

export function emptyView(turn: string): TurnView {
  return { turn, sections: [{ items: [] }], phase: 'thinking' }
}

/** The one reducer from what happened to what is shown. Pure: the same events give the same view. */
export function foldView(view: TurnView, event: TurnEvent): TurnView {
  switch (event.type) {
    case 'thinking':
      return { ...view, phase: 'thinking' }
    case 'attempt':
      return { ...withLast(view, (items) => [...items, { kind: 'text', text: '' }]), phase: 'thinking' }
    case 'text':
      return event.text ? { ...withLast(view, (items) => appendText(items, event.text)), phase: 'writing' } : view
    case 'text-reset':
      return { ...withLast(view, emptyLastText), phase: 'thinking' }
    case 'tool':
      return { ...upsertTool(view, event), phase: event.state === 'running' ? 'tools' : view.phase }
    case 'tool-tail':
      return mapTools(view, event.callId, (item) => ({ ...item, tail: event.tail }))
    case 'card':
      return { ...view, sections: [...view.sections, { items: [] }] }
    case 'notice':
      return withLast(view, (items) => [...items, { kind: 'notice', text: event.text, tone: event.tone }])
    case 'waiting':
      return { ...view, phase: 'waiting' }
    case 'end':
      return { ...view, phase: event.state }
  }
}

function withLast(view: TurnView, change: (items: readonly ViewItem[]) => readonly ViewItem[]): TurnView {
  const last: Section = view.sections.at(-1) ?? { items: [] }
  return { ...view, sections: [...view.sections.slice(0, -1), { items: change(last.items) }] }
}

function appendText(items: readonly ViewItem[], text: string): readonly ViewItem[] {
  const last = items.at(-1)
  if (last?.kind !== 'text') return [...items, { kind: 'text', text }]
  return [...items.slice(0, -1), { kind: 'text', text: last.text + text }]
}

function emptyLastText(items: readonly ViewItem[]): readonly ViewItem[] {
  return items.at(-1)?.kind === 'text' ? [...items.slice(0, -1), { kind: 'text', text: '' }] : items
}

type ToolItem = Extract<ViewItem, { kind: 'tool' }>

function upsertTool(view: TurnView, event: Extract<TurnEvent, { type: 'tool' }>): TurnView {
  const { callId, tool, header, state } = event
  const item: ToolItem = { kind: 'tool', callId, tool, header, state }
  const known = view.sections.some((s) => s.items.some((i) => i.kind === 'tool' && i.callId === callId))
  if (known) return mapTools(view, callId, () => item)
  return withLast(view, (items) => [...items, item])
}

function mapTools(view: TurnView, callId: string, change: (item: ToolItem) => ToolItem): TurnView {
  const sections = view.sections.map((section) =>
    section.items.some((i) => i.kind === 'tool' && i.callId === callId)
      ? { items: section.items.map((i) => (i.kind === 'tool' && i.callId === callId ? change(i) : i)) }
      : section,
  )
  return { ...view, sections }
}
