import { closing, type Fence, fenceLine, looksLikeFence, mayBecomeClose, reopened } from './fences.ts'
import { rowCells } from './table.ts'

/** Part of a longer Markdown text that is complete: open fences and tables are closed and opened again. */
export interface MarkdownPart {
  readonly text: string
  /** UTF-16 offsets into the source. Between two parts lie white space and markup only. */
  readonly start: number
  readonly end: number
}

export interface SplitOptions {
  /** The most UTF-16 units a part may cost; at least 100. */
  readonly limit: number
  /** The most units by which rendering lengthens this line. Must not fall while the line grows. */
  readonly extra?: (line: string, code: boolean) => number
  /** The most units a table of these rows takes when rendered, fences included. */
  readonly tableSize?: (rows: readonly (readonly string[])[]) => number
}

/** A border is taken at a block's end from this share of the limit on, at a line's end from that one. */
const BLOCK_FILL = 0.5
const LINE_FILL = 0.3
const DELIMITER = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
const OTHER_BLOCK = /^[ \t]*(?:#{1,6}(?:\s|$)|>|[-*+]\s|\d{1,9}[.)]\s|```|~~~)/
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/

interface SplitPoint {
  readonly offset: number
  readonly fence?: Fence | undefined
  /** Columns of the table in which the place lies. */
  readonly table?: number | undefined
  /** Inside a line that was too long. */
  readonly midLine?: boolean
}

interface Border extends SplitPoint {
  readonly length: number
  readonly cost: number
  readonly block: boolean
}

/**
 * Splits Markdown into parts that cost at most `limit`: at a block's end, else a line's, else between words, else
 * between characters. No part is blank. Borders depend only on what comes before the point at which a part is
 * full: when text is appended, all parts but the last stay as they are. Linear in the text's length.
 */
export function splitMarkdown(source: string, options: SplitOptions): MarkdownPart[] {
  const parts: MarkdownPart[] = []
  let at: SplitPoint | undefined = { offset: 0 }
  while (at) {
    const builder: PartBuilder = new PartBuilder(source, at, options)
    const { part, next } = builder.next()
    if (part) parts.push(part)
    at = next
  }
  return parts
}

class PartBuilder {
  readonly #source: string
  readonly #options: SplitOptions
  readonly #start: number
  readonly #midLine: boolean
  /** A fence that an earlier part opened: its lines lose the indent that fence had. */
  readonly #indent: number
  #text = ''
  #cost = 0
  #fence: Fence | undefined
  #table: { rows: string[][]; before: number; plain: number } | undefined
  #head: { cells: string[]; before: number } | undefined
  #afterHeading = false
  #borders: Border[] = []
  #lastLine = ''

  constructor(source: string, at: SplitPoint, options: SplitOptions) {
    this.#source = source
    this.#options = options
    this.#midLine = at.midLine ?? false
    this.#start = at.fence || this.#midLine ? at.offset : skipBlank(source, at.offset)
    this.#indent = at.fence && !at.fence.prefix.includes('>') ? at.fence.prefix.length : 0
    if (at.fence) {
      this.#fence = reopened(at.fence)
      this.#text = `${this.#fence.prefix}${this.#fence.mark}${this.#fence.info}`
      this.#cost = this.#text.length + this.#extra(this.#text, false)
    } else if (at.table && at.offset === this.#start) {
      const empty = `|${' |'.repeat(at.table)}`
      this.#text = `${empty}\n|${'---|'.repeat(at.table)}`
      this.#table = { rows: [Array<string>(at.table).fill('')], before: 0, plain: this.#text.length }
      this.#cost = this.#tableCost()
    }
  }

  next(): { part?: MarkdownPart; next?: SplitPoint } {
    const source = this.#source
    if (this.#start >= source.length) return {}
    let at = this.#start
    while (at < source.length) {
      // No more of a line is looked at than a part can hold: each part would look at all the rest of a long one.
      const near = source.slice(at, at + 2 * this.#options.limit)
      const length = near.indexOf('\n')
      const end = length < 0 ? -1 : at + length
      const line = length < 0 ? near : near.slice(0, length)
      const more = length < 0 && at + near.length < source.length
      if (!this.#fits(line, end >= 0 || more, at)) return this.#breakIn(line, at)
      if (end < 0) break
      at = end + 1
      this.#noteBorder(at, line)
    }
    return this.#finish(this.#text.length, this.#fence, source.length)
  }

  /** Adds the line if the part then still keeps to the limit. */
  #fits(raw: string, ended: boolean, at: number): boolean {
    const continued = this.#midLine && at === this.#start
    const before = this.#fence
    const found = continued ? ({ kind: before ? 'inside' : 'text' } as const) : fenceLine(raw, before)
    const inside = found.kind === 'inside' || found.kind === 'close'
    const line = inside ? this.#dedent(raw, continued) : raw
    const cost = this.#cost + this.#joint() + line.length + this.#extra(line, inside)
    if (found.kind === 'inside' && before) {
      const early = !ended && mayBecomeClose(raw, before)
      if ((early ? this.#cost : cost) + reserve(before) > this.#options.limit) return false
    } else {
      const room = found.kind === 'open' ? reserve(found.fence) : found.kind === 'text' && looksLikeFence(line) ? 16 : 0
      if (cost + room > this.#options.limit) return false
    }
    if (found.kind === 'text' && !continued) {
      if (!this.#tableFits(line, ended, cost)) return false
    } else {
      this.#table = undefined
      this.#head = undefined
      this.#cost = cost
    }
    this.#text += (this.#joint() ? '\n' : '') + line
    this.#fence = found.kind === 'open' ? found.fence : found.kind === 'inside' ? before : undefined
    this.#lastLine = found.kind
    return true
  }

  /** Keeps count of tables, whose cost is that of their aligned form where that is greater. Sets the cost. */
  #tableFits(line: string, ended: boolean, cost: number): boolean {
    const bar = line.includes('|') && !OTHER_BLOCK.test(line)
    const added = this.#joint() + line.length + this.#extra(line, false)
    const head = this.#head
    this.#head = undefined
    if (this.#table && bar) {
      // The same list grows: what was measured of it is not measured again.
      this.#table.rows.push(rowCells(line))
      const table = { ...this.#table, plain: this.#table.plain + added }
      const total = table.before + Math.max(table.plain, this.#sizeOf(table.rows))
      if (total > this.#options.limit) return false
      this.#table = table
      this.#cost = total
      return true
    }
    this.#table = undefined
    if (head && ended && DELIMITER.test(line) && rowCells(line).length === head.cells.length) {
      const table = { rows: [head.cells], before: head.before, plain: cost - head.before }
      const total = table.before + Math.max(table.plain, this.#sizeOf(table.rows))
      if (total > this.#options.limit) return false
      this.#table = table
      this.#cost = total
      return true
    }
    if (bar && ended) this.#head = { cells: rowCells(line), before: this.#cost }
    this.#cost = cost
    return true
  }

  #tableCost(): number {
    const t = this.#table
    return t ? t.before + Math.max(t.plain, this.#sizeOf(t.rows)) : 0
  }

  #sizeOf(rows: readonly (readonly string[])[]): number {
    return this.#options.tableSize?.(rows) ?? 0
  }

  #extra(line: string, code: boolean): number {
    return this.#options.extra?.(line, code) ?? 0
  }

  #joint(): number {
    return this.#text === '' ? 0 : 1
  }

  #dedent(line: string, continued: boolean): string {
    if (!this.#indent || continued) return line
    let n = 0
    while (n < this.#indent && (line[n] === ' ' || line[n] === '\t')) n++
    return line.slice(n)
  }

  #noteBorder(offset: number, line: string): void {
    const blank = line.trim() === '' && !this.#fence
    if (!blank) this.#afterHeading = !this.#fence && HEADING.test(line)
    if (this.#lastLine === 'open') return
    const block = (blank && !this.#afterHeading) || this.#lastLine === 'close'
    const table = this.#table?.rows[0]?.length
    this.#borders.push({ offset, length: this.#text.length, cost: this.#cost, block, fence: this.#fence, table })
  }

  #breakIn(line: string, at: number): { part?: MarkdownPart; next?: SplitPoint } {
    const { limit } = this.#options
    const borders = this.#borders.filter((b) => this.#text.slice(0, b.length).trim() !== '')
    const border =
      borders.findLast((b) => b.block && b.cost >= limit * BLOCK_FILL) ??
      borders.findLast((b) => b.cost >= limit * LINE_FILL)
    if (border) return this.#finish(border.length, border.fence, border.offset, border)
    const kind = fenceLine(line, this.#fence).kind
    const opens = kind === 'open'
    // A quote that ends has ended its fence with it.
    if (kind === 'text' && !(this.#midLine && at === this.#start)) this.#fence = undefined
    const cut = this.#table || opens ? 0 : this.#cutIn(line)
    const any = borders.at(-1)
    if (cut === 0 && any) return this.#finish(any.length, any.fence, any.offset, any)
    const length = cut || this.#cutIn(line) || Math.max(1, cutBefore(line, Math.min(line.length, limit)))
    this.#text += (this.#joint() ? '\n' : '') + this.#dedent(line.slice(0, length), this.#midLine && at === this.#start)
    const place = { offset: at + length, fence: this.#fence, midLine: true }
    return this.#finish(this.#text.length, this.#fence, at + length, place)
  }

  /** The last good place inside the line up to which the part keeps to the limit; 0 where there is none. */
  #cutIn(line: string): number {
    const close = this.#fence ? reserve(this.#fence) : looksLikeFence(line) ? 16 : 0
    const room = this.#options.limit - this.#cost - this.#joint() - close
    let low = 0
    let high = Math.min(line.length, Math.max(0, room))
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (middle + this.#extra(line.slice(0, middle), this.#fence !== undefined) <= room) low = middle
      else high = middle - 1
    }
    return low === 0 ? 0 : cutBefore(line, low)
  }

  #finish(
    length: number,
    fence: Fence | undefined,
    end: number,
    next?: SplitPoint,
  ): { part?: MarkdownPart; next?: SplitPoint } {
    const body = this.#text.slice(0, length)
    const text = fence ? `${body}\n${closing(fence)}` : body.replace(/\n[\s]*$/, '')
    const place = next && next.offset < this.#source.length ? { next } : {}
    // A reopened fence or table is no content: what shows nothing of the source is no part.
    if (text.trim() === '' || this.#source.slice(this.#start, end).trim() === '') return place
    return { part: { text, start: this.#start, end }, ...place }
  }
}

/**
 * What a fence needs to be closed, twice: while its own closing line grows, letter by letter, ours is below it,
 * and a part that was not full before must not become full and then again not.
 */
function reserve(fence: Fence): number {
  return 2 * (1 + fence.prefix.length + fence.mark.length) + 3
}

/** The first offset from which a line that is not blank begins. */
function skipBlank(source: string, from: number): number {
  let at = from
  for (;;) {
    const end = source.indexOf('\n', at)
    const stop = end < 0 ? source.length : end
    if (source.slice(at, stop).trim() !== '') return at
    if (end < 0) return source.length
    at = end + 1
  }
}

/** A place to cut at most at `max`: after white space in its later half, else between two characters as people see them. */
function cutBefore(line: string, max: number): number {
  if (max >= line.length) return line.length
  let word = max
  while (word > max / 2 && !/\s/.test(line[word - 1] ?? '')) word--
  if (word > max / 2) {
    const link = line.lastIndexOf('[', word)
    const inLink = link > max / 2 && !line.slice(link, word).includes(']')
    return inLink ? link : word
  }
  let from = max - 64 > 0 ? wholeBefore(line, max - 64) : 0
  // Flags are pairs of one kind of letter: only from a run's beginning can it be told which make a pair.
  while (from > 1 && /^\ud83c[\udde6-\uddff]/.test(line.slice(from - 2, from))) from -= 2
  const upTo = max + ((line.codePointAt(max) ?? 0) > 0xffff ? 2 : 1)
  const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(line.slice(from, upTo))
  const begin = from + (graphemes.containing(max - from)?.index ?? max - from)
  return begin > max / 2 ? begin : wholeBefore(line, max)
}

/** `at`, or one less where it lies inside a surrogate pair. */
function wholeBefore(line: string, at: number): number {
  const low = line.charCodeAt(at)
  return at > 1 && low >= 0xdc00 && low <= 0xdfff ? at - 1 : at
}
