import { expect, it } from 'vitest'
import type { Address, ChannelAdapter, MessageRef, PostLog } from '../../src/channel/channel-adapter.ts'
import { PostRefusedError, postOnce } from '../../src/channel/post-once.ts'
import type { TurnView } from '../../src/channel/turn-view.ts'
import { createLocalLocks } from '../../src/jobs/local-locks.ts'
import type { Clock } from '../../src/util/time.ts'

/** A started adapter on its platform, and what a person or the platform does there. */
export interface AdapterUnderTest {
  readonly adapter: ChannelAdapter
  /** Another adapter on the same platform, as after a restart; the first does nothing any more. */
  restart(): Promise<ChannelAdapter>
  readonly posts: PostLog
  readonly clock: Clock
  /** A conversation that a person began. */
  conversation(): Promise<Address>
  /** What people read of the bot there, message by message, without markup of the platform. */
  texts(to: Address): string[]
  /** A person with the rights to do so deletes the message. */
  deleteMessage(ref: MessageRef): Promise<void>
  /** The conversation takes no messages any more. */
  lock(to: Address): Promise<void>
  /** The platform posts the next message, but its answer does not arrive. */
  loseNextAnswer(): void
  /** Lets the clock run until the work is done. */
  settled<T>(work: Promise<T>): Promise<T>
}

const never = new AbortController().signal
const view = (phase: TurnView['phase'], ...texts: string[]): TurnView => ({
  turn: 'abc123',
  phase,
  sections: texts.map((text) => ({ items: [{ kind: 'text', text }] })),
})

/** What every ChannelAdapter promises. `make` gives a fresh platform each time. */
export function channelAdapterContract(make: () => Promise<AdapterUnderTest>): void {
  const send = (t: AdapterUnderTest, to: Address, text: string, key: string): Promise<MessageRef> =>
    t.settled(t.adapter.send(to, { kind: 'text', text }, key, async () => {}))
  const post = (t: AdapterUnderTest, to: Address, text: string, key: string) => {
    const { adapter, posts, clock } = t
    const deps = { adapter, posts, clock, locks: createLocalLocks() }
    const one = { key, to, kind: 'text' as const, text }
    return t.settled(postOnce(deps, { ...one, send: (id) => adapter.send(to, { kind: 'text', text }, key, id) }, never))
  }

  it('posts into the conversation and names the message', async () => {
    const t = await make()
    const to = await t.conversation()
    const ref = await send(t, to, 'hello there', 'turn-1/0/0')
    expect(ref).toMatchObject({ platform: t.adapter.platform, channel: t.adapter.channelOf(to) })
    expect(t.adapter.permalink(to, ref)).toContain(ref.channel)
    const later = await send(t, to, 'and again', 'turn-1/1/0')
    expect(t.adapter.postedAt(later)).toBeGreaterThanOrEqual(t.adapter.postedAt(ref))
    expect(t.adapter.postedAt(ref)).toBeGreaterThan(1_400_000_000_000)
  })

  it('posts once, also where the answer of the platform was lost', async () => {
    const t = await make()
    const to = await t.conversation()
    t.loseNextAnswer()
    await post(t, to, 'only once', 'turn-1/0/0')
    expect(t.texts(to)).toEqual(['only once'])
    await post(t, to, 'only once', 'turn-1/0/0')
    expect(t.texts(to)).toEqual(['only once'])
  })

  it('says a final no as PostRefusedError', async () => {
    const t = await make()
    const to = await t.conversation()
    await t.lock(to)
    await expect(send(t, to, 'too late', 'turn-1/0/0')).rejects.toThrow(PostRefusedError)
    expect(t.texts(to)).toEqual([])
  })

  it('changes and removes its messages; of a deleted one both resolve', async () => {
    const t = await make()
    const to = await t.conversation()
    const ref = await send(t, to, 'before', 'turn-1/0/0')
    await t.settled(t.adapter.edit(ref, { kind: 'text', text: 'after' }))
    expect(t.texts(to)).toEqual(['after'])
    await t.settled(t.adapter.remove(ref))
    expect(t.texts(to)).toEqual([])
    await t.settled(t.adapter.edit(ref, { kind: 'text', text: 'again' }))
    await t.settled(t.adapter.remove(ref))
    expect(t.texts(to)).toEqual([])
  })

  it('draws a turn: each section a message of its own, the last view as it was drawn', async () => {
    const t = await make()
    const to = await t.conversation()
    const canvas = t.adapter.canvas(to, 'turn-1', t.posts)
    canvas.draw(view('writing', 'one'))
    canvas.draw(view('writing', 'one two', 'three'))
    canvas.draw(view('done', 'one two', 'three four'))
    await t.settled(canvas.settle(never))
    expect(t.texts(to)).toEqual(['one two', 'three four'])
  })

  it('goes on with what it drew before a restart', async () => {
    const t = await make()
    const to = await t.conversation()
    const canvas = t.adapter.canvas(to, 'turn-1', t.posts)
    canvas.draw(view('waiting', 'first half'))
    await t.settled(canvas.settle(never))
    const later = (await t.restart()).canvas(to, 'turn-1', t.posts)
    later.draw(view('done', 'first half and the second'))
    await t.settled(later.settle(never))
    expect(t.texts(to)).toEqual(['first half and the second'])
  })

  it('S5: shows the whole answer once, though its message was deleted while it grew', async () => {
    const t = await make()
    const to = await t.conversation()
    const canvas = t.adapter.canvas(to, 'turn-1', t.posts)
    canvas.draw(view('waiting', 'the first words'))
    await t.settled(canvas.settle(never))
    const [ref] = [...(await t.posts.known('turn-1')).values()]
    if (!ref) throw new Error('nothing was posted')
    await t.deleteMessage(ref)
    canvas.draw(view('done', 'the first words and the last'))
    await t.settled(canvas.settle(never))
    expect(t.texts(to)).toEqual(['the first words and the last'])
    const later = (await t.restart()).canvas(to, 'turn-1', t.posts)
    later.draw(view('done', 'the first words and the last, corrected'))
    await t.settled(later.settle(never))
    expect(t.texts(to)).toEqual(['the first words and the last, corrected'])
  })

  it('ends a settle that cannot succeed with its signal', async () => {
    const t = await make()
    const to = await t.conversation()
    const canvas = t.adapter.canvas(to, 'turn-1', t.posts)
    canvas.draw(view('done', 'never settled'))
    const abort = new AbortController()
    abort.abort(new Error('enough'))
    await expect(t.settled(canvas.settle(abort.signal))).rejects.toThrow('enough')
  })

  it('does not reject for a mark on a message that is gone', async () => {
    const t = await make()
    const to = await t.conversation()
    const ref = await send(t, to, 'hello', 'turn-1/0/0')
    await t.deleteMessage(ref)
    await t.settled(t.adapter.addReaction(ref))
    await t.settled(t.adapter.removeReaction(ref))
  })

  it('reads a conversation back, oldest first, and knows its own messages', async () => {
    const t = await make()
    const to = await t.conversation()
    await send(t, to, 'first', 'turn-1/0/0')
    await send(t, to, 'second', 'turn-1/1/0')
    const own = (await t.settled(t.adapter.fetchMessages(to, { limit: 10 }))).filter((m) => m.own)
    expect(own.map((m) => m.text)).toEqual(['first', 'second'])
  })
}
