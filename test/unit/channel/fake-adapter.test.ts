import { describe } from 'vitest'
import type { Address } from '../../../src/channel/channel-adapter.ts'
import { createPostLog } from '../../../src/channel/post-log.ts'
import { PostRefusedError } from '../../../src/channel/post-once.ts'
import { openStore } from '../../../src/store/store.ts'
import { channelAdapterContract } from '../../contracts/channel-adapter.ts'
import { FakeAdapter, FakePlatform } from '../../support/fake-adapter.ts'
import { ManualClock } from '../../support/manual-clock.ts'

describe("the tests' adapter", () => {
  channelAdapterContract(async () => {
    const clock = new ManualClock()
    const platform = new FakePlatform()
    const posts = createPostLog(await openStore(':memory:'), clock)
    const start = () => new FakeAdapter(platform, { clock })
    return {
      adapter: start(),
      restart: async () => start(),
      posts,
      clock,
      conversation: async (): Promise<Address> => ({ platform: 'discord', id: 'thread-1' }),
      texts: ({ id }) => platform.texts(id),
      async deleteMessage({ id }) {
        for (const post of platform.posts) if (post.id === id) post.deleted = true
      },
      async lock() {
        platform.beforeSend = () => {
          throw new PostRefusedError('locked')
        }
      },
      loseNextAnswer() {
        platform.loseAnswers = 1
      },
      async settled(work) {
        let over = false
        const watched = work.finally(() => {
          over = true
        })
        watched.catch(() => undefined)
        while (!over) {
          await new Promise((resolve) => setImmediate(resolve))
          await clock.advance(100)
        }
        return watched
      },
    }
  })
})
