export type { Fault, FaultSpec } from './faults.ts'
export type { Session } from './gateway.ts'
export type { Outcome, SimInteraction } from './interactions.ts'
export type {
  LoggedRequest,
  MessageVersion,
  Pinged,
  SimAttachment,
  SimChannel,
  SimGuild,
  SimMember,
  SimMessage,
  SimRole,
  SimUser,
  SpecViolation,
} from './model.ts'
export { customIds, type FileToSend, type SayOptions } from './people.ts'
export type { PermissionName } from './permissions.ts'
export { limit, RULES, type RuleName } from './rules.ts'
export { DiscordSim, type DiscordSimOptions } from './sim.ts'
