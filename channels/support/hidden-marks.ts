import { firstHidden, makeVisible } from '../../src/util/visible.ts'

/** Marks named in a warning; more would not help. */
const MAX_MARKS = 5
/** Kinds that are looked at; some may not need a mark. */
const MAX_KINDS = 32

/** The characters of a file's text that show nothing, as ⟨U+202E⟩; at most five different ones. */
export function hiddenMarks(text: string): string[] {
  const marks: string[] = []
  let rest = text
  for (let n = 0; n < MAX_KINDS && marks.length < MAX_MARKS; n++) {
    const char = firstHidden(rest)
    if (char === undefined) break
    const mark = makeVisible(char)
    if (!text.includes(mark)) marks.push(mark)
    // All of a kind at once: a text may hold one a hundred thousand times.
    rest = rest.replaceAll(char, ' ')
  }
  return marks
}
