import type { Address, MessageRef } from '../../src/channel/channel-adapter.ts'

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

/** A link to the message, or to the conversation without one; opens the app where the workspace's address is unknown. */
export function permalinkOf(
  to: Address,
  ref: MessageRef | undefined,
  self: { readonly url: string; readonly team: string } | undefined,
): string {
  const { channel, thread } = postTargetOf(to)
  const ts = ref?.id ?? thread
  if (!self?.url) return `slack://channel?team=${self?.team ?? ''}&id=${channel}`
  const message = ts && /^\d+\.\d+$/.test(ts) ? `/p${ts.replace('.', '')}` : ''
  const inThread = message && thread && thread !== ts ? `?thread_ts=${thread}&cid=${ref?.channel ?? channel}` : ''
  return `${self.url.replace(/\/$/, '')}/archives/${ref?.channel ?? channel}${message}${inThread}`
}
