/** What people read of a turn in its conversation: how calls ended, and what went otherwise than it should. */

/** How a tool's line in an answer says what became of the call; `word` is '' where the sign says it all. */
export const TOOL_STATES = {
  running: { sign: '⏳', word: '' },
  done: { sign: '✅', word: '' },
  failed: { sign: '❌', word: 'failed' },
  denied: { sign: '🚫', word: 'denied' },
  rejected: { sign: '🚫', word: 'rejected' },
  interrupted: { sign: '⚠️', word: 'interrupted, outcome unknown' },
  stopped: { sign: '⏹️', word: 'stopped' },
} as const

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

export const STOPPED = 'Stopped.'
export const CUT_OFF_ABOVE = ' The text above was cut off.'
export const NOT_READ = (files: string): string => `Not read: ${files}`
export const IMAGE_NOT_READ = 'The model could not read an image and goes on without it.'
export const INTERRUPTED = (calls: string): string =>
  `Interrupted by a restart: ${calls}. Its outcome is unknown and it was not run again.`

export const CONTENT_FILTERED = "The model's provider stopped this answer by its content filter."
export const ANSWER_TOO_LONG =
  'The answer was cut off: it reached the longest length the model may write. Say "go on" for the rest.'
export const ANSWER_EMPTY = 'The model returned an empty answer. Ask again, perhaps in other words.'

/** Why an attachment is not read; after its name. */
export const ATTACHMENT = {
  tooMany: (max: number) => `not read: more than ${max} files in one message`,
  tooLarge: 'not read: larger than 20 MB',
  empty: 'is empty',
  noVision: 'is an image, and this model cannot see images',
  largeImage: 'is an image larger than 4 MB',
  unknownKind: 'is neither text nor an image of a kind that can be read (PNG, JPEG, GIF, WebP)',
  largeText: 'is text larger than 256 KB',
  failed: (why: string) => `could not be read: ${why}`,
} as const
