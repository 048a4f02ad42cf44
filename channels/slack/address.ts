import type { Address } from '../../src/channel/channel-adapter.ts'

/** Where a message is posted. */
export interface PostTarget {
  /** C…, G…, D… or, for a direct message not yet opened, U…. */
  readonly channel: string
  readonly thread?: string
}

export function postTargetOf(to: Address): PostTarget {
  const [channel = '', thread] = to.id.split(':')
  const inThread = thread ?? to.thread
  return inThread ? { channel, thread: inThread } : { channel }
}

export function isDirect(channel: string): boolean {
  return channel.startsWith('D')
}

/** Slack's name of a time: seconds with six digits. */
export function tsOf(ms: number): string {
  return (Math.max(0, ms) / 1000).toFixed(6)
}

export function msOf(ts: string): number {
  return Math.round(Number(ts) * 1000)
}
