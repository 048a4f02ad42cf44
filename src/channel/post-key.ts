/** What a post of the bot is; the same post has the same key in every process. */
export type PostKey =
  /** One message of a turn's answer; `again` counts the messages that took the place of a lost one. */
  | {
      readonly kind: 'part'
      readonly turn: string
      readonly section: number
      readonly part: number
      readonly again?: number
    }
  /** An approval's card; `again` tells a card that replaces a deleted one from the first, ms since the epoch. */
  | { readonly kind: 'card'; readonly approval: string; readonly again?: number }
  /** The file that holds one call's payload. */
  | { readonly kind: 'card-file'; readonly approval: string; readonly call: number }
  /** The line below a card that can no longer be changed. */
  | { readonly kind: 'card-closed'; readonly approval: string }
  /** The public line of `/ask`, from which a thread is made. */
  | { readonly kind: 'announcement'; readonly workstream: string }

export function encodePostKey(key: PostKey): string {
  switch (key.kind) {
    case 'part':
      return `${key.turn}/${key.section}/${key.part}${key.again === undefined ? '' : `#${key.again}`}`
    case 'card':
      return `approval:${key.approval}${key.again === undefined ? '' : `#${key.again}`}`
    case 'card-file':
      return `approval:${key.approval}:file:${key.call}`
    case 'card-closed':
      return `approval:${key.approval}:closed`
    case 'announcement':
      return `ask:${key.workstream}`
  }
}

const FORM =
  /^(?:approval:(?<approval>[^:#/]+)(?:#(?<again>\d+)|:file:(?<call>\d+)|:(?<closed>closed))?|ask:(?<workstream>[^:#/]+)|(?<turn>[^:#/]+)\/(?<section>\d+)\/(?<part>\d+)(?:#(?<renewal>\d+))?)$/

/** The other way round; undefined for a key of another form. */
export function decodePostKey(text: string): PostKey | undefined {
  const found = FORM.exec(text)?.groups
  if (!found) return undefined
  const { approval, again, call, closed, workstream, turn, section, part, renewal } = found
  if (workstream !== undefined) return { kind: 'announcement', workstream }
  if (turn !== undefined) {
    const more = renewal === undefined ? {} : { again: Number(renewal) }
    return { kind: 'part', turn, section: Number(section), part: Number(part), ...more }
  }
  if (approval === undefined) return undefined
  if (call !== undefined) return { kind: 'card-file', approval, call: Number(call) }
  if (closed !== undefined) return { kind: 'card-closed', approval }
  return { kind: 'card', approval, ...(again === undefined ? {} : { again: Number(again) }) }
}

/** What the post belongs to: a turn, an approval or a workstream, by id. '' for a key of another form. */
export function scopeOf(key: string): string {
  const found = decodePostKey(key)
  if (!found) return ''
  if (found.kind === 'part') return found.turn
  return found.kind === 'announcement' ? found.workstream : found.approval
}

/** Whether the post is an approval's card, the first or a later one. */
export function isCardKey(key: string): boolean {
  return decodePostKey(key)?.kind === 'card'
}
