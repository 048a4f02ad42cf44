/** How much output is kept of each half, characters; together 256 KiB of ASCII. */
const MAX_HALF_CHARS = 128 * 1024

/** Keeps the head and the tail of what a program prints; standard error's lines are marked. Memory is bounded. */
export class OutputCollector {
  #head = ''
  #tail = ''
  #dropped = 0
  readonly #partial = { stdout: '', stderr: '' }

  /** Returns what was added, as it reads. */
  add(stream: 'stdout' | 'stderr', text: string): string {
    const end = text.lastIndexOf('\n') + 1
    const whole = end > 0 ? this.#take(stream) + text.slice(0, end) : ''
    this.#partial[stream] += text.slice(end)
    let added = stream === 'stderr' ? whole.replace(/[^\n]*\n/g, (line) => streamPrefix(stream) + line) : whole
    // A line without an end is not kept back for ever.
    if (this.#partial[stream].length > MAX_HALF_CHARS) added += `${streamPrefix(stream)}${this.#take(stream)}\n`
    this.#append(added)
    return added
  }

  /** All of it, right-trimmed; a note replaces what was dropped. */
  text(): string {
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#take(stream)
      if (rest) this.#append(`${streamPrefix(stream)}${rest}\n`)
    }
    const tail = this.#tail.replace(/^[\uDC00-\uDFFF]/, '')
    const cut = `\n[… ${this.#dropped} characters of output omitted …]\n`
    return (this.#dropped > 0 ? this.#head + cut + tail : this.#head + tail).trimEnd()
  }

  #take(stream: 'stdout' | 'stderr'): string {
    const rest = this.#partial[stream]
    this.#partial[stream] = ''
    return rest
  }

  #append(text: string): void {
    const room = MAX_HALF_CHARS - this.#head.length
    const toHead = room > 0 ? text.slice(0, room) : ''
    this.#head += toHead
    this.#tail += text.slice(toHead.length)
    const excess = this.#tail.length - MAX_HALF_CHARS
    if (excess <= 0) return
    this.#tail = this.#tail.slice(excess)
    this.#dropped += excess
  }
}

function streamPrefix(stream: 'stdout' | 'stderr'): string {
  return stream === 'stderr' ? '[stderr] ' : ''
}
