/** A letter and the note after its comma. */
export interface TypedAnswer {
  readonly letter: 'y' | 'n' | 'a'
  readonly note?: string
}

/** What a whole message says to a card: `y`, `n` or `a`, perhaps with a note: `n, not today`. Linear. */
export function parseTypedAnswer(text: string): TypedAnswer | undefined {
  const whole = text.trim()
  const letter = whole.slice(0, 1).toLowerCase()
  if (letter !== 'y' && letter !== 'n' && letter !== 'a') return undefined
  const rest = whole.slice(1).trim()
  if (rest === '') return { letter }
  if (!rest.startsWith(',')) return undefined
  const note = rest.slice(1).trim()
  return note === '' ? { letter } : { letter, note }
}
