import type { Table } from 'mdast'
import { plainText } from './parse.ts'

const COLUMN_GAP = ' | '
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu
const NO_WIDTH = /\p{Mn}|\p{Cf}/gu

/** Whether the line may be the one between a table's header and its rows, quote and list marks before it included. */
export function isDelimiter(line: string): boolean {
  return line.includes('-') && /^[-\s|:>*+\d.)]+$/.test(line)
}

/** Columns a text takes in a fixed-width font; East Asian and emoji count two. */
function columns(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  const shown = text.replace(NO_WIDTH, '')
  return [...shown].length + (shown.match(WIDE)?.length ?? 0)
}

/** The cells of one table row as it was written, outer bars and `\|` understood; markup is left in them. */
export function rowCells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '')
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
  if (cells.length > 1 && cells.at(-1) === '') cells.pop()
  return cells
}

/**
 * Rows, the first being the header, as lines of equal columns with a rule under the header. A header of empty cells
 * (a table continued from an earlier part) is left out with its rule.
 */
export function alignRows(rows: readonly (readonly string[])[], align: readonly (string | null)[] = []): string[] {
  const count = Math.max(0, ...rows.map((r) => r.length))
  const widths = Array<number>(count).fill(1)
  for (const r of rows) for (const [i, cell] of r.entries()) widths[i] = Math.max(widths[i] ?? 1, columns(cell))
  const draw = (row: readonly string[]): string =>
    widths
      .map((width, i) => {
        const cell = row[i] ?? ''
        const gap = width - columns(cell)
        const left = align[i] === 'right' ? gap : align[i] === 'center' ? Math.floor(gap / 2) : 0
        return ' '.repeat(left) + cell + ' '.repeat(gap - left)
      })
      .join(COLUMN_GAP)
      .trimEnd()
  const [header = [], ...body] = rows
  const lines = body.map(draw)
  if (header.every((cell) => cell === '')) return lines
  return [draw(header), widths.map((w) => '-'.repeat(w)).join('-|-'), ...lines]
}

/** A table as aligned lines for a code block. */
export function tableLines(table: Table): string[] {
  const rows = table.children.map((row) => row.children.map((cell) => plainText(cell).replace(/\s+/g, ' ').trim()))
  return alignRows(rows, table.align ?? [])
}

interface Measured {
  rows: number
  readonly widest: number[]
  narrow: number
}

/** What is known of lists of rows, which only ever grow: a table is measured again for each row that is added. */
const MEASURED = new WeakMap<readonly (readonly string[])[], Measured>()

function measured(rows: readonly (readonly string[])[]): Measured {
  const known = MEASURED.get(rows) ?? { rows: 0, widest: [], narrow: 0 }
  for (; known.rows < rows.length; known.rows++) {
    for (const [i, cell] of (rows[known.rows] ?? []).entries()) {
      const shown = columns(cell)
      known.widest[i] = Math.max(known.widest[i] ?? 1, shown)
      known.narrow += Math.max(0, cell.length - shown)
    }
  }
  MEASURED.set(rows, known)
  return known
}

/**
 * The most UTF-16 units `alignRows` makes of these rows, line breaks included. Never falls while a cell or row is
 * added. Rows that were measured in this list must not change afterwards.
 */
export function alignedSize(rows: readonly (readonly string[])[]): number {
  const { widest, narrow } = measured(rows)
  const width = widest.reduce((sum, n) => sum + n, COLUMN_GAP.length * Math.max(0, widest.length - 1) + 1)
  return (rows.length + 1) * width + narrow
}
