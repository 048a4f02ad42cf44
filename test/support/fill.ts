import type { Store } from '../../src/store/store.ts'
import { append } from '../../src/turn/journal.ts'
import { acquireClaim } from '../../src/workstream/claim.ts'

/** Turns written at once: a transaction of this many rows is short enough. */
const BATCH = 500

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
          ],
          1,
        )
      }
    })
  }
}
