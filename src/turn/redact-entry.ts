import type { Redacted, Redactor } from '../util/redact.ts'
import type { JournalEntry, JournalPart } from './journal-entry.ts'

/** The entry as it may be stored: whatever was put together, cut or made visible since it was redacted, once more. */
export function redactEntry(entry: JournalEntry, { redact }: Redactor): JournalEntry<Redacted> {
  const parts = (content: readonly JournalPart[]): JournalPart<Redacted>[] =>
    content.map((part) => (part.type === 'text' ? { ...part, text: redact(part.text) } : part))
  switch (entry.kind) {
    case 'user':
      return { ...entry, items: entry.items.map((item) => ({ ...item, content: parts(item.content) })) }
    case 'assistant': {
      const calls = entry.calls.map((c) => ({ ...c, name: redact(c.name), arguments: redact(c.arguments) }))
      return { ...entry, text: redact(entry.text), calls }
    }
    case 'started':
      return { ...entry, tool: redact(entry.tool), header: redact(entry.header) }
    case 'result':
      return { ...entry, tool: redact(entry.tool), header: redact(entry.header), content: parts(entry.content) }
    case 'context':
    case 'note':
    case 'notice':
      return { ...entry, text: redact(entry.text) }
    case 'end': {
      const { why, ...rest } = entry
      return { ...rest, ...(why === undefined ? {} : { why: redact(why) }) }
    }
    default:
      return entry
  }
}
