import type { TurnView, ViewItem } from '../../src/channel/turn-view.ts'
import { TOOL_STATES } from '../../src/copy/turns.ts'
import { oneLine, plainTerminal } from '../../src/util/visible.ts'
import { closeFences } from '../markdown/fences.ts'
import type { Json } from './json.ts'
import { LIMITS } from './limits.ts'
import { clip, codeBlock, defuse, fitTables, inlineCode, mrkdwn, splitParts } from './markdown.ts'

/** One message as Slack takes it. */
export interface MessageBody extends Json {
  readonly text: string
  readonly blocks: readonly Json[]
}

/** Markdown, at most one part of it, as a message. */
export function markdownBody(text: string): MessageBody {
  return { text: fallbackOf(text), blocks: [{ type: 'markdown', text }] }
}

/** What notifications show beside blocks. */
export function fallbackOf(text: string): string {
  return mrkdwn(clip(text.replace(/\s+/g, ' ').trim(), LIMITS.fallback))
}

/** The same without blocks, where Slack would not take them: nothing is left out, markup stays as it was typed. */
export function plainBody(text: string): Json {
  return { text: mrkdwn(text) }
}

/** A text of any length as the Markdown of one message or several; [] where it is blank. */
export function textParts(text: string): string[] {
  return splitParts(defuse(text)).map((s) => fitTables(s.text))
}

/** One section as Markdown. While a text grows at its end, the earlier result is the head of the later one. */
export function sectionMarkdown({ items }: TurnView['sections'][number], growing: boolean): string {
  const parts: { text: string; tool: boolean }[] = []
  const shown = items.filter((item) => item.kind === 'tool' || item.text.trim() !== '')
  for (const [i, item] of shown.entries()) {
    parts.push({ text: itemMarkdown(item, growing && i === shown.length - 1), tool: item.kind === 'tool' })
  }
  let out = ''
  for (const [i, part] of parts.entries()) {
    out += i === 0 ? '' : part.tool && parts[i - 1]?.tool ? '\n' : '\n\n'
    out += part.text
  }
  return out
}

function itemMarkdown(item: ViewItem, last: boolean): string {
  if (item.kind === 'tool') return toolMarkdown(item)
  if (item.kind === 'notice') return defuse(`${item.tone === 'error' ? '❗' : 'ℹ️'} ${item.text.trim()}`)
  const text = defuse(item.text.replace(/^(?:[ \t]*\n)+/, '').trimEnd())
  return last ? text : closeFences(text)
}

function toolMarkdown(item: Extract<ViewItem, { kind: 'tool' }>): string {
  const { sign, word } = TOOL_STATES[item.state]
  const header = oneLine(defuse(item.header), LIMITS.toolHeader)
  const tool = /^\w[\w.-]*$/.test(item.tool) ? `**${item.tool}**` : inlineCode(oneLine(defuse(item.tool), 64))
  const line = `- ${sign} ${tool}${header ? ` ${inlineCode(header)}` : ''}${word && ` · ${word}`}`
  const tail = item.state === 'running' ? tailOf(item.tail ?? '') : ''
  return tail ? `${line}\n${codeBlock(tail).replace(/^/gm, '  ')}` : line
}

function tailOf(tail: string): string {
  const lines = plainTerminal(tail).trimEnd().split('\n').slice(-LIMITS.tailLines)
  return defuse(
    lines
      .join('\n')
      .slice(-LIMITS.tailChars)
      .replace(/^[\uDC00-\uDFFF]/, ''),
  )
}
