import { openApprovals } from '../../approval/approvals.ts'
import { grantsOf, revokeGrant } from '../../approval/grants.ts'
import { decodePostKey } from '../../channel/post-key.ts'
import { createPostLog } from '../../channel/post-log.ts'
import {
  ALWAYS_ALLOWED,
  ASKS_AGAIN,
  DESCRIPTIONS,
  NO_PENDING,
  NOT_ALLOWED,
  NOTHING_ALLOWED,
  OPTIONS,
  PENDING,
} from '../../copy/commands.ts'
import { addressOfTurn } from '../../turn/turns.ts'
import { oneLine } from '../../util/visible.ts'
import { type Command, say, type WorkstreamCall } from './command.ts'

export const approvals: Command = {
  name: 'approvals',
  description: DESCRIPTIONS.approvals,
  options: () => [{ name: 'revoke', description: OPTIONS.revoke, required: false }],
  words: [{ keywords: [] }, { keywords: ['revoke'], argument: { name: 'revoke', label: 'LABEL' } }],
  access: 'owner',
  async run(call) {
    const { revoke } = call.command.args
    return say(await (revoke === undefined ? list(call) : revokeLabel(call, revoke)))
  },
}

async function revokeLabel(
  { deps: { store, clock }, workstream, user }: WorkstreamCall,
  label: string,
): Promise<string> {
  const grant = { workstream: workstream.id, label, by: user.name }
  const gone = await store.transaction((tx) => revokeGrant(tx, grant, clock.now()))
  return gone ? ASKS_AGAIN(label) : NOT_ALLOWED(oneLine(label, 100))
}

async function list({ deps: { store, clock, adapters }, workstream }: WorkstreamCall): Promise<string> {
  const posts = createPostLog(store, clock)
  const lines: string[] = []
  for (const approval of await openApprovals(store.db, workstream.id)) {
    const [ref] = [...(await posts.known(approval.id))]
      .flatMap(([key, r]) => (decodePostKey(key)?.kind === 'card' ? [r] : []))
      .slice(-1)
    const to = await addressOfTurn(store.db, approval.turn)
    const link = to ? adapters.get(to.platform)?.permalink(to, ref) : undefined
    lines.push(PENDING(approval.calls.map((c) => c.header).join('; '), link ?? ''))
  }
  if (lines.length === 0) lines.push(NO_PENDING)
  const grants = [...(await grantsOf(store.db, workstream.id))]
  lines.push(grants.length > 0 ? ALWAYS_ALLOWED(grants.map((g) => `\`${g}\``).join(', ')) : NOTHING_ALLOWED)
  return lines.join('\n')
}
