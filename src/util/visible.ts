/** Characters that show nothing or change the direction of what is read; also C0 and C1 controls but tab and newline. */
const HIDDEN =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code points are meant, combining ones too
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff](?![\udc00-\udfff])/gu

/** What an approver reads: every character that hides or turns text is shown as ⟨U+202E⟩. */
export function makeVisible(text: string): string {
  return text.replace(HIDDEN, markOf)
}

/** The first character that `makeVisible` would replace. */
export function firstHidden(text: string): string | undefined {
  const at = text.search(HIDDEN)
  return at < 0 ? undefined : String.fromCodePoint(text.codePointAt(at) ?? 0)
}

/** Marks made before: a text may hold the same character a hundred thousand times. */
const MARKS = new Map<string, string>()

function markOf(hidden: string): string {
  let mark = MARKS.get(hidden)
  if (mark === undefined) {
    mark = `⟨U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
    MARKS.set(hidden, mark)
  }
  return mark
}

const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g

/**
 * Terminal output as plain text: colours and cursor moves go, a carriage return starts its line again, except those at
 * the line's end. Linear in the length of the text.
 */
export function plainTerminal(text: string): string {
  return text
    .replace(ANSI, '')
    .split('\n')
    .map(lastDrawn)
    .join('\n')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '')
}

function lastDrawn(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end--
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}

/** One line: white space folded, hidden characters made visible, at most `max` UTF-16 units. */
export function oneLine(text: string, max: number): string {
  // What is cut off later is not worked on: a text may be megabytes long.
  const head = text.slice(0, 16 * max + 1024)
  const line = makeVisible(head.replace(/\s+/g, ' ').trim())
  if (line.length <= max && (head.length === text.length || !text.slice(head.length).trim())) return line
  return `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Markdown that shows the text as it is: for names of people. */
export function escapeMarkup(text: string): string {
  return text.replace(/[\\*~`|<>[\]#]|^[-+=]/g, '\\$&')
}
