import type { DiscordConfig } from '../../src/config/config.ts'
import { DISCORD_DOCTOR } from '../../src/copy/platforms.ts'
import { messageOf } from '../../src/util/errors.ts'
import type { Check } from '../support/check.ts'
import { Api, codeOf, createRest } from './api.ts'

/** The application's switch for message content, and its form for apps that are not verified (Application docs, flags). */
const CONTENT_FLAGS = (1 << 18) | (1 << 19)

/** What `doctor` asks Discord. Does not reject; posts nothing. */
export async function checkDiscord(config: DiscordConfig, token: string): Promise<readonly Check[]> {
  const api = new Api(createRest(config.api_url, token))
  const checks: Check[] = []
  const add = (name: string, status: Check['status'], detail: string): void => {
    checks.push({ name, status, detail })
  }
  try {
    const app = (await api.get('/applications/@me')) as { name: string; flags?: number }
    add('discord token', 'ok', DISCORD_DOCTOR.accepted(app.name))
    if ((app.flags ?? 0) & CONTENT_FLAGS) add('discord message content', 'ok', DISCORD_DOCTOR.contentOn)
    else add('discord message content', 'fail', DISCORD_DOCTOR.contentOff)
  } catch (error) {
    const wrong = (error as { status?: unknown }).status === 401
    const detail = wrong ? DISCORD_DOCTOR.wrongToken : DISCORD_DOCTOR.notReached(messageOf(error))
    add('discord token', 'fail', detail)
    return checks
  }
  await checkGuild(api, config.guild, add)
  for (const id of config.channels) await checkChannel(api, id, add)
  return checks
}

type Add = (name: string, status: Check['status'], detail: string) => void

async function checkGuild(api: Api, guild: string, add: Add): Promise<void> {
  try {
    if (guild !== '') {
      const found = (await api.get(`/guilds/${guild}`)) as { name: string }
      return add('discord server', 'ok', DISCORD_DOCTOR.inServer(found.name))
    }
    const all = (await api.get('/users/@me/guilds')) as { name: string }[]
    if (all.length)
      add(
        'discord server',
        'ok',
        all[0] && all.length === 1 ? DISCORD_DOCTOR.inServer(all[0].name) : DISCORD_DOCTOR.inServers(all.length),
      )
    else add('discord server', 'warn', DISCORD_DOCTOR.noServer)
  } catch (error) {
    const outside = codeOf(error) !== undefined
    add(
      'discord server',
      'fail',
      outside ? DISCORD_DOCTOR.notInServer(guild) : DISCORD_DOCTOR.notReached(messageOf(error)),
    )
  }
}

async function checkChannel(api: Api, id: string, add: Add): Promise<void> {
  try {
    const found = (await api.get(`/channels/${id}`)) as { name?: string }
    add('discord channel', 'ok', DISCORD_DOCTOR.seesChannel(found.name ?? id))
  } catch (error) {
    const unseen = codeOf(error) !== undefined
    add(
      'discord channel',
      'fail',
      unseen ? DISCORD_DOCTOR.unseenChannel(id) : DISCORD_DOCTOR.notReached(messageOf(error)),
    )
  }
}
