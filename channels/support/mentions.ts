/**
 * The text without a mention and the blanks around it: one blank joins what stood on both sides, none does at the
 * beginning or end of a line. The pattern must not be global and have no groups that capture. Linear.
 */
export function withoutMention(text: string, mention: RegExp): string {
  const pieces = text.split(mention)
  const last = pieces.length - 1
  const kept = pieces
    .map((piece, i) => withoutBlanks(piece, i > 0, i < last))
    .filter((piece, i) => piece !== '' || i === 0 || i === last)
  return kept
    .map((piece, i) => {
      const next = kept[i + 1]
      const edge = !piece || piece.endsWith('\n') || !next || next.startsWith('\n')
      return edge ? piece : `${piece} `
    })
    .join('')
}

/** Not by a pattern: one for blanks at the end would begin at each blank anew. */
function withoutBlanks(text: string, atStart: boolean, atEnd: boolean): string {
  let [from, to] = [0, text.length]
  while (atStart && from < to && isBlank(text[from])) from++
  while (atEnd && to > from && isBlank(text[to - 1])) to--
  return text.slice(from, to)
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}
