/** Lines in chat that answer no command. `how` is a command as it is written on the platform. */

export const NOT_LINKED = (how: string): string =>
  `You are not linked yet. Ask an admin for a token, then link your account with \`${how}\`.`

export const LINK_PRIVATELY = (how: string): string =>
  `Use \`${how}\`. Messages here are visible to others. If you pasted a token, revoke it.`

export const CONVERSATION_CLOSED = 'This conversation is closed. Mention me to start a new one.'

export const NOT_YOUR_CONVERSATION = (owner: string): string =>
  `This conversation belongs to ${owner}, so I did not read your message.`

export const BELONGS_TO = (owner: string): string => `This conversation belongs to ${owner}.`

export const TOO_MANY_WAITING = (max: number): string =>
  `${max} messages are already waiting; please resend yours later.`

export const TOO_MANY_A_MINUTE = (max: number): string =>
  `That is more than ${max} messages in a minute; please resend yours later.`

export const ONLY_BOTS = (count: number): string =>
  `The last ${count} messages came from bots, so I did not read this one. A person needs to reply first.`

export const ASKS = (name: string, question: string): string => `${name} asks: ${question}`

export const QUESTION_POSTED = 'Posted your question.'

export const UNKNOWN_CARD = 'This approval no longer exists. Nothing was run.'
export const LINK_TO_DECIDE = 'You are not linked yet. Link your account first. Nothing was changed.'
export const MAY_NOT_DECIDE = (owner: string): string =>
  `Only ${owner} and admins can decide this. Nothing was changed.`
export const NO_ALWAYS_ALLOW = 'This card has no *Always allow*. Nothing was changed.'
export const NOTHING_CHANGED = 'Nothing was changed.'

/** To somebody who presses a button of a card that is closed. */
export function alreadyDecided(outcome: string, by: string | undefined): string {
  const who = by === undefined ? '' : ` by ${by}`
  switch (outcome) {
    case 'approved':
      return `Already approved${who}.`
    case 'always':
      return `Already approved${who} (always allow).`
    case 'stopped':
      return `Already stopped${who}. Nothing was run.`
    case 'expired':
      return 'This approval has expired. Nothing was run.'
    case 'superseded':
      return 'A newer card replaced this one. Please use that one.'
    case 'unshowable':
      return 'This request was not run: it is too long to display.'
    default:
      return `Already rejected${who}.`
  }
}

/** Below a card that the platform does not let us change any more. */
export function requestAbove(outcome: string, by: string | undefined): string {
  const who = by === undefined ? '' : ` by ${by}`
  switch (outcome) {
    case 'approved':
      return `The request above was approved${who}.`
    case 'always':
      return `The request above was approved${who} (always allow).`
    case 'stopped':
      return `The request above was stopped${who} and was not run.`
    case 'expired':
      return 'The request above has expired and was not run.'
    case 'superseded':
      return 'The request above was not run: a newer card replaced it.'
    case 'unshowable':
      return 'The request above was not run: it is too long to display.'
    default:
      return `The request above was rejected${who}.`
  }
}
