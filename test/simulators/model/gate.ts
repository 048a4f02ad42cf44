/** A place where an answer waits until the test says go. */
export class Gate {
  /** Resolves when an answer has come to the gate. */
  readonly reached: Promise<void>
  readonly opened: Promise<void>
  #reach: () => void = () => {}
  #open: () => void = () => {}

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  release(): void {
    this.#open()
  }

  async pass(): Promise<void> {
    this.#reach()
    await this.opened
  }
}
