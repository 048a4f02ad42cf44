import { type Selectable, sql } from 'kysely'
import { putBlob } from '../store/blobs.ts'
import type { Db, Tx } from '../store/store.ts'
import type { Tables } from '../store/tables.ts'
import { cleanText } from '../store/text.ts'
import type { Redacted } from '../util/redact.ts'
import { assertClaim, type Claim } from '../workstream/claim.ts'
import type { JournalEntry, JournalPart, UserItem } from './journal-entry.ts'
import { resetStarts } from './turns.ts'
import { weightOf } from './weight.ts'

export type { ImageRef, JournalEntry, JournalPart, UserItem } from './journal-entry.ts'

export type JournalRow = JournalEntry & {
  readonly id: number
  readonly turn: string
  readonly at: number
  /** The weight of the workstream's rows up to and with this one, tokens. */
  readonly total: number
}

/** What came in is no progress: a turn that never gets further than to take it in has a failed start. */
const INPUTS: ReadonlySet<JournalEntry['kind']> = new Set(['user', 'context', 'notice'])

/** Rows read in one piece; between pieces the event loop gets its turn. */
const PAGE_ROWS = 200

/**
 * Appends under the claim; progress also resets the turn's count of starts without any. The rows as they are stored.
 * Throws ClaimLost.
 */
export async function append(
  tx: Tx,
  claim: Claim,
  turn: string,
  entries: readonly JournalEntry<Redacted>[],
  now: number,
): Promise<readonly JournalRow[]> {
  await assertClaim(tx, claim)
  const rows: JournalRow[] = []
  for (const entry of entries) rows.push(await appendOne(tx, claim.workstream, turn, entry, now))
  if (!entries.every((e) => INPUTS.has(e.kind))) await resetStarts(tx, turn)
  return rows
}

async function appendOne(
  tx: Tx,
  workstream: string,
  turn: string,
  entry: JournalEntry<Redacted>,
  now: number,
): Promise<JournalRow> {
  const { kind, ...data } = await withStoredImages(tx, entry, now)
  const json = cleanJson(data)
  const weight = weightOf(entry)
  const row = await tx.db
    .insertInto('journal')
    .values((e) => ({
      ws_id: workstream,
      turn_id: turn,
      kind,
      data: json,
      created_at: now,
      total: sql<number>`${weight} + coalesce(${e
        .selectFrom('journal as before')
        .select('before.total')
        .where('before.ws_id', '=', workstream)
        .orderBy('before.id', 'desc')
        .limit(1)}, 0)`,
    }))
    .returning(['id', 'total'])
    .executeTakeFirstOrThrow()
  return toRow({ ...row, ws_id: workstream, turn_id: turn, kind, data: json, created_at: now })
}

async function withStoredImages(tx: Tx, entry: JournalEntry, now: number): Promise<JournalEntry> {
  const stored = async (parts: readonly JournalPart[]): Promise<JournalPart[]> => {
    const out: JournalPart[] = []
    for (const part of parts) {
      if (part.type !== 'image') {
        out.push(part)
        continue
      }
      const bytes = Buffer.from(part.base64, 'base64')
      const sha256 = await putBlob(tx, bytes, now)
      out.push({ type: 'image-ref', mime: part.mime, sha256, bytes: bytes.length })
    }
    return out
  }
  if (entry.kind === 'result') return { ...entry, content: await stored(entry.content) }
  if (entry.kind !== 'user') return entry
  const items: UserItem[] = []
  for (const item of entry.items) items.push({ ...item, content: await stored(item.content) })
  return { ...entry, items }
}

/** Every string inside is made fit for the database and for providers. */
function cleanJson(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? cleanText(value) : value))
}

/** The rows of one turn, oldest first. */
export async function readTurn(db: Db | Tx['db'], turn: string): Promise<readonly JournalRow[]> {
  const rows = await db.selectFrom('journal').selectAll().where('turn_id', '=', turn).orderBy('id').execute()
  return rows.map(toRow)
}

/** The weight of all of a workstream's rows, tokens. */
export async function totalWeight(db: Db, workstream: string): Promise<number> {
  const row = await db
    .selectFrom('journal')
    .select('total')
    .where('ws_id', '=', workstream)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.total ?? 0
}

/** Some of a workstream's turns, all whole, oldest first. */
export interface TurnsRead {
  readonly rows: readonly JournalRow[]
  /** What the workstream weighed before them, tokens. */
  readonly begin: number
  /** Whether there are rows before them. */
  readonly older: boolean
}

/**
 * The turns before row `before` that began when the workstream weighed `above` or more; and the turn that was under way
 * then, where it weighs `heavy` or more and began at `limit` or more. What is older is not read.
 */
export async function readTurnsSince(
  db: Db,
  workstream: string,
  { above, limit, heavy, before }: { above: number; limit: number; heavy: number; before: number },
): Promise<TurnsRead> {
  const border = above <= 0 ? undefined : await lastRow(db, workstream, { total: above, before })
  if (!border) return { rows: await readBetween(db, workstream, 0, before), begin: 0, older: false }
  const previous = await lastRowBeforeTurn(db, workstream, border.turn_id)
  const begin = previous?.total ?? 0
  if (begin >= limit && (await totalAfterTurn(db, border.turn_id)) - begin >= heavy) {
    const rows = await readBetween(db, workstream, previous?.id ?? 0, before)
    return { rows, begin, older: previous !== undefined }
  }
  const rows = await readBetween(db, workstream, border.id, before)
  return { rows: rows.filter((r) => r.turn !== border.turn_id), begin: above, older: true }
}

/** Newest first, in pieces; given oldest first. Both ends are left out. */
async function readBetween(db: Db, workstream: string, after: number, before: number): Promise<JournalRow[]> {
  const rows: JournalRow[] = []
  for (let end = before; ; ) {
    const page = await db
      .selectFrom('journal')
      .selectAll()
      .where('ws_id', '=', workstream)
      .where('id', '<', end)
      .where('id', '>', after)
      .orderBy('id', 'desc')
      .limit(PAGE_ROWS)
      .execute()
    rows.push(...page.map(toRow))
    const last = page.at(-1)
    if (!last || page.length < PAGE_ROWS) return rows.reverse()
    end = last.id
    await new Promise((resolve) => setImmediate(resolve))
  }
}

type Border = Pick<Selectable<Tables['journal']>, 'id' | 'turn_id' | 'total'>

/** The last row before `before` up to which the workstream weighed no more than `total`. */
function lastRow(
  db: Db,
  workstream: string,
  { total, before }: { total: number; before: number },
): Promise<Border | undefined> {
  return db
    .selectFrom('journal')
    .select(['id', 'turn_id', 'total'])
    .where('ws_id', '=', workstream)
    .where('total', '<=', total)
    .where('id', '<', before)
    .orderBy('total', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

async function lastRowBeforeTurn(db: Db, workstream: string, turn: string): Promise<Border | undefined> {
  return db
    .selectFrom('journal')
    .select(['id', 'turn_id', 'total'])
    .where('ws_id', '=', workstream)
    .where('id', '<', (e) =>
      e
        .selectFrom('journal as first')
        .select('first.id')
        .where('first.turn_id', '=', turn)
        .orderBy('first.id')
        .limit(1),
    )
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

async function totalAfterTurn(db: Db, turn: string): Promise<number> {
  const row = await db
    .selectFrom('journal')
    .select('total')
    .where('turn_id', '=', turn)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.total ?? 0
}

function toRow(row: Selectable<Tables['journal']>): JournalRow {
  return {
    ...(JSON.parse(row.data) as JournalEntry),
    kind: row.kind as JournalEntry['kind'],
    id: row.id,
    turn: row.turn_id,
    at: row.created_at,
    total: row.total,
  } as JournalRow
}
