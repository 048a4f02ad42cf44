/** Text as both databases and every provider take it: no NUL, no half surrogate pair. */
export function cleanText(value: string): string {
  return value.replaceAll('\u0000', '').toWellFormed()
}
