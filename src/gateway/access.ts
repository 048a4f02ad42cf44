import type { Config } from '../config/config.ts'
import type { User } from '../identity/users.ts'
import type { Workstream } from '../workstream/workstreams.ts'

/** The owner of a workstream and admins: /stop, /close, /model, /approvals. */
export function mayManage(user: User, workstream: Workstream): boolean {
  return user.role === 'admin' || user.name === workstream.owner
}

/** Whose messages are heard. */
export function maySpeak(user: User, workstream: Workstream, { session }: Pick<Config, 'session'>): boolean {
  return session.speakers === 'linked' || mayManage(user, workstream)
}

/** Whose presses count. Bots never decide, whoever they are linked to. */
export function mayDecide(
  user: User,
  bot: boolean,
  workstream: Workstream,
  { approvals }: Pick<Config, 'approvals'>,
): boolean {
  return !bot && (approvals.approvers === 'linked' || mayManage(user, workstream))
}
