/** Slack's limits and ours beneath them. Characters are UTF-16 units, times are milliseconds. */
export const LIMITS = {
  /** A fresh message may be missing from the history until it is this old. Seen, not documented. */
  readBackDelayMs: 10_000,
  /** Markdown blocks of one message together; markdown_text of one call. Slack docs: Markdown block; chat.postMessage. */
  markdown: 12_000,
  /** Most text of one of our messages: what is above is left for the last append of a stream. */
  part: 11_000,
  /** A stream is ended at this age; Slack seals it at about five minutes. */
  streamMs: 240_000,
  /** A silent stream is ended at this age; Slack ends it after some minutes. */
  streamIdleMs: 100_000,
  /** Text of chat.update. Slack docs: chat.update, msg_too_long. */
  updateText: 4000,
  /** Text beside blocks: what a notification shows. Ours. */
  fallback: 300,
  /** Blocks of one message. Slack docs: Block Kit. */
  blocks: 50,
  /** Markdown blocks at the top of one message: a markdown block expands to several. Ours, under `blocks`. */
  topLevel: 45,
  /** Table of a message: one, of so many rows and columns. Slack docs: Table block. */
  tableRows: 100,
  tableColumns: 20,
  /** Text of a section. Slack docs: Section block. */
  section: 3000,
  /** Payload shown on a card; a longer one is a file. Ours. */
  cardPayload: 2500,
  /** All payloads on one card together. Ours. */
  cardPayloads: 9000,
  /** All text of one card. Ours, under the size at which Slack refuses blocks. */
  cardText: 20_000,
  /** Lines of a running tool's output, and their length. Ours. */
  tailLines: 8,
  tailChars: 1200,
  /** One line of a tool. Ours. */
  toolHeader: 300,
  /** A note in a modal. A choice of ours. */
  note: 2000,
  /** A modal's private_metadata. Slack docs: Modal view object. */
  privateMetadata: 3000,
  /** Body of a request of Slack in HTTP mode. A choice of ours. */
  bodyBytes: 1_048_576,
  /** Age of a signature in seconds. Slack docs: Verifying requests. */
  signatureAgeSec: 300,
  /** One edit or append a conversation. A choice of ours. */
  editEveryMs: 1500,
  /** Slack takes a status away after two minutes. Slack docs: assistant.threads.setStatus. */
  statusEveryMs: 90_000,
  /** Uses of a response_url. Slack docs: Handling user interaction. */
  responseUrlUses: 5,
  /** A call of the Web API, and an upload. Ours. */
  callMs: 15_000,
  uploadMs: 60_000,
} as const

/** Calls a minute by method and workspace. Slack docs: Rate limits, Tiers 2 to 4. Others count as Tier 3. */
export const PER_MINUTE: Readonly<Record<string, number>> = {
  'chat.startStream': 20,
  'chat.stopStream': 20,
  'chat.appendStream': 100,
  'chat.update': 50,
  'chat.delete': 50,
  'chat.postMessage': 300,
  'chat.postEphemeral': 100,
  'assistant.threads.setStatus': 300,
  'auth.test': 300,
  'reactions.remove': 20,
  'users.info': 100,
  'views.open': 100,
  'files.getUploadURLExternal': 100,
  'files.completeUploadExternal': 100,
  'files.info': 100,
}
export const PER_MINUTE_ELSE = 50

/** chat.postMessage: about one a second and channel, with a short burst. Slack docs: Rate limits, posting messages. */
export const POST_EVERY_MS = 1000
export const POST_BURST = 4

/** Slack's own hosts: files and response URLs. */
export const OWN = { api: 'slack.com', hosts: /(?:^|\.)slack\.com$/ }
