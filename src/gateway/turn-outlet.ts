import type { Address, ChannelAdapter, TurnCanvas } from '../channel/channel-adapter.ts'
import { createPostLog } from '../channel/post-log.ts'
import { PostRefused, postOnce } from '../channel/post-once.ts'
import type { TurnView } from '../channel/turn-view.ts'
import { emptyView, foldView } from '../turn/fold-view.ts'
import type { TurnOutlet, TurnPresenter } from '../turn/outlet.ts'
import type { TurnEvent } from '../turn/turn.ts'
import { messageOf } from '../util/errors.ts'
import { shortId } from '../util/ids.ts'
import { sleep } from '../util/time.ts'
import { assertHeld } from '../workstream/claim.ts'
import type { Workstream } from '../workstream/workstreams.ts'
import { postCard } from './card-painter.ts'
import type { GatewayTools } from './gateway-tools.ts'
import { setMarkedOff } from './signs.ts'

type Tools = Pick<GatewayTools, 'store' | 'clock' | 'log' | 'lanes' | 'adapters'>

/** Between two tries to make a workstream's place while the platform is out of reach, ms. */
const OPEN_AGAIN = 5000

/** The agent's way out to the channels. A workstream of a channel that is off must not be run. */
export function createTurnOutlet(tools: Tools): TurnOutlet {
  const adapterOf = (channel: Address['channel']): ChannelAdapter => {
    const adapter = tools.adapters.get(channel)
    if (!adapter) throw new Error(`the ${channel} channel is off`)
    return adapter
  }
  return {
    serves: (channel) => tools.adapters.has(channel),
    async open(workstream, claim, signal) {
      for (;;) {
        try {
          const posts = createPostLog(tools.store, tools.clock, (tx) => assertHeld(tx, claim))
          return await openPlace(tools, adapterOf(workstream.channel), workstream, posts, signal)
        } catch (error) {
          signal.throwIfAborted()
          if (error instanceof PostRefused) throw error
          tools.log.warn({ reason: messageOf(error), workstream: workstream.id }, 'no place for an answer yet')
          await sleep(tools.clock, OPEN_AGAIN, signal)
        }
      }
    },
    presenter({ turn, to, claim }) {
      const adapter = adapterOf(to.channel)
      const posts = createPostLog(tools.store, tools.clock, (tx) => assertHeld(tx, claim))
      return createPresenter(adapter.canvas(to, turn, posts), turn, (approval, signal) =>
        postCard(tools, { approval, to, posts }, signal),
      )
    },
    async earlier(to, before, limit) {
      try {
        return await adapterOf(to.channel).history(to, { limit, ...(before === undefined ? {} : { before }) })
      } catch (error) {
        tools.log.warn({ reason: messageOf(error), channel: to.channel }, 'earlier messages could not be read')
        return []
      }
    },
    download: (channel, file, maxBytes, signal) => adapterOf(channel).download(file, maxBytes, signal),
    taken: async (items) => void setMarkedOff(tools, items),
  }
}

async function openPlace(
  tools: Tools,
  adapter: ChannelAdapter,
  { id, channel, opening, title }: Workstream,
  posts: ReturnType<typeof createPostLog>,
  signal: AbortSignal,
): Promise<{ to: Address; notice?: string }> {
  if (!opening) throw new Error('nothing is to be opened')
  if (opening.kind === 'thread') return adapter.open({ room: opening.room, message: opening.message }, title)
  const room: Address = { channel, id: opening.room }
  const key = `ask:${id}`
  const { text } = opening
  const { ref } = await postOnce(
    { adapter, posts, lanes: tools.lanes, clock: tools.clock },
    { key, to: room, kind: 'text', text, send: (note) => adapter.send(room, { kind: 'text', text }, key, note) },
    signal,
  )
  return adapter.open({ room: opening.room, message: ref.id }, title)
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
