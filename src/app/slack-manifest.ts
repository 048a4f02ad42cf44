import { slackManifest } from '../../channels/slack/needs.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'
import { AT_KEY, PUBLIC_URL_NEEDED } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'

/** The app manifest as JSON, for api.slack.com → Create app → From a manifest. Http mode needs `http.public_url`. */
export async function slackManifestText(flags: Flags): Promise<string> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  const { slack } = config.channels
  if (slack.mode === 'http' && config.http.public_url === '') {
    throw new TurnstoneError('config', AT_KEY(config.file ?? '', 'http.public_url', PUBLIC_URL_NEEDED))
  }
  return JSON.stringify(slackManifest(slack, config.http.public_url), null, 2)
}
