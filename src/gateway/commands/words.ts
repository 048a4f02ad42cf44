import type { Command, WordForm } from './command.ts'

export interface ParsedWords {
  readonly name: string
  readonly args: Readonly<Record<string, string>>
}

/** The command that a whole text is; undefined for anything else, which is a question. */
export function parseWords(text: string, commands: readonly Command[]): ParsedWords | undefined {
  const [first = '', ...rest] = text.trim().split(/\s+/, 8)
  const command = commands.find((c) => c.name === first.toLowerCase())
  for (const form of command?.words ?? []) {
    const args = argumentsOf(rest, form)
    if (command && args) return { name: command.name, args }
  }
  return undefined
}

function argumentsOf(rest: readonly string[], { keywords, argument }: WordForm): Record<string, string> | undefined {
  if (keywords.some((word, i) => rest[i]?.toLowerCase() !== word)) return undefined
  const [value, ...more] = rest.slice(keywords.length)
  if (more.length > 0) return undefined
  if (value === undefined) return argument === undefined || argument.optional ? {} : undefined
  return argument && { [argument.name]: value }
}

/** How a command is written as words, such as `approvals revoke LABEL`. */
export function usageOf(command: Command, { keywords, argument }: WordForm): string {
  const label = argument && (argument.optional ? `[${argument.label}]` : argument.label)
  return [command.name, ...keywords, ...(label === undefined ? [] : [label])].join(' ')
}
