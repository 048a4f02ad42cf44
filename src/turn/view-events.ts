import type { JournalRow } from './journal.ts'
import type { TurnEvent } from './turn.ts'

/** What a turn has shown so far, from its journal: a view that is folded from it is the one that stood before a restart. */
export function eventsOf(rows: readonly JournalRow[]): readonly TurnEvent[] {
  return rows.flatMap(eventsOfRow)
}

function eventsOfRow(row: JournalRow): readonly TurnEvent[] {
  switch (row.kind) {
    case 'assistant':
      return [{ type: 'attempt' }, { type: 'text', text: row.text }]
    case 'started':
      return [{ type: 'tool', callId: row.callId, tool: row.tool, header: row.header, state: 'running' }]
    case 'result':
      return [{ type: 'tool', callId: row.callId, tool: row.tool, header: row.header, state: row.state }]
    case 'notice':
      return [{ type: 'notice', text: row.text, tone: row.tone }]
    case 'card':
      return [{ type: 'card' }]
    case 'end':
      return [{ type: 'end', state: row.state }]
    default:
      return []
  }
}
