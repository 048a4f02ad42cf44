import { sql } from 'kysely'
import type { Store, Tx } from '../store/store.ts'
import type { Clock } from '../util/time.ts'
import type { Address, MessageRef, PostKind, PostLog } from './channel-adapter.ts'
import { scopeOf } from './post-key.ts'

/** Longest text kept for a read-back by content; posts are shorter on every platform. */
const MAX_KEPT_TEXT_CHARS = 40_000
/** A read-back looks at the newest messages of a conversation; who owns older ones does not matter to it. */
const MAX_OWNED = 1000
/** A literal, as the partial index spells it. */
const CARD = sql.lit('card')

/** Rows of the `posts` table. `guard` runs first in each writing transaction and throws where the turn is not ours any more. */
export function createPostLog(store: Store, clock: Clock, guard: (tx: Tx) => Promise<void> = async () => {}): PostLog {
  return {
    begin: (key, to, kind, text) =>
      store.transaction((tx) => begin(tx, guard, { key, to, kind, text, now: clock.now() })),
    async retry(key, text) {
      await store.db
        .updateTable('posts')
        .set({ text: text.slice(0, MAX_KEPT_TEXT_CHARS) })
        .where('key', '=', key)
        .execute()
    },
    async recordFileId(key, fileId) {
      await store.db.updateTable('posts').set({ file_id: fileId }).where('key', '=', key).execute()
    },
    async sent(key, ref) {
      await store.db
        .updateTable('posts')
        .set({ ref: JSON.stringify(ref), ref_id: ref.id, text: '' })
        .where('key', '=', key)
        .execute()
    },
    async owned(to, key) {
      const rows = await store.db
        .selectFrom('posts')
        .select('ref_id')
        .where('platform', '=', to.platform)
        .where('address', '=', to.id)
        .where('key', '!=', key)
        .where('ref_id', 'is not', null)
        .orderBy('at', 'desc')
        .limit(MAX_OWNED)
        .execute()
      return new Set(rows.flatMap((r) => r.ref_id ?? []))
    },
    async pending(scope) {
      const rows = await store.db
        .selectFrom('posts')
        .select(['key', 'at', 'kind', 'text', 'file_id'])
        .where('scope', '=', scope)
        .where('ref', 'is', null)
        .execute()
      // A scope has few posts: the index by scope is all that the database needs.
      return rows
        .toSorted((a, b) => a.at - b.at)
        .map(({ key, at, kind, text, file_id }) => {
          return { key, at, kind: kind as PostKind, text, ...(file_id === null ? {} : { fileId: file_id }) }
        })
    },
    async known(scope) {
      const rows = await store.db
        .selectFrom('posts')
        .select(['key', 'ref'])
        .where('scope', '=', scope)
        .where('ref', 'is not', null)
        .execute()
      return new Map(rows.map((r) => [r.key, JSON.parse(r.ref ?? 'null') as MessageRef]))
    },
    forget: (key) => store.transaction((tx) => forgetPost(tx, key)),
  }
}

async function begin(
  tx: Tx,
  guard: (tx: Tx) => Promise<void>,
  post: { key: string; to: Address; kind: PostKind; text: string; now: number },
): ReturnType<PostLog['begin']> {
  await guard(tx)
  const made = await tx.db
    .insertInto('posts')
    .values({
      key: post.key,
      platform: post.to.platform,
      scope: scopeOf(post.key),
      address: post.to.id,
      kind: post.kind,
      text: post.text.slice(0, MAX_KEPT_TEXT_CHARS),
      ref: null,
      ref_id: null,
      file_id: null,
      at: post.now,
    })
    .onConflict((c) => c.column('key').doNothing())
    .returning('key')
    .executeTakeFirst()
  if (made) return { fresh: true, at: post.now, text: post.text }
  const row = await tx.db.selectFrom('posts').selectAll().where('key', '=', post.key).executeTakeFirstOrThrow()
  return {
    fresh: false,
    at: row.at,
    text: row.text,
    ...(row.ref === null ? {} : { ref: JSON.parse(row.ref) as MessageRef }),
    ...(row.file_id === null ? {} : { fileId: row.file_id }),
  }
}

/** The key of the post that made this message, if it is one of the bot. */
export async function postOf(store: Store, ref: MessageRef): Promise<string | undefined> {
  const row = await store.db
    .selectFrom('posts')
    .select('key')
    .where('platform', '=', ref.platform)
    .where('ref_id', '=', ref.id)
    .executeTakeFirst()
  return row?.key
}

/** Its key may be posted again. */
export async function forgetPost(tx: Tx, key: string): Promise<void> {
  await tx.db.deleteFrom('posts').where('key', '=', key).execute()
}

/** Whether a card is being posted on that platform, so that a message not known may be one. */
export async function isCardInFlight(store: Store, { platform }: MessageRef): Promise<boolean> {
  const row = await store.db
    .selectFrom('posts')
    .select('key')
    .where('platform', '=', platform)
    .where('kind', '=', CARD)
    .where('ref', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}
