import { createTwoFilesPatch } from 'diff'
import { sha256 } from '../../src/util/ids.ts'
import { isBinary } from '../../src/workspace/files.ts'
import { changeDiff } from './change-diff.ts'
import { applyEdits, type Edit, EditError, replaceAll } from './edits.ts'

/** Work on whole files that may take long. Plain data both ways: it runs in a worker thread. */
export type HeavyJob =
  | {
      readonly kind: 'edit'
      readonly shown: string
      readonly bytes: Uint8Array
      readonly edits: readonly Edit[]
      readonly all: boolean
    }
  | {
      readonly kind: 'diff'
      readonly oldName: string
      readonly newName: string
      readonly old: Uint8Array
      readonly new: Uint8Array
      readonly context: number
    }

export interface EditedFile {
  /** Of the content before. */
  readonly before: string
  readonly fault?: 'binary' | 'not-utf8'
  /** What is wrong with the edits. */
  readonly error?: string
  readonly change?: { readonly bytes: Uint8Array; readonly hash: string; readonly count: number; readonly diff: string }
}

export interface HeavyResults {
  readonly edit: EditedFile
  /** Undefined where the two differ too much to be drawn in time. */
  readonly diff: string | undefined
}

/** A diff gives up after this many edits or this long, ms. */
const MAX_EDITS = 20_000
const MAX_DIFF_MS = 2000

export function doHeavyJob(job: HeavyJob): HeavyResults[HeavyJob['kind']] {
  return job.kind === 'edit' ? editFile(job) : diffFiles(job)
}

function editFile({ shown, bytes, edits, all }: Extract<HeavyJob, { kind: 'edit' }>): EditedFile {
  const before = sha256(bytes)
  if (isBinary(bytes)) return { before, fault: 'binary' }
  const old = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const text = old.toString('utf8')
  // Otherwise writing it back would change bytes that no edit names.
  if (!Buffer.from(text).equals(old)) return { before, fault: 'not-utf8' }
  try {
    const [first] = edits
    const done =
      all && first ? replaceAll(text, first) : { text: applyEdits(text, edits, edits.length > 1), count: edits.length }
    const diff = changeDiff(shown, text, done.text)
    const after = Buffer.from(done.text)
    return { before, change: { bytes: after, count: done.count, hash: sha256(after), diff } }
  } catch (error) {
    if (error instanceof EditError) return { before, error: error.message }
    throw error
  }
}

function diffFiles(job: Extract<HeavyJob, { kind: 'diff' }>): string | undefined {
  const [before, after] = [job.old, job.new].map((bytes) => Buffer.from(bytes).toString('utf8'))
  const options = { context: job.context, maxEditLength: MAX_EDITS, timeout: MAX_DIFF_MS }
  const diff = createTwoFilesPatch(job.oldName, job.newName, before ?? '', after ?? '', undefined, undefined, options)
  return diff?.replace(/^={10,}\n/, '')
}

/** What moves to the other thread instead of being copied: the buffers of their own, not Node's shared small ones. */
export function buffersOf(all: readonly (Uint8Array | undefined)[]): ArrayBuffer[] {
  return all.flatMap((bytes) =>
    bytes && bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : [],
  )
}
