import type { CommandSpec } from '../../channel/command-spec.ts'

/** Commands of parts that this version does not have: not offered; typed, they are answered so. */
const NOT_BUILT: readonly string[] = ['watches', 'mcp', 'skill']

/** One table for both platforms. `models` are the aliases that /ask and /model offer. */
export function commandTable(models: readonly string[]): readonly CommandSpec[] {
  const option = (name: string, description: string, required = false) => ({ name, description, required })
  const model = { ...option('model', 'which model answers'), choices: models.slice(0, 25) }
  return [
    { name: 'ask', description: 'Begin a conversation', options: [option('prompt', 'your question', true), model] },
    { name: 'link', description: 'Link your account here with a token', options: [] },
    { name: 'unlink', description: 'Take the link of your account off', options: [] },
    { name: 'status', description: 'What this conversation is doing', options: [] },
    { name: 'stop', description: 'Stop what is running here', options: [] },
    { name: 'close', description: 'End this conversation', options: [] },
    {
      name: 'model',
      description: 'Show or choose the model',
      options: [{ ...option('name', 'the model to use from now on'), choices: models.slice(0, 25) }],
    },
    {
      name: 'approvals',
      description: 'Open questions and what is always allowed',
      options: [option('revoke', 'a label that shall ask again')],
    },
    { name: 'usage', description: 'Tokens you have used', options: [] },
    { name: 'help', description: 'How this works', options: [] },
  ]
}

export interface WordCommand {
  readonly name: string
  readonly args: Readonly<Record<string, string>>
}

/**
 * The command a whole text is, or undefined: then it is a question. `link` takes at most one further word, so that
 * "link me to the docs" is a question.
 */
export function parseWords(text: string): WordCommand | undefined {
  const words = text.trim().split(/\s+/)
  const [first = '', second, third] = words
  const name = first.toLowerCase()
  const alone = words.length === 1
  if (['unlink', 'status', 'stop', 'close', 'usage', 'help'].includes(name))
    return alone ? { name, args: {} } : undefined
  if (name === 'link' && words.length <= 2) return { name, args: second === undefined ? {} : { token: second } }
  if (name === 'model' && words.length <= 2) return { name, args: second === undefined ? {} : { name: second } }
  if (name === 'approvals') {
    if (alone) return { name, args: {} }
    return second?.toLowerCase() === 'revoke' && third !== undefined && words.length === 3
      ? { name, args: { revoke: third } }
      : undefined
  }
  return parseNotBuilt(name, words)
}

function parseNotBuilt(name: string, words: readonly string[]): WordCommand | undefined {
  if (!NOT_BUILT.includes(name)) return undefined
  const verb = words[1]?.toLowerCase()
  const verbs: Record<string, readonly string[]> = {
    watches: ['cancel'],
    mcp: ['refresh', 'reconnect'],
    skill: ['load', 'search'],
  }
  const fits = words.length === 1 || (verbs[name]?.includes(verb ?? '') && words.length <= 3)
  return fits ? { name: 'not-built', args: { name } } : undefined
}
