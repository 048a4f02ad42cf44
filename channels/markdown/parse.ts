import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

/** CommonMark with GFM as a tree with positions (UTF-16 offsets into `text`). One tilde is no strikethrough: "~5 min". */
export function parseMarkdown(text: string): Root {
  if (isKnotty(text)) return plainRoot(text)
  return fromMarkdown(text, { extensions: [gfm({ singleTilde: false })], mdastExtensions: [gfmFromMarkdown()] })
}

/** Marks at which a parser looks back at all earlier ones: of these a text may hold one in so many characters. */
const CHARS_FOR_EACH_MARK = 6
const MIN_MARKS = 100
const DEEP = /^(?:[ \t]{0,4}(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))){16}/m

/** Whether it is so full of marks, or so deep, that a parser takes many times longer than for what people write. */
function isKnotty(text: string): boolean {
  let marks = 0
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === 0x5b || c === 0x3c || (c === 0x60 && text.charCodeAt(at - 1) !== 0x60)) marks++
  }
  return (marks > MIN_MARKS && marks * CHARS_FOR_EACH_MARK > text.length) || DEEP.test(text)
}

function plainRoot(text: string): Root {
  const position = { start: { line: 1, column: 1, offset: 0 }, end: { line: 1, column: 1, offset: text.length } }
  return {
    type: 'root',
    children: [{ type: 'paragraph', children: [{ type: 'text', value: text, position }], position }],
    position,
  }
}

/** What a node says without its markup; a link keeps its target: `label <url>`. */
export function plainText(node: Nodes): string {
  switch (node.type) {
    case 'text':
    case 'inlineCode':
    case 'code':
    case 'html':
      return node.value
    case 'break':
      return ' '
    case 'image':
      return [node.alt, `<${node.url}>`].filter(Boolean).join(' ')
    case 'link': {
      const label = node.children.map(plainText).join('')
      return label === node.url || `mailto:${label}` === node.url ? label : `${label} <${node.url}>`.trimStart()
    }
    case 'footnoteReference':
      return `[^${node.label ?? node.identifier}]`
    default:
      return 'children' in node ? node.children.map(plainText).join('') : ''
  }
}
