import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

/** CommonMark with GFM as a tree with positions (UTF-16 offsets into `text`). One tilde is no strikethrough: "~5 min". */
export function parseMarkdown(text: string): Root {
  return fromMarkdown(text, { extensions: [gfm({ singleTilde: false })], mdastExtensions: [gfmFromMarkdown()] })
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
