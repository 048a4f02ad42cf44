import { makeVisible } from '../../src/util/visible.ts'

/** Marks named in a warning; more would not help. */
const MAX_MARKS = 5

/** The characters of a file's text that show nothing, as ⟨U+202E⟩; at most five different ones. */
export function hiddenMarks(text: string): string[] {
  const marks = new Set(makeVisible(text).match(/⟨U\+[0-9A-F]+⟩/g) ?? [])
  return [...marks].filter((mark) => !text.includes(mark)).slice(0, MAX_MARKS)
}
