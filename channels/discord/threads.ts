import { PermissionFlagsBits } from 'discord.js'
import type { Address } from '../../src/channel/channel-adapter.ts'
import { DISCORD, DISCORD_NO_THREAD } from '../../src/copy/platforms.ts'
import { type Api, codeOf } from './api.ts'
import type { ChannelDirectory } from './channel-directory.ts'
import { threadName } from './parts.ts'

const EXISTS = 160_004

/**
 * Makes the thread in which a message is answered, or takes the one it has. Where that is not to be had the message is
 * answered by replies, and `notice` says why. Rejects where the answer is unclear: to try again is harmless.
 */
export async function openThread(
  api: Api,
  places: ChannelDirectory,
  from: { channel: string; message: string; title: string; archiveMinutes: number },
): Promise<{ to: Address; notice?: string }> {
  const { channel, message } = from
  const thread: Address = { platform: 'discord', id: message }
  const replies: Address = { ...thread, replyIn: channel }
  const missing = missingPermission(places.permissions(channel))
  if (missing) return { to: replies, notice: DISCORD.noThread(DISCORD.missingPermission(missing)) }
  try {
    const body = { name: threadName(from.title), auto_archive_duration: from.archiveMinutes }
    await api.post(`/channels/${channel}/messages/${message}/threads`, body)
    return { to: thread }
  } catch (error) {
    const code = codeOf(error)
    if (code === EXISTS) return { to: thread }
    if (code === undefined) throw error
    return { to: replies, notice: DISCORD.noThread(DISCORD_NO_THREAD[code] ?? `Discord refused it (${code})`) }
  }
}

function missingPermission(held: bigint | undefined): string | undefined {
  if (held === undefined) return undefined
  if (!(held & PermissionFlagsBits.CreatePublicThreads)) return 'Create Public Threads'
  if (!(held & PermissionFlagsBits.SendMessagesInThreads)) return 'Send Messages in Threads'
  return undefined
}
