/** What approval cards say, on every platform. Plain text; each adapter adds its own markup. */

export const APPROVAL_NEEDED = 'Approval needed'
export const BUTTONS = { approve: 'Approve', always: 'Always allow', reject: 'Reject', note: 'Note…' } as const

/** What follows the heading of a card with several calls; '' for one. */
export function manyCalls(count: number): string {
  return count > 1 ? ` for ${count} calls, decided together` : ''
}

/** How a card ended: `title` is set in bold, then who decided where a person did, then `after`. */
interface OutcomeWords {
  readonly sign: string
  readonly title: string
  readonly byPerson: boolean
  readonly after: string
}

export const OUTCOMES = {
  approved: { sign: '✅', title: 'Approved', byPerson: true, after: '' },
  always: { sign: '✅', title: 'Approved', byPerson: true, after: ' (always allow)' },
  rejected: { sign: '🚫', title: 'Rejected', byPerson: true, after: '' },
  stopped: { sign: '⏹️', title: 'Stopped', byPerson: true, after: ', not run' },
  expired: { sign: '⌛', title: 'Expired', byPerson: false, after: ', not run' },
  superseded: { sign: '↪️', title: 'Replaced', byPerson: false, after: ' by a new request, not run' },
  unshowable: { sign: '🚫', title: 'Not run', byPerson: false, after: ': too long to display' },
} as const satisfies Readonly<Record<string, OutcomeWords>>

/** `when` is a time as the platform renders it: "in 5 minutes", or a date. */
export function expires(when: string): string {
  return `Expires ${when}`
}

export const CHANGED = 'Changed since it was approved:'
export const REASON = 'Reason:'
export const NOTE = 'Note:'
/** Stands before the label that the button would add. */
export const ALWAYS_COVERS = 'will cover'
export const NO_FURTHER_INPUT = '(no further input)'

/** A call whose payload is a file: `name` and `sum` are set as code. */
export function fileLine(name: string, bytes: number, sum: string): string {
  return `Full text in ${name}: ${bytes} bytes, SHA-256 ${sum}`
}

/** The line above a file that is posted before its card. */
export function fileComment(tool: string, bytes: number, sum: string): string {
  return `${tool}: full text, ${bytes} bytes, SHA-256 ${sum}`
}

/** `marks` are the characters as ⟨U+202E⟩. */
export function hiddenCharacters(marks: readonly string[]): string {
  return `Contains invisible characters: ${marks.join(' ')}`
}

export const NOTE_FORM = {
  title: 'Decide with a note',
  decision: 'Decision',
  choose: 'Approve or reject',
  note: 'Note to the assistant',
  send: 'Send',
  cancel: 'Cancel',
  noChoice: 'Choose Approve or Reject.',
} as const

export function noteLength(max: number): string {
  return `Write 1 to ${max} characters.`
}

export const LINK_FORM = { title: 'Link your account', token: 'Token (starts with ts_)' } as const

export const NOT_SAVED = "I couldn't save that, so nothing was changed. Please try again."
export const NOT_IN_THIS_CHANNEL = "I don't work in this channel."
export const FORM_TOO_LATE = 'The form could not be opened in time. Please press again.'
export const MESSAGE_NOT_SAVED = "I couldn't save a message here. Please send it again in a moment."
