import { createTwoFilesPatch } from 'diff'

/**
 * Above this many changed lines the shortest diff is no longer searched for: the time grows with their square. A number
 * and not a time, so that the same change always reads the same.
 */
const MAX_EDITS = 1000
const CONTEXT_LINES = 3

/** A unified diff of one file, before and after. Where much has changed it is one block of old lines, then new ones. */
export function changeDiff(name: string, before: string, after: string): string {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS }
  const shortest = createTwoFilesPatch(name, name, before, after, undefined, undefined, options)
  return shortest?.replace(/^Index: .*\n=+\n/, '') ?? oneBlock(name, before, after)
}

function oneBlock(name: string, before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  const least = Math.min(old.length, now.length)
  let head = 0
  while (head < least && old[head] === now[head]) head++
  let tail = 0
  while (tail < least - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  const removed = old.slice(head, old.length - tail)
  const added = now.slice(head, now.length - tail)
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)]
  const at = `@@ -${head + 1},${removed.length} +${head + 1},${added.length} @@`
  return `--- ${name}\n+++ ${name}\n${at}\n${lines.map(withNewline).join('')}`
}

/** Each with its newline, where it has one. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function withNewline(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`
}
