import { inviteUrl } from '../../channels/discord/needs.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'
import { TurnstoneError } from '../util/errors.ts'

/** The URL by which an administrator lets the bot into a server. Throws where the application is not known. */
export async function discordInvite(flags: Flags, clientId: string | undefined): Promise<string> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  const id = clientId ?? idInToken(config.secrets.discordToken)
  if (id === undefined) {
    throw new TurnstoneError('config', 'the application is not known: set TURNSTONE_DISCORD_TOKEN, or give --client-id')
  }
  if (!/^\d{5,25}$/.test(id)) {
    const where = clientId === undefined ? 'TURNSTONE_DISCORD_TOKEN is no bot token' : `--client-id ${clientId}`
    throw new TurnstoneError('config', `${where}: an application id is a number`)
  }
  return inviteUrl(id)
}

/** A bot token's first part is the bot's id in base64, which is the application's. */
function idInToken(token: string | undefined): string | undefined {
  return token === undefined ? undefined : Buffer.from(token.split('.')[0] ?? '', 'base64').toString('utf8')
}
