import type { Nodes, Table } from 'mdast'
import { blockStarts } from '../markdown/blocks.ts'
import { closeFences, type Fence, fenceLine } from '../markdown/fences.ts'
import { parseMarkdown } from '../markdown/parse.ts'
import { splitMarkdown } from '../markdown/split.ts'
import { alignedSize, alignRows, isDelimiter, rowCells, tableLines } from '../markdown/table.ts'
import { LIMITS } from './limits.ts'

const REFERENCES = /<(?=!(?:channel|here|everyone|subteam\^|date\^)|@[UWB][A-Z0-9]|#[CGD][A-Z0-9])/g
const NAMES = /(?<![\w@.+-])@(?=(?:channel|here|everyone)\b)/g
/** The end of a text that is still being written and may yet become what is broken. */
const UNDECIDED = /(?:<(?:!\w{0,9}|[@#][A-Z]?)?|(?<![\w@.+-])@\w{0,8})$/

/** Whether the text holds what Slack writes for a mention or a channel. */
export function hasReference(text: string): boolean {
  return text.search(REFERENCES) >= 0
}

/** Breaks, with a space that is seen, what Slack would take for a mention of people; code and e-mail stay as they are. */
export function defuse(text: string): string {
  return text.replace(REFERENCES, '< ').replace(NAMES, '@ ')
}

/** For mrkdwn and the text beside blocks: entities escaped, mentions broken. */
export function mrkdwn(text: string): string {
  return defuse(text).replace(/[&<>]/g, (c) => (c === '&' ? '&amp;' : c === '<' ? '&lt;' : '&gt;'))
}

/** Cut to `max` units, an ellipsis within, never inside a surrogate pair. */
export function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Text as inline code that it cannot end itself. */
export function inlineCode(text: string): string {
  const fence = '`'.repeat(longestRun(text) + 1)
  const pad = /^`|`$|^ .* $/.test(text) ? ' ' : ''
  return `${fence}${pad}${text}${pad}${fence}`
}

/** Text as a fenced block that it cannot end itself. */
export function codeBlock(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence}\n${text}\n${fence}`
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length))
}

/** A part of Markdown that fits one message; offsets are into the source. */
export interface MarkdownPart {
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * Splits Markdown into what fits one message each: by length, and by the number of blocks it becomes. Earlier parts
 * stay when text is appended. No part is blank.
 */
export function splitParts(source: string): MarkdownPart[] {
  const options = { limit: LIMITS.part, tableSize: (rows: readonly (readonly string[])[]) => alignedSize(rows) + 8 }
  return groups(source).flatMap(([from, to]) =>
    splitMarkdown(source.slice(from, to), options).map((p) => ({
      text: p.text,
      start: from + p.start,
      end: from + p.end,
    })),
  )
}

/** Ranges of at most `topLevel` blocks each. */
function groups(source: string): [number, number][] {
  const starts = [0]
  let blocks = 0
  for (const at of blockStarts(source)) {
    if (blocks++ % LIMITS.topLevel === 0 && blocks > 1) starts.push(at)
  }
  return starts.map((start, i) => [start, starts[i + 1] ?? source.length])
}

/** One table of a message stays a table if Slack takes its size; the others become aligned code. */
export function fitTables(whole: string): string {
  if (!whole.includes('|') || !whole.split('\n').some(isDelimiter)) return whole
  const text = withoutLongTables(whole)
  const tables: { table: Table; top: boolean }[] = []
  const root = parseMarkdown(text)
  const walk = (node: Nodes, top: boolean): void => {
    if (node.type === 'table') tables.push({ table: node, top })
    else if ('children' in node) for (const child of node.children) walk(child, node.type === 'root')
  }
  walk(root, false)
  const kept = tables.find(({ table, top }) => top && isNative(table))
  let out = text
  for (const one of tables.toReversed()) {
    if (one === kept) continue
    const from = one.table.position?.start.offset ?? 0
    const to = one.table.position?.end.offset ?? 0
    const head = text.slice(text.lastIndexOf('\n', from - 1) + 1, from).replace(/[^>\s]/g, ' ')
    const lines = codeBlock(tableLines(one.table).join('\n')).split('\n')
    out = out.slice(0, from) + lines.join(`\n${head}`) + out.slice(to)
  }
  return out
}

/** Tables at the top that are larger than Slack takes, as aligned code: without a parser, which takes long for them. */
function withoutLongTables(text: string): string {
  const lines = text.split('\n')
  const out: string[] = []
  let fence: Fence | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const found = fenceLine(line, fence)
    fence = found.kind === 'open' ? found.fence : found.kind === 'inside' ? fence : undefined
    let end = at
    if (found.kind === 'text' && /^ {0,3}\|/.test(line) && isDelimiter(lines[at + 1] ?? '')) {
      while (/^ {0,3}\|/.test(lines[end] ?? '')) end++
    }
    if (end - at <= LIMITS.tableRows + 1 && (end === at || rowCells(line).length <= LIMITS.tableColumns)) {
      out.push(line)
      continue
    }
    const rows = [line, ...lines.slice(at + 2, end)].map(rowCells)
    out.push(codeBlock(alignRows(rows).join('\n')))
    at = end - 1
  }
  return out.join('\n')
}

function isNative({ children }: Table): boolean {
  const columns = Math.max(0, ...children.map((row) => row.children.length))
  return children.length <= LIMITS.tableRows && columns <= LIMITS.tableColumns
}

/**
 * What may be shown of the last part while it grows, so that the next growth only appends to it: without the fence
 * that was closed for it, without a table that is not yet whole, without half a reference. `held` counts the units at
 * its end that wait.
 */
export function growing(part: string, source: string): { text: string; held: number } {
  const open = closeFences(source) !== source
  let text = open ? part.slice(0, Math.max(0, part.lastIndexOf('\n'))) : part
  const whole = text.length
  if (!open) text = withoutTableTail(text)
  text = text.replace(UNDECIDED, '')
  return { text: fitTables(text), held: whole - text.length }
}

/** Lines with bars at the end may be, or become, a table. */
function withoutTableTail(text: string): string {
  let start = text.length
  while (start > 0) {
    const from = text.lastIndexOf('\n', start - 2) + 1
    const line = text.slice(from, start)
    if (!line.includes('|') || line.trim() === '') break
    start = from
  }
  return text.slice(0, start).replace(/\n+$/, '')
}
