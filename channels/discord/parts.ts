import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { encodePostKey } from '../../src/channel/post-key.ts'
import type { TurnView, ViewItem } from '../../src/channel/turn-view.ts'
import { TOOL_STATES } from '../../src/copy/turns.ts'
import { oneLine } from '../../src/util/visible.ts'
import { closeFences } from '../markdown/fences.ts'
import { LIMITS } from './limits.ts'
import { inlineCode, isBlank, type RenderMemo, renderPart, splitParts } from './markdown.ts'

/** Longest header on a tool's line, and how much of a running tool's output is shown; UTF-16 units and lines. */
const MAX_HEADER_CHARS = 200
const MAX_TAIL_CHARS = 600
const MAX_TAIL_LINES = 8

/** One part of a turn: the message that stands under this key. */
export interface Part {
  readonly key: string
  readonly content: string
}

/**
 * A turn as messages: each section begins a new one, and one that is too long is split. `memo` holds the last drawing.
 * Others have their turn after each part.
 */
export async function renderView(view: TurnView, turn: string, memo?: RenderMemo): Promise<Part[]> {
  const before = memo?.parts ?? new Map<string, string>()
  const after = new Map<string, string>()
  const parts: Part[] = []
  for (const [section, { items }] of view.sections.entries()) {
    let part = 0
    for (const source of splitParts(sectionMarkdown(items))) {
      const known = before.get(source)
      const content = known ?? renderPart(source)
      after.set(source, content)
      if (!isBlank(content)) parts.push({ key: encodePostKey({ kind: 'part', turn, section, part: part++ }), content })
      if (known === undefined) await nextTurn()
    }
  }
  if (memo) memo.parts = after
  return parts
}

function sectionMarkdown(items: readonly ViewItem[]): string {
  let out = ''
  let before: ViewItem['kind'] | undefined
  const shown = items.filter((item) => item.kind !== 'text' || !isBlank(item.text))
  for (const [i, item] of shown.entries()) {
    if (before) out += before === 'tool' && item.kind === 'tool' ? '\n' : '\n\n'
    out += item.kind === 'text' && i < shown.length - 1 ? closeFences(item.text.trimEnd()) : itemMarkdown(item)
    before = item.kind
  }
  return out
}

function itemMarkdown(item: ViewItem): string {
  switch (item.kind) {
    case 'text':
      return item.text
    case 'notice':
      return item.tone === 'error'
        ? `⚠️ **${oneLine(item.text, 1500).replaceAll('*', '\\*')}**`
        : `-# ${oneLine(item.text, 1500)}`
    case 'tool': {
      const { sign, word } = TOOL_STATES[item.state]
      const line = `-# ${sign} ${inlineCode(toolText(item.tool, item.header))}${word && ` · ${word}`}`
      return item.state === 'running' && item.tail ? `${line}\n${tailBlock(item.tail)}` : line
    }
  }
}

/** Headers mostly begin with the tool's name; it is not said twice. */
function toolText(tool: string, header: string): string {
  const line = oneLine(header, MAX_HEADER_CHARS)
  return line.toLowerCase().startsWith(tool.toLowerCase()) ? line : oneLine(`${tool} ${line}`, MAX_HEADER_CHARS + 64)
}

function tailBlock(tail: string): string {
  const lines = tail.trimEnd().split('\n').slice(-MAX_TAIL_LINES).join('\n').slice(-MAX_TAIL_CHARS)
  const whole = lines.replace(/^[\udc00-\udfff]/, '').replaceAll('```', '``\u200b`')
  return isBlank(whole) ? '' : `\`\`\`\n${whole}\n\`\`\``
}

/** The nonce of a post: the same for a key in every process. */
export function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, LIMITS.nonce)
}

/** A thread's name: one line, never empty. */
export function threadName(title: string): string {
  const line = oneLine(title, LIMITS.threadName)
  return isBlank(line) ? 'Conversation' : line
}

/** A file name that every platform takes as it is. */
export function fileName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '_')
  return safe.slice(-80) || 'file.txt'
}
