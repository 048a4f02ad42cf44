import type { Address, Attachment, MessageRef, PendingPost } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import { DOWNLOAD, REFUSED } from '../../src/copy/platforms.ts'
import { messageOf } from '../../src/util/errors.ts'
import { readBody } from '../../src/util/read-body.ts'
import { type Clock, sleep } from '../../src/util/time.ts'
import { isOwnHost } from '../support/own-host.ts'
import type { SlackApi } from './api.ts'
import { codeOf, SlackUnclearError } from './errors.ts'
import { FILE_SCHEME } from './inbound.ts'
import { isJson, type Json, listIn, objectIn, textIn } from './json.ts'
import { LIMITS, OWN } from './limits.ts'
import { mrkdwn } from './markdown.ts'
import type { Poster } from './posts.ts'

/** Waits for a completed upload to show up in its channel, ms. */
const SHARE_WAITS_MS = [300, 700, 1000, 2000]

export interface FileDeps {
  readonly api: SlackApi
  readonly poster: Poster
  readonly clock: Clock
  readonly botToken: string
  readonly apiUrl: string
  readonly life: AbortSignal
}

/** Uploads to a conversation, and downloads of what people sent. */
export class Files {
  readonly #deps: FileDeps

  constructor(deps: FileDeps) {
    this.#deps = deps
  }

  /** The file's id is noted before the upload is completed: from then on its shares say whether it was posted. */
  async send(
    to: Address,
    file: { name: string; content: string; comment: string },
    onFileId: (fileId: string) => Promise<void>,
  ): Promise<MessageRef> {
    const { api, poster } = this.#deps
    const bytes = Buffer.from(file.content)
    if (bytes.length === 0) throw new PostRefusedError(REFUSED.emptyFile)
    const { channel, thread } = await poster.targetOf(to)
    const got = await api.call(
      'files.getUploadURLExternal',
      { filename: file.name, length: bytes.length },
      { tries: 3 },
    )
    const id = textIn(got, 'file_id')
    const url = textIn(got, 'upload_url')
    if (!id || !url) throw new SlackUnclearError('Slack gave no place for the file')
    await upload(url, bytes)
    await onFileId(id)
    await api.call('files.completeUploadExternal', {
      files: [{ id, title: file.name }],
      channel_id: channel,
      ...(thread ? { thread_ts: thread } : {}),
      ...(file.comment ? { initial_comment: mrkdwn(file.comment) } : {}),
    })
    return (await this.#shareOf(channel, thread, id)) ?? { platform: 'slack', channel, id }
  }

  /** By the file's shares. A file that Slack does not know was never completed. */
  async find(to: Address, { fileId }: PendingPost): Promise<MessageRef | undefined> {
    if (fileId === undefined) return undefined
    const { channel, thread } = await this.#deps.poster.targetOf(to)
    try {
      return (await this.#shareOf(channel, thread, fileId)) ?? { platform: 'slack', channel, id: fileId }
    } catch (error) {
      if (codeOf(error) === 'file_not_found') return undefined
      throw error
    }
  }

  async #shareOf(channel: string, thread: string | undefined, id: string): Promise<MessageRef | undefined> {
    for (const wait of [0, ...SHARE_WAITS_MS]) {
      if (wait > 0) await sleep(this.#deps.clock, wait, this.#deps.life)
      const { file } = await this.#deps.api.call('files.info', { file: id }, { tries: 3 }).catch((error: unknown) => {
        if (codeOf(error) === 'missing_scope') return { file: {} }
        throw error
      })
      const ts = shareIn(file, channel, thread)
      if (ts) return { platform: 'slack', channel, id: ts }
    }
    return undefined
  }

  /** Only from Slack's own hosts; any redirect and any login page is an error that says that it could not be read. */
  async download(file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const url = await this.#urlOf(file)
    if (!isOwnHost(url, this.#deps.apiUrl, OWN)) throw new Error(DOWNLOAD.foreignHost(url.host, 'Slack'))
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${this.#deps.botToken}` },
      redirect: 'manual',
      signal,
    })
    const type = response.headers.get('content-type') ?? ''
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Error(DOWNLOAD.status(response.status))
    }
    // A page that was itself sent has the size that Slack announced.
    const html = type.startsWith('text/html')
    const announced = Number(response.headers.get('content-length') ?? file.size) === file.size
    if (html && !(file.mime?.startsWith('text/html') && announced)) {
      await response.body?.cancel()
      throw new Error(DOWNLOAD.loginPage)
    }
    const bytes = await readBody(response, maxBytes, DOWNLOAD.tooLarge(maxBytes))
    if (html && bytes.length !== file.size) throw new Error(DOWNLOAD.loginPage)
    return bytes
  }

  async #urlOf(file: Attachment): Promise<URL> {
    if (!file.url.startsWith(FILE_SCHEME)) return new URL(file.url)
    const answer = await this.#deps.api.call('files.info', { file: file.url.slice(FILE_SCHEME.length) }, { tries: 3 })
    const found = objectIn(answer, 'file')
    return new URL(textIn(found, 'url_private_download') ?? textIn(found, 'url_private') ?? 'invalid:')
  }
}

async function upload(url: string, bytes: Buffer): Promise<void> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(bytes),
      redirect: 'error',
      signal: AbortSignal.timeout(LIMITS.uploadMs),
    })
    await response.body?.cancel()
    if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
  } catch (error) {
    throw new SlackUnclearError(`the upload failed: ${messageOf(error)}`, { cause: error })
  }
}

function shareIn(file: unknown, channel: string, thread: string | undefined): string | undefined {
  const shares = objectIn(file, 'shares')
  const all: Json[] = ['public', 'private'].flatMap((kind) => listIn(objectIn(shares, kind), channel))
  const found = all.find((s) => thread === undefined || textIn(s, 'thread_ts') === thread) ?? all[0]
  return isJson(found) ? textIn(found, 'ts') : undefined
}
