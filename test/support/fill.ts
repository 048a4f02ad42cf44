import type { Store } from '../../src/store/store.ts'
import { append, type JournalEntry } from '../../src/turn/journal.ts'
import { redactEntry } from '../../src/turn/redact-entry.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { acquireClaim } from '../../src/workstream/claim.ts'

/** Turns written at once: a transaction of this many rows is short enough. */
const BATCH = 500
const redactor = createRedactor()

/** Earlier turns of a conversation, each a question and an answer of so many characters, as the engine writes them. */
export async function fillTurns(store: Store, workstream: string, turns: number, chars = 40): Promise<void> {
  for (let from = 0; from < turns; from += BATCH) {
    await store.transaction(async (tx) => {
      const claim = await acquireClaim(tx, workstream)
      if (!claim) throw new Error('no such workstream')
      for (let i = from; i < Math.min(turns, from + BATCH); i++) {
        const text = `question ${i} `.padEnd(chars, 'q')
        await append(
          tx,
          claim,
          `old-${workstream}-${i}`,
          [
            { kind: 'user', items: [{ inbox: 0, author: 'alice', content: [{ type: 'text', text }] }] },
            { kind: 'assistant', text: `answer ${i} `.padEnd(chars, 'a'), calls: [] },
            { kind: 'end', state: 'done' },
          ].map((entry) => redactEntry(entry as JournalEntry, redactor)),
          1,
        )
      }
    })
  }
}

/** So many rows in each table that grows, all of them past and done. */
export async function fillDatabase(store: Store, rows: number): Promise<void> {
  const at = Date.now() - 200 * 86_400_000
  await store.db.transaction().execute(async (tx) => {
    for (let i = 0; i < rows; i++) {
      const address = JSON.stringify({ platform: 'discord', id: `o${i}` })
      const state = i % 10 === 0 ? ('open' as const) : ('closed' as const)
      const place = { platform: 'discord', address: `o${i}`, channel: 'chan', opening: null, post_to: address }
      const ws = { owner: 'alice', state, epoch: 1, model: null, title: 'old', close_told: 0 }
      await tx
        .insertInto('workstreams')
        .values({ id: `old-${i}`, ...place, ...ws, created_at: at, active_at: at })
        .execute()
      const message = {
        ws_id: `old-${i}`,
        kind: 'message' as const,
        dedupe_key: `old:${i}`,
        author: 'alice',
        author_name: 'alice',
      }
      const rest = {
        bot: 0,
        text: 'hi',
        attachments: '[]',
        ref: null,
        reply_to: address,
        context: 0,
        reacted: 0,
        sent_at: at,
      }
      await tx
        .insertInto('inbox')
        .values({ ...message, ...rest, state: 'done', turn_id: `t${i}`, created_at: at })
        .execute()
      const turn = { ws_id: `old-${i}`, parent_id: null, state: 'done' as const, tries: 0, stop: 0, model: 'main' }
      await tx
        .insertInto('turns')
        .values({ id: `t${i}`, ...turn, post_to: address, created_at: at, ended_at: at })
        .execute()
      const row = {
        ws_id: `old-${i}`,
        turn_id: `t${i}`,
        kind: 'end',
        data: '{"state":"done"}',
        created_at: at,
        total: 0,
      }
      await tx.insertInto('journal').values(row).execute()
      const call = {
        callId: 'c',
        tool: 'act',
        header: 'act',
        fingerprint: 'f',
        payload: { filename: 'a', text: 'long ago' },
      }
      const asked = {
        ws_id: `old-${i}`,
        turn_id: `t${i}`,
        kind: 'calls' as const,
        changed: null,
        always: 0,
        note: null,
      }
      const decided = {
        state: 'approved' as const,
        decided_by: 'alice',
        expires_at: null,
        created_at: at,
        decided_at: at,
      }
      await tx
        .insertInto('approvals')
        .values({
          id: `old-${i}`,
          ...asked,
          ...decided,
          calls: JSON.stringify([call]),
          card_up_to_date: 1,
          payloads_dropped: 0,
        })
        .execute()
      const post = { platform: 'discord', scope: `t${i}`, address: `o${i}`, kind: 'text', text: '', ref: '{}' }
      await tx
        .insertInto('posts')
        .values({ key: `t${i}/0/0`, ...post, ref_id: `r${i}`, file_id: null, at })
        .execute()
      await tx
        .insertInto('audit')
        .values({ at: at + 150 * 86_400_000, actor: 'x', action: 'press', ws_id: null, detail: '' })
        .execute()
      await tx
        .insertInto('seen')
        .values({ key: `old:${i}`, at: Date.now() })
        .execute()
      const used = { input: 1, cache_read: 0, cache_write: 0, output: 1 }
      await tx
        .insertInto('usage')
        .values({ at, user_name: 'alice', ws_id: 'old', model: 'main', ...used })
        .execute()
    }
  })
}
