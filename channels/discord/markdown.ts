import type { Code, Heading, Image, Nodes, Root } from 'mdast'
import { parseMarkdown } from '../markdown/parse.ts'
import { type SplitOptions, splitMarkdown } from '../markdown/split.ts'
import { alignedSize, tableLines } from '../markdown/table.ts'
import { LIMITS } from './limits.ts'

const FENCES = '```\n\n```'.length
const ZERO_WIDTH = '\u200b'
const MENTION = /@(?=everyone|here|[!&]?\d)/g
const RULE_LINE = /^ {0,3}(?:-+|=+)\s*$/

const SPLIT: SplitOptions = {
  limit: LIMITS.content,
  // A code line may hold fences to be broken; a text line mentions to be broken, or be the rule of a heading.
  extra: (line, code) => (code ? occurrences(line, '```') : occurrences(line, '@') + (RULE_LINE.test(line) ? 1 : 0)),
  tableSize: (rows) => alignedSize(rows) + FENCES,
}

/** Parts of an earlier drawing by their source: while an answer grows, all but its last stay the same. */
export interface RenderMemo {
  parts: ReadonlyMap<string, string>
}

/** The model's Markdown as messages: each at most 2,000 units and none of them blank. For short texts: see renderView. */
export function renderParts(markdown: string): string[] {
  return splitParts(markdown)
    .map(renderPart)
    .filter((text) => !isBlank(text))
}

/** The sources of the messages that a text becomes. */
export function splitParts(markdown: string): string[] {
  return splitMarkdown(markdown, SPLIT).map(({ text }) => text)
}

/** One source as a message; possibly blank. */
export function renderPart(text: string): string {
  const rendered = renderMarkdown(text)
  return (rendered.length <= LIMITS.content ? rendered : text).trim()
}

/** Nothing that a person would see; Discord refuses such a message (50006). */
export function isBlank(text: string): boolean {
  return text.replace(/\s|\p{Default_Ignorable_Code_Point}/gu, '') === ''
}

/**
 * Markdown as Discord shows it. What Discord knows stays as written; tables become aligned code, deep headings the
 * deepest there is, every fence one of three backticks that its code cannot end, and mentions plain words.
 */
export function renderMarkdown(markdown: string): string {
  const edits: { start: number; end: number; text: string }[] = []
  const root: Root = parseMarkdown(markdown)
  const visit = (node: Nodes, top: boolean): void => {
    const start = node.position?.start.offset
    const end = node.position?.end.offset
    if (start === undefined || end === undefined) return
    const raw = markdown.slice(start, end)
    const text = replacement(node, raw, top)
    if (text !== undefined) edits.push({ start, end, text })
    else if ('children' in node) for (const child of node.children) visit(child, node === root)
  }
  visit(root, false)
  let out = ''
  let at = 0
  for (const edit of edits) {
    out += markdown.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return out + markdown.slice(at)
}

/** What stands in a node's place; undefined where its children are to be looked at. */
function replacement(node: Nodes, raw: string, top: boolean): string | undefined {
  switch (node.type) {
    case 'text':
    case 'html':
      return neutral(raw)
    case 'code':
      return code(node, raw)
    case 'inlineCode':
      return raw
    case 'table':
      return top ? fenced(tableLines(node).join('\n')) : undefined
    case 'heading':
      return heading(node, raw)
    case 'image':
      return image(node, raw)
    default:
      return undefined
  }
}

/** Mentions that cannot be taken for one. */
export function neutral(text: string): string {
  return text.replace(MENTION, `@${ZERO_WIDTH}`)
}

function fenced(text: string): string {
  return `\`\`\`\n${breakFences(text)}\n\`\`\``
}

/** Discord ends a code block at the first three backticks, wherever they stand. */
function breakFences(text: string): string {
  return text.replaceAll('```', `\`\`${ZERO_WIDTH}\``)
}

function code(node: Code, raw: string): string {
  const lines = raw.split('\n')
  const first = /^(`{3,}|~{3,})/.exec(raw)?.[1]
  if (first === undefined) return raw
  const last = lines.length > 1 ? lines.at(-1) : undefined
  const closed = last !== undefined && /^[\s>]*(`{3,}|~{3,})\s*$/.test(last)
  const opening = `\`\`\`${raw.split('\n', 1)[0]?.slice(first.length) ?? ''}`
  const body = lines.slice(1, closed ? -1 : undefined).map(breakFences)
  if (node.value === '' && !closed) return raw
  return [opening, ...body, closed ? (last ?? '').replace(/(`{3,}|~{3,})\s*$/, '```') : '```'].join('\n')
}

function heading(node: Heading, raw: string): string | undefined {
  if (raw.startsWith('#')) return node.depth > 3 ? neutral(raw.replace(/^#+/, '###')) : undefined
  const lines = raw
    .split('\n')
    .slice(0, -1)
    .map((line) => line.trim())
  return neutral(`${'#'.repeat(node.depth)} ${lines.join(' ')}`)
}

/** Discord shows no pictures from links: the link stays. */
function image(node: Image, raw: string): string {
  return raw.startsWith('![') && node.alt ? raw.slice(1) : node.url || raw
}

function occurrences(text: string, what: string): number {
  return text.split(what).length - 1
}

/** Text in which nothing is markup and nothing pings. */
export function escapeText(text: string): string {
  return neutral(text.replace(/[\\*_~`|>#[\]()<:-]/g, '\\$&'))
}

/** One line of code that cannot end early; backticks that would end it are shown as their look-alikes. */
export function inlineCode(text: string): string {
  if (text.trim() === '') return '` `'
  if (!text.includes('`')) return `\`${text}\``
  if (!text.includes('``')) return `\`\` ${text} \`\``
  return `\`\` ${text.replaceAll('`', 'ˋ')} \`\``
}
