import { createHash, randomBytes } from 'node:crypto'

/** 16 lower-case hex digits: workstreams, approvals, turns. */
export function newId(): string {
  return randomBytes(8).toString('hex')
}

/** What people read: the head of a turn's id, the same in chat and log. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
