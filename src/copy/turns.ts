/** What people read in a conversation when a turn cannot go on as it should. */

export const GATEWAY_FAULT = 'Something went wrong inside the gateway.'
export const DISK_FULL = "The gateway's disk is full. Ask an operator to make room, then ask again."
export const DATABASE_FAILING = "The gateway's database is failing. Ask an operator to look at the log."
export const TOO_LARGE_TO_STORE = 'This is too large for me to store. Send less at once.'
export const CARD_NOT_POSTED = 'The approval card could not be posted.'
export const STOPPED_IN_BETWEEN = 'The gateway stopped during the last one.'

export const GAVE_UP = (why: string): string => `I gave up after three attempts. ${why}`

export const MODEL_GONE = (alias: string, instead: string): string =>
  `The model ${alias} is no longer available, so ${instead} answers.`

export const NO_EARLIER_MESSAGES = 'I could not read the earlier messages of this thread, so I answer without them.'
