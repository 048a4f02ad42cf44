import { inviteUrl } from '../../channels/discord/needs.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'
import { DISCORD_INVITE } from '../copy/cli.ts'
import { TurnstoneError } from '../util/errors.ts'

/** The link by which a server's administrator adds the bot. Throws where the application is not known. */
export async function discordInvite(flags: Flags, clientId: string | undefined): Promise<string> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  if (clientId !== undefined && !/^\d{15,25}$/.test(clientId)) {
    throw new TurnstoneError('config', DISCORD_INVITE.badId(clientId))
  }
  const id = clientId ?? idInToken(config.secrets.discordToken)
  if (id === undefined) throw new TurnstoneError('config', DISCORD_INVITE.unknown)
  return inviteUrl(id)
}

/** A bot token's first part is the bot's id in base64, which is the application's; its form is checked when it is read. */
function idInToken(token: string | undefined): string | undefined {
  return token === undefined ? undefined : Buffer.from(token.split('.')[0] ?? '', 'base64').toString('utf8')
}
