import { isJson, type Json, type SlackMessage } from './world.ts'

function decoded(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function textOf(value: unknown, raw: boolean): string {
  if (!isJson(value)) return ''
  const text = String(value.text ?? '')
  return raw || value.type === 'plain_text' ? text : decoded(text)
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : []
}

function richText(element: Json): string {
  switch (element.type) {
    case 'text':
    case 'raw_text':
      return String(element.text ?? '')
    case 'link':
      return String(element.text ?? element.url ?? '')
    case 'user':
      return `<@${element.user_id}>`
    case 'usergroup':
      return `<!subteam^${element.usergroup_id}>`
    case 'broadcast':
      return `<!${element.range}>`
    case 'channel':
      return `<#${element.channel_id}>`
    case 'emoji':
      return `:${element.name}:`
    case 'rich_text_list':
      return list(element.elements).map(richText).join('\n')
    case 'rich_text':
      return list(element.elements).map(richText).join('\n')
    default:
      return list(element.elements).map(richText).join('')
  }
}

function blockText(block: Json, raw: boolean): string {
  switch (block.type) {
    case 'section':
      return [...(block.text ? [textOf(block.text, raw)] : []), ...list(block.fields).map((f) => textOf(f, raw))].join(
        '\n',
      )
    case 'header':
      return textOf(block.text, raw)
    case 'context':
      return list(block.elements)
        .filter((e) => e.type !== 'image')
        .map((e) => textOf(e, raw))
        .join(' ')
    case 'markdown':
      return raw ? String(block.text ?? '') : decoded(String(block.text ?? ''))
    case 'rich_text':
      return richText(block)
    case 'table':
    case 'data_table':
      return (Array.isArray(block.rows) ? block.rows : [])
        .map((row: unknown) => list(row).map(richText).join(' | '))
        .join('\n')
    case 'image':
      return String(block.alt_text ?? '')
    case 'input':
      return textOf(block.label, raw)
    default:
      return ''
  }
}

function parts(message: Pick<SlackMessage, 'text' | 'blocks' | 'markdown' | 'attachments'>, raw: boolean): string[] {
  const blocks = (message.blocks ?? []).map((block) => blockText(block, raw)).filter(Boolean)
  const attached = (message.attachments ?? []).map((a) =>
    [a.pretext, a.title, a.text ?? a.fallback].filter(Boolean).join('\n'),
  )
  if (message.markdown !== undefined)
    return [raw ? message.markdown : decoded(message.markdown), ...blocks, ...attached]
  if (blocks.length > 0) return [...blocks, ...attached]
  return [raw ? message.text : decoded(message.text), ...attached]
}

/** The text a reader sees: blocks win over `text`; labels of buttons are left out, entities are resolved. */
export function renderMessage(message: Pick<SlackMessage, 'text' | 'blocks' | 'markdown' | 'attachments'>): string {
  return parts(message, false).join('\n')
}

/** Broadcasts, groups and users that a message would ping, in any of its texts, the fallback too. */
export function pingsOf(
  message: Pick<SlackMessage, 'text' | 'blocks' | 'markdown' | 'attachments' | 'parse'>,
): string[] {
  const texts = [message.text, ...parts(message, true)].join('\n')
  const found = new Set<string>()
  for (const [, what] of texts.matchAll(/<!(channel|here|everyone)(?:\|[^>]*)?>/g)) found.add(`!${what}`)
  for (const [, group] of texts.matchAll(/<!subteam\^(\w+)(?:\|[^>]*)?>/g)) found.add(`!subteam^${group}`)
  for (const [, user] of texts.matchAll(/<@([UW]\w+)(?:\|[^>]*)?>/g)) found.add(`@${user}`)
  if (message.parse === 'full')
    for (const [, what] of texts.matchAll(/(?<![\w<])@(channel|here|everyone)\b/g)) found.add(`!${what}`)
  return [...found]
}

export interface SeenButton {
  actionId: string
  blockId: string
  text: string
  value?: string
  style?: string
  type: string
}

/** Interactive elements of a message's or view's blocks. */
export function buttonsOf(blocks: Json[] | undefined): SeenButton[] {
  return (blocks ?? []).flatMap((block) => {
    const elements = [...list(block.elements), ...(isJson(block.accessory) ? [block.accessory] : [])]
    return elements
      .filter((element) => typeof element.action_id === 'string')
      .map((element) => ({
        actionId: String(element.action_id),
        blockId: String(block.block_id ?? ''),
        text: textOf(element.text, true),
        type: String(element.type),
        ...(typeof element.value === 'string' ? { value: element.value } : {}),
        ...(typeof element.style === 'string' ? { style: element.style } : {}),
      }))
  })
}
