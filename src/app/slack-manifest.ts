import { slackManifest } from '../../channels/slack/manifest.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'

/** The app manifest as JSON, for api.slack.com → Create app → From a manifest. */
export async function slackManifestText(flags: Flags): Promise<string> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  return JSON.stringify(slackManifest(config.channels.slack, config.http.public_url), null, 2)
}
