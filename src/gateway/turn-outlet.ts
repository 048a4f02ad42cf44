import type { Address, ChannelAdapter, TurnCanvas } from '../channel/channel-adapter.ts'
import { encodePostKey } from '../channel/post-key.ts'
import { createPostLog } from '../channel/post-log.ts'
import { PostRefusedError, postOnce } from '../channel/post-once.ts'
import type { TurnView } from '../channel/turn-view.ts'
import { LOG } from '../copy/log.ts'
import { emptyView, foldView } from '../turn/fold-view.ts'
import type { TurnOutlet, TurnPresenter } from '../turn/outlet.ts'
import type { TurnEvent } from '../turn/turn.ts'
import { CalmLog } from '../util/calm-log.ts'
import { messageOf } from '../util/errors.ts'
import { shortId } from '../util/ids.ts'
import { sleep } from '../util/time.ts'
import { assertClaim, ClaimLostError } from '../workstream/claim.ts'
import type { Workstream } from '../workstream/workstreams.ts'
import { postCard } from './cards/card-painter.ts'
import type { GatewayDeps } from './gateway-deps.ts'
import { removeReceived } from './reactions.ts'

type Deps = Pick<GatewayDeps, 'store' | 'clock' | 'log' | 'locks' | 'adapters' | 'redraws'>

/** Between two tries to make a workstream's place while the platform is out of reach, ms. */
const OPEN_AGAIN_MS = 5000
/** An answer waits no longer than this for what was said before, ms. */
const EARLIER_WITHIN_MS = 3000

/** The agent's way out to the channels. A workstream of a channel that is off must not be run. */
export function createTurnOutlet(deps: Deps): TurnOutlet {
  const adapterOf = (channel: Address['platform']): ChannelAdapter => {
    const adapter = deps.adapters.get(channel)
    if (!adapter) throw new Error(`the ${channel} channel is off`)
    return adapter
  }
  const log = new CalmLog(deps.log, deps.clock)
  return {
    serves: (platform) => deps.adapters.has(platform),
    displayName: (platform) => deps.adapters.get(platform)?.displayName ?? platform,
    async open(workstream, claim, signal) {
      for (;;) {
        try {
          const posts = createPostLog(deps.store, deps.clock, (tx) => assertClaim(tx, claim))
          return await openThread(deps, adapterOf(workstream.platform), workstream, posts, signal)
        } catch (error) {
          signal.throwIfAborted()
          if (error instanceof PostRefusedError || error instanceof ClaimLostError) throw error
          log.warn({ reason: messageOf(error), workstream: workstream.id }, LOG.noPlaceYet)
          await sleep(deps.clock, OPEN_AGAIN_MS, signal)
        }
      }
    },
    presenter({ turn, to, claim }) {
      const adapter = adapterOf(to.platform)
      const posts = createPostLog(deps.store, deps.clock, (tx) => assertClaim(tx, claim))
      return createPresenter(adapter.canvas(to, turn, posts), turn, (approval, signal) =>
        postCard(deps, { approval, to, posts }, signal),
      )
    },
    async earlier(to, before, limit) {
      const range = { limit, ...(before === undefined ? {} : { before }) }
      const late = new AbortController()
      const tooLong = sleep(deps.clock, EARLIER_WITHIN_MS, late.signal).then(() => {
        throw new Error('it took too long')
      })
      try {
        return await Promise.race([adapterOf(to.platform).fetchMessages(to, range), tooLong])
      } catch (error) {
        deps.log.warn({ reason: messageOf(error), channel: to.platform }, LOG.earlierMessagesNotRead)
        return undefined
      } finally {
        late.abort()
        tooLong.catch(() => undefined)
      }
    },
    download: (channel, file, maxBytes, signal) => adapterOf(channel).download(file, maxBytes, signal),
    taken: async (items) => void removeReceived(deps, items),
  }
}

async function openThread(
  deps: Deps,
  adapter: ChannelAdapter,
  { id, platform, opening, title }: Workstream,
  posts: ReturnType<typeof createPostLog>,
  signal: AbortSignal,
): Promise<{ to: Address; notice?: string }> {
  if (!opening) throw new Error('nothing is to be opened')
  if (opening.kind === 'thread')
    return adapter.openThread({ channel: opening.channel, message: opening.message }, title)
  const to: Address = { platform, id: opening.channel }
  const key = encodePostKey({ kind: 'announcement', workstream: id })
  const { text } = opening
  const { ref } = await postOnce(
    { adapter, posts, locks: deps.locks, clock: deps.clock },
    { key, to, kind: 'text', text, send: (onFileId) => adapter.send(to, { kind: 'text', text }, key, onFileId) },
    signal,
  )
  return adapter.openThread({ channel: opening.channel, message: ref.id }, title)
}

function createPresenter(canvas: TurnCanvas, turn: string, card: TurnPresenter['card']): TurnPresenter {
  let view: TurnView = emptyView(shortId(turn))
  return {
    show(event: TurnEvent) {
      view = foldView(view, event)
      canvas.draw(view)
    },
    settle: (signal) => canvas.settle(signal),
    card,
  }
}
