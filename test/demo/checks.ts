/** Prints what happens and what was checked, and remembers whether all held. */
export class Checks {
  readonly #print: (line: string) => void
  #passed = 0
  #failed = 0

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  heading(text: string): void {
    this.#print(`\n=== ${text}`)
  }

  /** A line of the transcript. */
  says(who: string, text: string): void {
    const [first = '', ...rest] = text.split('\n')
    this.#print(`${who.padEnd(10)}| ${first}`)
    for (const line of rest) this.#print(`${''.padEnd(10)}| ${line}`)
  }

  check(what: string, held: boolean, seen = ''): void {
    if (held) this.#passed++
    else this.#failed++
    this.#print(`  ${held ? 'ok  ' : 'FAIL'} ${what}${held || !seen ? '' : ` (seen: ${seen})`}`)
  }

  /** True where all held. */
  report(): boolean {
    this.#print(`\ndemo: ${this.#passed} passed, ${this.#failed} failed`)
    return this.#failed === 0 && this.#passed > 0
  }
}
