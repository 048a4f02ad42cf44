/** What `/health` and the other HTTP routes say. */
export const HEALTH = {
  channelsOff: (names: readonly string[]) =>
    `channels off: ${names.join(', ')}; run "npm run demo" to see it work without them`,
  starting: 'the gateway is starting',
  standby: 'another gateway serves this database; waiting for it to stop',
  noDatabase: 'the database does not answer, or its file was deleted or replaced',
  noSandbox: 'no sandbox in this version: approved bash commands run as the owner of the workspace, without limits',
} as const

export const HTTP = {
  front:
    'turnstone is running. GET /health reports channel status; GET /metrics serves Prometheus metrics.\n' +
    'There is no web channel in this version: talk to it in Discord or Slack.\n',
  tooLarge: 'the request body is too large',
  slackNotHttp: 'Slack is not in http mode; set channels.slack.mode = "http"',
  foreignHost: 'this gateway has no such name; set http.public_url to the address that you use',
  notFound: 'not found',
  failed: 'internal error; see the log',
} as const
