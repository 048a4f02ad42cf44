import type { Redactor } from '../../src/util/redact.ts'
import { plainTerminal } from '../../src/util/visible.ts'
import type { FileHits } from './show-hits.ts'

/** Longest line shown, characters. */
const MAX_LINE_CHARS = 1024
/** What is kept of a line while it is read: a path, a number and what is shown. */
const MAX_RAW_CHARS = 8192
/** A line with more control characters than both of these is of a binary file. */
const MAX_CONTROLS = 4
const MAX_CONTROL_SHARE = 0.05

/** Reads `path NUL line:text` while it comes. Of long lines only the beginning is kept; linear. */
export class HitReader {
  readonly #most: number
  readonly #redactor: Redactor
  readonly #byFile = new Map<string, string[]>()
  /** The line that has not ended, and whether all of it is kept. */
  #line = ''
  #whole = true
  #kept = 0

  constructor(most: number, redactor: Redactor) {
    this.#most = most
    this.#redactor = redactor
  }

  get isFull(): boolean {
    return this.#kept > this.#most
  }

  push(text: string): void {
    let at = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      this.#add(text.slice(at, end))
      this.#endLine()
      at = end + 1
    }
    this.#add(text.slice(at))
  }

  /** All hits by file; a line that did not end is none. */
  end(): readonly FileHits[] {
    return [...this.#byFile].map(([path, lines]) => ({ path, lines }))
  }

  #add(text: string): void {
    const room = MAX_RAW_CHARS - this.#line.length
    this.#line += text.slice(0, room)
    if (text.length > room) this.#whole = false
  }

  #endLine(): void {
    const [line, whole] = [this.#line, this.#whole]
    this.#line = ''
    this.#whole = true
    const cut = line.indexOf('\0')
    const colon = line.indexOf(':', cut)
    if (cut < 0 || colon < 0 || this.isFull || isBinaryLine(line.slice(colon + 1))) return
    const text = `${line.slice(cut + 1, colon + 1)}${plainLine(line.slice(colon + 1))}`
    const most = whole ? MAX_LINE_CHARS : Math.min(MAX_LINE_CHARS, text.length - 1)
    const long = text.length > most
    const shown = long ? `${this.#redactor.head(text, most).toWellFormed()} [… line cut]` : text
    this.#kept += shown.length
    const path = line.slice(0, cut)
    const lines = this.#byFile.get(path) ?? []
    lines.push(shown)
    this.#byFile.set(path, lines)
  }
}

/** A carriage return inside a line is a line's end of another system: it is not shown, what stands around it is. */
function plainLine(text: string): string {
  return plainTerminal(text.replace(/\r$/, '').replaceAll('\r', ' '))
}

function isBinaryLine(text: string): boolean {
  const most = Math.max(MAX_CONTROLS, text.length * MAX_CONTROL_SHARE)
  return (text.match(/[\u0000-\u0006\u000e-\u001a\u001c-\u001f\ufffd]/g)?.length ?? 0) > most
}
