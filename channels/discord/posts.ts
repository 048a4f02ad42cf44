import type { Address, MessageRef, Outgoing, PendingPost } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError } from '../../src/channel/post-once.ts'
import { REFUSED } from '../../src/copy/platforms.ts'
import type { Api, UploadFile } from './api.ts'
import { codeOf } from './api.ts'
import { isCardOf, renderCard } from './cards.ts'
import type { RawMessage } from './inbound.ts'
import { FLAGS, LIMITS, snowflakeAt, TIMES } from './limits.ts'
import { renderParts } from './markdown.ts'
import { fileName, nonceOf } from './parts.ts'

/** Pages read when a post is looked for; 1,000 messages after its time are more than any crash leaves. */
const FIND_PAGES = 10

/** The channel in which an address is answered. */
export function channelOf(to: Address): string {
  return to.replyIn ?? to.id
}

/** Ready-made content under a key, answering a message where that is the address or is asked for. */
export async function postContent(
  api: Api,
  to: Address,
  post: {
    key: string
    content: string
    replyTo?: string | undefined
    components?: readonly unknown[]
    files?: readonly UploadFile[]
  },
): Promise<MessageRef> {
  const channel = channelOf(to)
  const reply = post.replyTo ?? (to.replyIn === undefined ? undefined : to.id)
  const id = await api.send(
    channel,
    {
      content: post.content,
      nonce: nonceOf(post.key),
      enforce_nonce: true,
      flags: FLAGS.suppressEmbeds,
      ...(post.components ? { components: post.components } : {}),
      ...(reply === undefined ? {} : { message_reference: { message_id: reply, fail_if_not_exists: false } }),
    },
    post.files,
  )
  return { platform: 'discord', channel, id }
}

/** Posts what the gateway gives. A text of several messages ends in the one whose ref is given. */
export async function sendOutgoing(api: Api, to: Address, outgoing: Outgoing, key: string): Promise<MessageRef> {
  if (outgoing.kind === 'card') return postContent(api, to, { key, ...renderCard(outgoing.card) })
  if (outgoing.kind === 'file') {
    const [comment = ''] = renderParts(outgoing.comment)
    if (Buffer.byteLength(outgoing.content) > LIMITS.fileBytes) throw new PostRefusedError(REFUSED.fileTooLarge)
    const files = [{ name: fileName(outgoing.name), data: outgoing.content }]
    return postContent(api, to, { key, content: comment, files })
  }
  const parts = renderParts(outgoing.text)
  let ref: MessageRef | undefined
  for (const [i, content] of parts.entries()) {
    const last = i === parts.length - 1
    const replyTo = i === 0 ? outgoing.replyTo : undefined
    ref = await postContent(api, to, { key: last ? key : `${key}/${i}`, content, replyTo })
  }
  if (!ref) throw new PostRefusedError(REFUSED.empty)
  return ref
}

/** Looks for a post whose answer never came: by the card's approval, the nonce, else by what it says. */
export async function findPost(
  api: Api,
  self: string,
  to: Address,
  post: PendingPost,
): Promise<MessageRef | undefined> {
  const channel = channelOf(to)
  const nonce = nonceOf(post.key)
  const texts = new Set([post.text.trim(), renderParts(post.text).at(-1) ?? ''])
  let after = snowflakeAt(post.at - TIMES.skew)
  for (let page = 0; page < FIND_PAGES; page++) {
    const found = await readAfter(api, channel, after)
    const match = found.find((m) => {
      if (m.author.id !== self || post.owned.has(m.id)) return false
      if (m.nonce !== undefined) return String(m.nonce) === nonce
      return matches(m, post, texts)
    })
    if (match) return { platform: 'discord', channel, id: match.id }
    const last = found.at(-1)
    if (!last || found.length < LIMITS.page) return undefined
    after = last.id
  }
  return undefined
}

function matches(m: RawMessage, post: PendingPost, texts: ReadonlySet<string>): boolean {
  if (post.kind === 'card') return isCardOf(m.components, post.key)
  if (post.kind === 'file') return m.attachments?.some((a) => a.filename === fileName(post.text)) ?? false
  return m.content !== '' && texts.has(m.content)
}

/** At most 100 messages after an id, oldest first. */
export async function readAfter(api: Api, channel: string, after: string): Promise<RawMessage[]> {
  const query = { after, limit: String(LIMITS.page) }
  const page = (await api.get(`/channels/${channel}/messages`, query)) as RawMessage[]
  return page.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
}

/** Brings a message to what the gateway gives; false where it is gone. Files stay as they were posted. */
export async function editOutgoing(api: Api, ref: MessageRef, outgoing: Outgoing): Promise<boolean> {
  if (outgoing.kind === 'card') {
    const { content, components } = renderCard(outgoing.card)
    return api.edit(ref.channel, ref.id, { content, components })
  }
  const [first, ...more] = renderParts(outgoing.kind === 'file' ? outgoing.comment : outgoing.text)
  if (first === undefined) return true
  const content = more.length ? `${first.slice(0, LIMITS.content - 2)}\n…` : first
  return api.edit(ref.channel, ref.id, { content })
}

/** Removes a message of ours; one that is gone is as good as removed. */
export async function removePost(api: Api, ref: MessageRef): Promise<void> {
  try {
    await api.opening(ref.channel, () => api.delete(`/channels/${ref.channel}/messages/${ref.id}`))
  } catch (error) {
    if (codeOf(error) !== 10008 && codeOf(error) !== 10003) throw error
  }
}
