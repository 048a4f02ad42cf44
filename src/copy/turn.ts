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
