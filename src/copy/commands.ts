/** What commands are called and what they answer. */

export const DESCRIPTIONS = {
  ask: 'Start a conversation',
  link: 'Link your account with a token',
  unlink: 'Unlink your account',
  status: 'Show what this conversation is doing',
  stop: 'Stop what is running here',
  close: 'End this conversation',
  model: 'Show or switch the model',
  approvals: 'Pending approvals and standing permissions',
  usage: 'Your token usage',
  help: 'How this works',
} as const

export const OPTIONS = {
  prompt: 'your question',
  askModel: 'the model that answers',
  model: 'the model to switch to',
  revoke: 'the label to revoke',
} as const

export function helpText(lines: readonly { usage: string; description: string }[]): string {
  const list = lines.map(({ usage, description }) => `- \`${usage}\`: ${description}`).join('\n')
  return (
    'Mention me with a question to start a conversation. In its thread, or in a direct message, just write. ' +
    `Tools that change things ask for approval first.\n\n${list}\n\n` +
    'In a conversation you can also mention me with the command alone, such as "status".'
  )
}

export const INVALID_TOKEN = 'That token is not valid.'
export const TOO_MANY_ATTEMPTS = 'Too many attempts. Try again in an hour.'
export const ALREADY_LINKED = 'This account is already linked. Unlink it first.'
export const LINKED_AS = (name: string): string => `You are linked as ${name}.`
export const UNLINKED = 'Your account is unlinked, and your pending approvals were rejected.'
export const CANNOT_UNLINK = (why: string): string => `This link cannot be removed here: ${why}.`
export const WAS_UNLINKED = (name: string): string => `${name} was unlinked`
export const WAS_REMOVED = (name: string): string => `${name} was removed`

export const NO_CONVERSATION = 'You have no open conversation here.'
export const ONLY_OWNER = (owner: string): string => `Only ${owner} and admins can do that.`
export const NO_SUCH_COMMAND = (name: string): string => `There is no command \`${name}\`.`
/** Before the answer of a command that found its conversation without being in it. */
export const IN_CONVERSATION = (title: string): string => `“${title}”: `

export const STOPPED_BY = (name: string): string => `Stopped by ${name}.`
export const NOTHING_RUNNING = 'Nothing is running.'
export function notAnswered(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ' 1 waiting message will not be answered.' : ` ${count} waiting messages will not be answered.`
}
export const CLOSED_BY = (name: string, direct: boolean): string =>
  `Closed by ${name}. ${direct ? 'Your next message starts a new one.' : 'Mention me to start a new one.'}`

export const NO_SUCH_MODEL = (name: string, models: string): string =>
  `There is no model \`${name}\`. Available: ${models}.`
export const CURRENT_MODEL = (model: string, models: string): string => `The model is ${model}. Available: ${models}.`
export const SWITCHED_TO = (model: string): string => `Switched to ${model}, starting with your next message.`

export type Doing = 'idle' | 'working' | 'waiting for approval'

export function statusText(of: {
  id: string
  owner: string
  doing: Doing
  waiting: number
  model: string
  skipsApprovals: boolean
}): string {
  const waiting = of.waiting === 0 ? '' : `, ${of.waiting === 1 ? '1 message' : `${of.waiting} messages`} waiting`
  const lines = [`Conversation ${of.id} of ${of.owner} is ${of.doing}${waiting}.`, `Model: ${of.model}.`]
  if (of.skipsApprovals) lines.push('Approvals are off (skip_permissions): tools run without asking.')
  return lines.join('\n')
}

export const NO_PENDING = 'No pending approvals.'
export const PENDING = (what: string, link: string): string => `- pending: ${what}${link && ` ${link}`}`
export const ALWAYS_ALLOWED = (labels: string): string => `Always allowed here: ${labels}`
export const NOTHING_ALLOWED = 'Nothing is always allowed here.'
export const ASKS_AGAIN = (label: string): string => `\`${label}\` asks for approval again.`
export const NOT_ALLOWED = (label: string): string => `\`${label}\` is not always allowed here.`

export const USAGE_TODAY = 'Today (UTC)'
export const USAGE_TOTAL = 'Total'
export const USAGE = (period: string, input: number, cached: number, output: number): string =>
  `${period}: ${input} tokens in (${cached} from cache), ${output} out`
