import type { MessageRef } from '../../src/channel/channel-adapter.ts'
import type { TurnView } from '../../src/channel/turn-view.ts'
import { closeFences, type Fence, fenceLine, reopened } from '../markdown/fences.ts'
import { fitTables, growing, splitParts } from './markdown.ts'
import { sectionMarkdown } from './outbound.ts'

/** One message of the answer, as far as this process knows it. */
export interface Part {
  readonly key: string
  ref?: MessageRef
  /** `sealed`: its stream ended with what it shows, the rest stands in the next part. `gone`: nothing can be done. */
  mode: 'none' | 'stream' | 'posted' | 'sealed' | 'gone'
  /** What stands there; undefined where that is not known. */
  shown: string | undefined
  /** Hash of the content as the platform reported it. */
  sum?: string
  /** How far into the section's Markdown it shows. */
  covered: number
  startedAt: number
  touchedAt: number
  /** How often it was posted again because it was deleted or could not be changed. */
  renewals: number
}

/** The section's Markdown up to `at` stands in the parts up to and with `part`; its stream was ended there. */
export interface Cut {
  readonly at: number
  readonly head: string
  readonly part: number
}

export interface SectionState {
  readonly parts: Part[]
  cuts: Cut[]
  /** The Markdown for which all parts stand complete. */
  settled?: string
}

/** What one part is to show; undefined for one that stays as it is. */
export interface Target {
  readonly text: string | undefined
  readonly covered: number
  readonly complete: boolean
}

export interface Plan {
  readonly markdown: string
  readonly targets: readonly Target[]
}

/**
 * What each part of a section is to show. `grows`: its end is still being written. Drops cuts that the text no longer
 * fits; a part sealed there is then to be rewritten.
 */
export function planSection(section: TurnView['sections'][number], state: SectionState, grows: boolean): Plan {
  const markdown = sectionMarkdown(section, grows)
  const kept = state.cuts.findIndex((cut) => !markdown.startsWith(cut.head))
  if (kept >= 0) {
    for (const cut of state.cuts.slice(kept)) reopen(state.parts[cut.part])
    state.cuts = state.cuts.slice(0, kept)
  }
  const targets: Target[] = []
  let from = 0
  let carry = ''
  for (const cut of state.cuts) {
    const texts = splitParts(carry + markdown.slice(from, cut.at)).map((s) => fitTables(s.text))
    while (targets.length < cut.part) targets.push({ text: texts.shift(), covered: cut.at, complete: true })
    targets.push({ text: undefined, covered: cut.at, complete: true })
    carry = carryOf(carry + markdown.slice(from, cut.at))
    from = cut.at
  }
  const rest = carry + markdown.slice(from).replace(/^(?:[ \t]*\n)+/, '')
  const parts = rest.slice(carry.length).trim() === '' ? [] : splitParts(rest)
  for (const [i, part] of parts.entries()) {
    const last = i === parts.length - 1
    if (last && grows) {
      const { text, held } = growing(part.text, rest)
      targets.push({ text, covered: markdown.length - held, complete: false })
    } else
      targets.push({
        text: fitTables(last ? closeFences(part.text) : part.text),
        covered: markdown.length,
        complete: true,
      })
  }
  return { markdown, targets }
}

function reopen(part: Part | undefined): void {
  if (part?.mode !== 'sealed') return
  part.mode = 'posted'
  part.shown = undefined
}

/** What the next part begins with where a fence is open at a text's end. */
function carryOf(text: string): string {
  let open: Fence | undefined
  for (const line of text.split('\n')) {
    const found = fenceLine(line, open)
    open = found.kind === 'open' ? found.fence : found.kind === 'inside' ? open : undefined
  }
  if (!open) return ''
  const again = reopened(open)
  return `${again.prefix}${again.mark}${again.info}\n`
}
