import type { JournalEntry, JournalPart } from './journal-entry.ts'

export const CHARS_PER_TOKEN = 4
/** What an image counts as, tokens; providers differ, none charges much more. */
export const IMAGE_TOKENS = 1500

/**
 * What a row takes in a request, tokens, roughly and rather too much. Stored with the row: where the history of a request
 * begins is found without reading what lies before. Opaque blocks count with their own turn only, so not here.
 */
export function weightOf(entry: JournalEntry): number {
  switch (entry.kind) {
    case 'user':
      return entry.items.reduce((sum, item) => sum + weightOfParts(item.content), 0)
    case 'context':
    case 'note':
      return tokens(entry.text.length)
    case 'assistant':
      return tokens(entry.calls.reduce((n, c) => n + c.name.length + c.arguments.length, entry.text.length))
    case 'result':
      return weightOfParts(entry.content)
    case 'end':
      // The line that tells the model of it.
      return entry.state === 'done' ? 0 : tokens(END_NOTE_CHARS + (entry.why ?? entry.by ?? '').length)
    default:
      return 0
  }
}

function weightOfParts(parts: readonly JournalPart[]): number {
  return parts.reduce((sum, p) => sum + (p.type === 'text' ? tokens(p.text.length + 2) : IMAGE_TOKENS), 0)
}

/** The line about a turn that did not end well, without its reason. */
const END_NOTE_CHARS = 160

const tokens = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN)
