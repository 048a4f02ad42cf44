import type { Redactor } from '../../src/util/redact.ts'

/** The note in a line that is not shown whole. */
export const LINE_CUT = /\[… \d+ characters of this line are left out …\]/

/** Longest line that is shown whole, bytes; of a longer one both ends are shown. */
const MAX_LINE_BYTES = 16 * 1024

export interface LineRange {
  /** From 1. */
  readonly offset: number
  readonly limit: number
  /** What all lines together may take, characters. */
  readonly room: number
}

/** Numbers the lines of a range while a file's bytes come in pieces. What it holds is bounded, whatever the file is. */
export class NumberedLines {
  readonly #range: LineRange
  readonly #redactor: Redactor
  readonly #shown: string[] = []
  #size = 0
  /** The line that has not ended: its head, and of a long one its tail. */
  #head: Buffer[] = []
  #headBytes = 0
  #tail = Buffer.alloc(0)
  #lineBytes = 0
  #line = 1
  #full: number | undefined

  constructor(range: LineRange, redactor: Redactor) {
    this.#range = range
    this.#redactor = redactor
  }

  push(bytes: Buffer): void {
    let at = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
      if (!this.#wanted && this.#headBytes === 0) {
        this.#line++
        this.#lineBytes = 0
        at = end + 1
        continue
      }
      this.#add(bytes.subarray(at, end))
      this.#endLine()
      at = end + 1
    }
    this.#add(bytes.subarray(at))
  }

  /** The lines, and a word on what is not among them. */
  end(): string {
    if (this.#line === 1 && this.#lineBytes === 0) return '(empty file)'
    if (this.#lineBytes > 0) this.#endLine()
    const lines = this.#line - 1
    const { offset } = this.#range
    if (offset > lines) return `(the file has ${lines} lines; line ${offset} is past the end)`
    const text = this.#shown.join('\n')
    if (this.#full === undefined) return text
    return `${text}\n\n[… the file has ${lines} lines; read on with offset ${this.#full} …]`
  }

  get #wanted(): boolean {
    const { offset, limit } = this.#range
    return this.#line >= offset && this.#line < offset + limit && this.#full === undefined
  }

  #add(bytes: Buffer): void {
    this.#lineBytes += bytes.length
    if (!this.#wanted || bytes.length === 0) return
    const most = this.#mostBytes / 2
    const fits = bytes.subarray(0, Math.max(0, 2 * most - this.#headBytes))
    if (fits.length > 0) this.#head.push(Buffer.from(fits))
    this.#headBytes += fits.length
    const rest = bytes.subarray(fits.length)
    if (rest.length > 0) this.#tail = Buffer.concat([this.#tail, rest.subarray(-most)]).subarray(-most)
  }

  /** A line takes at most half of the room. */
  get #mostBytes(): number {
    return Math.max(256, Math.min(MAX_LINE_BYTES, 2 * Math.floor(this.#range.room / 4)))
  }

  #endLine(): void {
    if (this.#wanted) {
      const line = `${String(this.#line).padStart(4)}\t${this.#text()}`
      if (this.#size + line.length > this.#range.room && this.#shown.length > 0) this.#full = this.#line
      else {
        this.#shown.push(line)
        this.#size += line.length + 1
      }
      this.#head = []
      this.#headBytes = 0
      this.#tail = Buffer.alloc(0)
    }
    this.#lineBytes = 0
    this.#line++
  }

  #text(): string {
    const whole = Buffer.concat(this.#head)
    if (this.#tail.length === 0) return whole.toString('utf8').replace(/\r$/, '')
    const half = this.#mostBytes / 2
    // Never half a character: what its cut leaves is left out too. Nor half a secret.
    const known = whole.toString('utf8')
    const head = this.#redactor.head(known, whole.toString('utf8', 0, half).replace(/\ufffd+$/, '').length)
    const rest = Buffer.concat([whole, this.#tail]).subarray(-half).toString('utf8')
    const tail = this.#redactor.tail(rest.replace(/^\ufffd+|\r$/g, ''))
    const left = Math.max(0, this.#lineBytes - Buffer.byteLength(head) - Buffer.byteLength(tail))
    return `${head}[… ${left} characters of this line are left out …]${tail}`
  }
}
