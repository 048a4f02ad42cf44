interface Rule {
  value: number
  source: string
}

const docs = (value: number, page: string): Rule => ({ value, source: `Slack docs: ${page}` })
const assumed = (value: number, why: string): Rule => ({ value, source: `assumed: ${why}` })

/** Every number the simulator enforces, with where it comes from. */
export const RULES = {
  ackMs: docs(3000, 'Handling user interaction; Events API; Socket Mode'),
  retryFirstMs: docs(0, 'Events API, error handling'),
  retrySecondMs: docs(60_000, 'Events API, error handling'),
  retryThirdMs: docs(300_000, 'Events API, error handling'),
  keepUnsentMs: assumed(361_000, 'events without an open socket live as long as the retry plan'),
  serverPingMs: assumed(30_000, 'interval of the WebSocket pings'),
  disconnectWarningMs: docs(10_000, 'Socket Mode, disconnect'),
  mostSockets: docs(10, 'Socket Mode, using multiple connections'),
  triggerMs: docs(3000, 'Modals, trigger_id'),
  responseUrlUses: docs(5, 'Handling user interaction, message responses'),
  responseUrlMs: docs(1_800_000, 'Handling user interaction, message responses'),
  statusMs: docs(120_000, 'assistant.threads.setStatus'),
  loadingMessages: docs(10, 'assistant.threads.setStatus'),
  textHard: docs(40_000, 'chat.postMessage, truncating content'),
  updateText: docs(4000, 'chat.update, errors'),
  markdownText: docs(12_000, 'chat.postMessage, markdown_text'),
  markdownBlocks: docs(12_000, 'Markdown block'),
  messageBlocks: docs(50, 'Block Kit, blocks'),
  viewBlocks: docs(100, 'Block Kit, blocks'),
  viewBytes: docs(250_000, 'views.open'),
  blockId: docs(255, 'Block Kit, blocks'),
  actionId: docs(255, 'Block Kit, block elements'),
  sectionText: docs(3000, 'Section block'),
  sectionFields: docs(10, 'Section block'),
  fieldText: docs(2000, 'Section block'),
  headerText: docs(150, 'Header block'),
  contextElements: docs(10, 'Context block'),
  actionsElements: docs(25, 'Actions block'),
  buttonText: docs(75, 'Button element'),
  buttonValue: docs(2000, 'Button element'),
  buttonUrl: docs(3000, 'Button element'),
  options: docs(100, 'Select menu element'),
  fewOptions: docs(10, 'Radio button group; Checkboxes'),
  optionText: docs(75, 'Option object'),
  optionValue: docs(150, 'Option object'),
  placeholder: docs(150, 'Plain-text input element'),
  inputMax: docs(3000, 'Plain-text input element'),
  labelText: docs(2000, 'Input block'),
  imageAlt: docs(2000, 'Image block'),
  tableRows: docs(100, 'Table block'),
  tableColumns: docs(20, 'Table block'),
  tablesPerMessage: docs(1, 'Table block, usage info'),
  modalTitle: docs(24, 'Modal view object'),
  callbackId: docs(255, 'Modal view object'),
  privateMetadata: docs(3000, 'Modal view object'),
  viewStack: docs(3, 'Modals, view stack'),
  metadataBytes: assumed(16_000, 'size of message metadata'),
  streamIdleMs: assumed(180_000, 'a silent stream ends after some minutes'),
  streamTotalMs: assumed(300_000, 'a stream ends after about five minutes'),
  streamChars: assumed(40_000, 'whole text of one stream'),
  postPerSecond: docs(1, 'Rate limits, posting messages'),
  postBurst: assumed(5, 'short bursts of chat.postMessage in one channel'),
  tier1: docs(1, 'Rate limits'),
  tier2: docs(20, 'Rate limits'),
  tier3: docs(50, 'Rate limits'),
  tier4: docs(100, 'Rate limits'),
  tierSpecial: assumed(600, 'methods with their own limit: setStatus, auth.test'),
  pageDefault: docs(100, 'conversations.history'),
  pageMost: docs(999, 'conversations.history; conversations.replies'),
  fileShareMs: assumed(500, 'a completed upload is shared a moment later'),
} as const satisfies Record<string, Rule>

export type RuleValues = { -readonly [K in keyof typeof RULES]: number }

/** The values alone, for one simulator; a test may set its own. */
export function ruleValues(): RuleValues {
  return Object.fromEntries(Object.entries(RULES).map(([key, rule]) => [key, rule.value])) as RuleValues
}

export type Tier = 'tier1' | 'tier2' | 'tier3' | 'tier4' | 'tierSpecial' | 'post'
