import type { Locks } from '../jobs/locks.ts'
import type { Clock } from '../util/time.ts'
import { sleep } from '../util/time.ts'
import type { Address, ChannelAdapter, MessageRef, Outgoing, PostLog } from './channel-adapter.ts'

/** A post that can never succeed: the message must not be tried again (too long, forbidden, gone). */
export class PostRefusedError extends Error {
  readonly reason: string
  /** The place takes nothing of ours, whatever it says; false where only this message is refused. */
  readonly ofPlace: boolean
  constructor(reason: string, options: ErrorOptions & { ofPlace?: boolean } = {}) {
    super(reason, options)
    this.name = 'PostRefusedError'
    this.reason = reason
    this.ofPlace = options.ofPlace ?? false
  }
}

/** Waits between two tries of a read-back or a post, ms; the last one repeats. */
const WAITS_MS = [500, 1000, 2000, 5000, 10_000, 30_000]

/** One post in flight per conversation: two posts with one text could not be told apart in a read-back. */
const postLock = (to: Address): string => `post:${to.platform}:${to.id}`

export interface PostDeps {
  readonly adapter: Pick<ChannelAdapter, 'findPost' | 'readBackDelayMs'>
  readonly posts: PostLog
  readonly locks: Locks
  readonly clock: Clock
}

/** `send` posts what `findPost` looks for; a stream passes its own start. */
export interface Post {
  readonly key: string
  readonly to: Address
  readonly kind: Outgoing['kind'] | 'stream'
  readonly text: string
  send(onFileId: (fileId: string) => Promise<void>): Promise<MessageRef>
}

/**
 * Posts under a key at most once over any crash or unclear answer: a row before the post, its ref right after; a row
 * without a ref is looked for on the platform until a read succeeds, and nothing is posted before. `posted` is false
 * where the message was there already, so that its content may be stale. Rejects with PostRefusedError where the platform
 * said a final no, or with the signal's reason.
 */
export async function postOnce(
  deps: PostDeps,
  post: Post,
  signal: AbortSignal,
): Promise<{ ref: MessageRef; posted: boolean }> {
  return deps.locks.run(postLock(post.to), async () => {
    let unclear = false
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted()
      const row = await deps.posts.begin(post.key, post.to, post.kind, post.text)
      if (row.ref) return { ref: row.ref, posted: false }
      if (!row.fresh && (unclear || tries === 0)) {
        const found = await readBack(deps, post, row, signal)
        if (found) {
          await deps.posts.sent(post.key, found)
          return { ref: found, posted: false }
        }
        await deps.posts.retry(post.key, post.text)
      }
      try {
        const ref = await post.send((fileId) => deps.posts.recordFileId(post.key, fileId))
        await deps.posts.sent(post.key, ref)
        return { ref, posted: true }
      } catch (error) {
        if (error instanceof PostRefusedError) {
          await deps.posts.forget(post.key)
          throw error
        }
        // Put off for a time means not posted; anything else may have been.
        unclear ||= askedToWait(error) === undefined
        await sleep(deps.clock, waitOf(tries, error), signal)
      }
    }
  })
}

/**
 * Settles the posts under a prefix that a crash left without an answer: what the platform shows gets its ref, what
 * does not is forgotten. Nothing is posted. For those who may not need these posts any more.
 */
export async function adoptPending(deps: PostDeps, to: Address, prefix: string, signal: AbortSignal): Promise<void> {
  if ((await deps.posts.pending(prefix)).length === 0) return
  await deps.locks.run(postLock(to), async () => {
    for (const row of await deps.posts.pending(prefix)) {
      const found = await readBack(deps, { key: row.key, kind: row.kind, to }, row, signal)
      if (found) await deps.posts.sent(row.key, found)
      else await deps.posts.forget(row.key)
    }
  })
}

/**
 * Brings a posted message to this content, over faults that pass. False where the message is gone. Rejects with
 * PostRefusedError or with the signal's reason.
 */
export async function editUntilAnswered(
  { adapter, clock }: { readonly adapter: Pick<ChannelAdapter, 'edit'>; readonly clock: Clock },
  ref: MessageRef,
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted()
    try {
      return await adapter.edit(ref, outgoing)
    } catch (error) {
      if (error instanceof PostRefusedError) throw error
      await sleep(clock, waitOf(tries, error), signal)
    }
  }
}

/** A transport error may carry how long the platform wants us to wait. */
export function askedToWait(error: unknown): number | undefined {
  const asked = (error as { retryAfterMs?: unknown } | undefined)?.retryAfterMs
  return typeof asked === 'number' ? asked : undefined
}

function waitOf(tries: number, error: unknown): number {
  return askedToWait(error) ?? WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 30_000
}

async function readBack(
  { adapter, posts, clock }: PostDeps,
  post: Pick<Post, 'key' | 'to' | 'kind'>,
  row: { at: number; text: string; fileId?: string },
  signal: AbortSignal,
): Promise<MessageRef | undefined> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted()
    try {
      const owned = await posts.owned(post.to, post.key)
      const { key, kind, to } = post
      const pending = {
        key,
        kind,
        text: row.text,
        at: row.at,
        owned,
        ...(row.fileId === undefined ? {} : { fileId: row.fileId }),
      }
      const found = await adapter.findPost(to, pending)
      const age = clock.now() - row.at
      const settleMs = adapter.readBackDelayMs
      if (found || age >= settleMs) return found
      // Too young to be surely missing: it is looked for once more when it has that age.
      // A clock that was set back must not make it wait for hours.
      await sleep(clock, Math.min(settleMs - age, settleMs), signal)
      if (age < 0) return await adapter.findPost(to, pending)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof PostRefusedError) return undefined
      await sleep(clock, waitOf(tries, error), signal)
    }
  }
}
