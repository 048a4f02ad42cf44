import { type Logger, LogLevel } from '@slack/web-api'

const nothing = (): void => {}

/** A logger of Slack's SDK that says nothing, for tests of refusals. */
export const quiet: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  getLevel: () => LogLevel.ERROR,
  setName: nothing,
}
