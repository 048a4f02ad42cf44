import type { Attachment } from '../../src/channel/channel-adapter.ts'
import { DOWNLOAD } from '../../src/copy/platforms.ts'
import { readBody } from '../../src/util/read-body.ts'
import { isOwnHost } from '../support/own-host.ts'

/** Where Discord keeps what people attach (Discord docs, Reference: Signed Attachment CDN URLs). */
const OWN = { api: 'discord.com', hosts: /^(?:cdn\.discordapp\.com|media\.discordapp\.net)$/ }

/**
 * Loads an attachment from Discord's own file hosts; where another API is configured, from that host alone. Rejects
 * for any other host, a redirect, an answer that is not 200, an HTML page that should be something else, and more
 * than `maxBytes`, which is counted while it comes.
 */
export async function download(
  file: Attachment,
  options: { apiUrl: string; maxBytes: number; signal: AbortSignal },
): Promise<Uint8Array> {
  const url = new URL(file.url)
  if (!isOwnHost(url, options.apiUrl, OWN)) throw new Error(DOWNLOAD.foreignHost(url.host, 'Discord'))
  const response = await fetch(url, {
    redirect: 'error',
    signal: options.signal,
    headers: { 'accept-encoding': 'identity' },
  })
  try {
    if (!response.ok) throw new Error(DOWNLOAD.status(response.status))
    const type = response.headers.get('content-type') ?? ''
    if (type.startsWith('text/html') && !/html/.test(file.mime ?? '') && !/\.x?html?$/i.test(file.name))
      throw new Error(DOWNLOAD.loginPage)
    return await readBody(response, options.maxBytes, DOWNLOAD.tooLarge(options.maxBytes))
  } finally {
    if (!response.bodyUsed) await response.body?.cancel()
  }
}
