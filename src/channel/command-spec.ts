/** A command as both platforms offer it; what it does is the gateway's. */
export interface CommandSpec {
  /** 1 to 32 lower-case letters. */
  readonly name: string
  /** 1 to 100 characters. */
  readonly description: string
  readonly options: readonly CommandOption[]
}

export interface CommandOption {
  readonly name: string
  readonly description: string
  readonly required: boolean
  /** The values there are, at most 25; any text without. */
  readonly choices?: readonly string[]
}
