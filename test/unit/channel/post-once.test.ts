import { afterEach, describe, expect, it } from 'vitest'
import type { Address, MessageRef, PendingPost } from '../../../src/channel/channel-adapter.ts'
import { createPostLog, postOf } from '../../../src/channel/post-log.ts'
import { adoptPending, PostRefusedError, postOnce } from '../../../src/channel/post-once.ts'
import { createLocalLocks } from '../../../src/jobs/local-locks.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** A platform that may lose its answers. */
class Room {
  readonly messages: { id: string; text: string; key: string }[] = []
  readonly looked: PendingPost[] = []
  /** How old a message is before a read-back surely shows it, ms. */
  readBackDelayMs = 0
  /** What becomes of the next posts: answered, posted with the answer lost, not posted, put off, refused. */
  fate: ('ok' | 'lost' | 'failed' | 'later' | 'refused')[] = []
  /** Read-backs that fail before one works. */
  blind = 0

  post(key: string, text: string): MessageRef {
    const fate = this.fate.shift() ?? 'ok'
    if (fate === 'failed') throw new Error('connection refused')
    if (fate === 'later') throw Object.assign(new Error('slow down'), { retryAfterMs: 3000 })
    if (fate === 'refused') throw new PostRefusedError('forbidden')
    const id = String(this.messages.length + 1)
    this.messages.push({ id, text, key })
    if (fate === 'lost') throw new Error('socket hang up')
    return { platform: 'discord', channel: 'r', id }
  }

  async findPost(_to: Address, post: PendingPost): Promise<MessageRef | undefined> {
    this.looked.push(post)
    if (this.blind-- > 0) throw new Error('cannot read')
    const found = this.messages.find((m) => m.text === post.text && !post.owned.has(m.id))
    return found && { platform: 'discord', channel: 'r', id: found.id }
  }
}

let store: Store
afterEach(() => store.close())

async function bench(readBackDelayMs = 0) {
  store = await openStore(':memory:')
  const clock = new ManualClock()
  const room = new Room()
  room.readBackDelayMs = readBackDelayMs
  const to: Address = { platform: 'discord', id: 'r' }
  const posts = createPostLog(store, clock)
  const tools = { adapter: room, posts, locks: createLocalLocks(), clock }
  const post = (key: string, text: string, signal = new AbortController().signal) =>
    postOnce(tools, { key, to, kind: 'text', text, send: async () => room.post(key, text) }, signal)
  /** Lets a post go on over its waits. */
  const through = async <T>(work: Promise<T>): Promise<T> => {
    let over = false
    const done = work.finally(() => {
      over = true
    })
    done.catch(() => undefined)
    for (let i = 0; i < 200 && !over; i++) await clock.advance(500)
    return done
  }
  return { clock, room, to, posts, tools, post, through }
}

describe('postOnce', () => {
  it('posts a key once and knows it afterwards', async () => {
    const { room, post } = await bench()
    expect(await post('a', 'hello')).toMatchObject({ posted: true, ref: { id: '1' } })
    expect(await post('a', 'hello')).toMatchObject({ posted: false, ref: { id: '1' } })
    expect(room.messages).toHaveLength(1)
    expect(room.looked).toHaveLength(0)
    expect(await postOf(store, { platform: 'discord', channel: 'r', id: '1' })).toBe('a')
  })

  it('looks before it posts again where the answer was lost', async () => {
    const { room, post, through } = await bench()
    room.fate = ['lost']
    expect(await through(post('a', 'hello'))).toMatchObject({ posted: false, ref: { id: '1' } })
    expect(room.messages).toHaveLength(1)
  })

  it('posts again where it was not there, and never before a read has worked', async () => {
    const { room, post, through } = await bench()
    room.fate = ['failed']
    room.blind = 3
    await through(post('a', 'hello'))
    expect(room.looked.length).toBeGreaterThan(3)
    expect(room.messages).toHaveLength(1)
  })

  it('does not look where it was merely put off, and waits as long as it was told', async () => {
    const { clock, room, post, through } = await bench()
    room.fate = ['later']
    const begun = clock.now()
    await through(post('a', 'hello'))
    expect(clock.now() - begun).toBeGreaterThanOrEqual(3000)
    expect(room.looked).toHaveLength(0)
    expect(room.messages).toHaveLength(1)
  })

  it('finds after a crash what was posted under the text of then', async () => {
    const { room, posts, to, post } = await bench()
    await posts.begin('a', to, 'text', 'early text')
    room.post('a', 'early text')
    expect(await post('a', 'later text')).toMatchObject({ posted: false, ref: { id: '1' } })
    expect(room.messages).toHaveLength(1)
  })

  it('takes no message that another row owns', async () => {
    const { room, posts, to, post } = await bench()
    await post('a', 'same')
    await posts.begin('b', to, 'text', 'same')
    expect(await post('b', 'same')).toMatchObject({ posted: true, ref: { id: '2' } })
    expect(room.messages).toHaveLength(2)
  })

  it('gives up at a final no, and the key may be tried anew', async () => {
    const { room, post } = await bench()
    room.fate = ['refused']
    await expect(post('a', 'hello')).rejects.toBeInstanceOf(PostRefusedError)
    expect(await post('a', 'hello')).toMatchObject({ posted: true })
  })

  it('waits on Slack until a young message must have become readable', async () => {
    const { clock, room, posts, to, post, through } = await bench(10_000)
    await posts.begin('a', to, 'text', 'hello')
    const begun = clock.now()
    await through(post('a', 'hello'))
    expect(clock.now() - begun).toBeGreaterThanOrEqual(10_000)
    expect(room.looked).toHaveLength(2)
    expect(room.messages).toHaveLength(1)
  })

  it('has one post in flight for a conversation', async () => {
    const { tools, to } = await bench()
    let inside = 0
    let most = 0
    const slow = (key: string) =>
      postOnce(
        tools,
        {
          key,
          to,
          kind: 'text',
          text: key,
          send: async () => {
            most = Math.max(most, ++inside)
            await new Promise((resolve) => setImmediate(resolve))
            inside--
            return { platform: 'discord', channel: 'r', id: key }
          },
        },
        new AbortController().signal,
      )
    await Promise.all(['a', 'b', 'c'].map(slow))
    expect(most).toBe(1)
  })

  it('ends with the signal, and the row stays for the next start', async () => {
    const { room, posts, post } = await bench()
    const stop = new AbortController()
    room.fate = ['failed']
    const pending = post('a/0/0', 'hello', stop.signal)
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort(new Error('stopping'))
    await expect(pending).rejects.toThrow('stopping')
    expect(await posts.pending('a')).toHaveLength(1)
  })

  it('writes nothing for a turn that is not ours any more', async () => {
    const { clock, room, to } = await bench()
    const posts = createPostLog(store, clock, async () => {
      throw new Error('taken over')
    })
    const tools = { adapter: room, posts, locks: createLocalLocks(), clock }
    const work = postOnce(
      tools,
      { key: 'a', to, kind: 'text', text: 'x', send: async () => room.post('a', 'x') },
      new AbortController().signal,
    )
    await expect(work).rejects.toThrow('taken over')
    expect(room.messages).toHaveLength(0)
  })
})

describe('adoptPending', () => {
  it('settles what a crash left open, and posts nothing', async () => {
    const { room, posts, to, tools } = await bench()
    await posts.begin('t/0/0', to, 'text', 'there')
    await posts.begin('t/0/1', to, 'text', 'not there')
    room.post('t/0/0', 'there')
    await adoptPending(tools, to, 't', new AbortController().signal)
    expect([...(await posts.known('t')).keys()]).toEqual(['t/0/0'])
    expect(await posts.pending('t')).toHaveLength(0)
    expect(room.messages).toHaveLength(1)
  })
})
