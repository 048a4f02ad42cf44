import type { Address } from '../../src/channel/channel-adapter.ts'

/** Where a message is posted. */
export interface PostTarget {
  /** C…, G…, D… or, for a direct message not yet opened, U…. */
  readonly room: string
  readonly thread?: string
}

export function postTargetOf(to: Address): PostTarget {
  const [room = '', thread] = to.id.split(':')
  const inThread = thread ?? to.thread
  return inThread ? { room, thread: inThread } : { room }
}

export function isDirect(room: string): boolean {
  return room.startsWith('D')
}

/** Slack's name of a time: seconds with six digits. */
export function tsOf(ms: number): string {
  return (Math.max(0, ms) / 1000).toFixed(6)
}

export function msOf(ts: string): number {
  return Math.round(Number(ts) * 1000)
}
