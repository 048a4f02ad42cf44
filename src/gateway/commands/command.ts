import type { CommandReply, InboundCommand } from '../../channel/channel-adapter.ts'
import type { CommandOption } from '../../channel/command-spec.ts'
import type { User } from '../../identity/users.ts'
import type { Workstream } from '../../workstream/workstreams.ts'
import type { GatewayDeps } from '../gateway-deps.ts'

/** One way to write a command as words: its name, then fixed words, then perhaps one argument. */
export interface WordForm {
  readonly keywords: readonly string[]
  readonly argument?: { readonly name: string; readonly label: string; readonly optional?: boolean }
}

interface Described {
  /** 1 to 32 lower-case letters. */
  readonly name: string
  /** 1 to 100 characters. */
  readonly description: string
  readonly options: (models: readonly string[]) => readonly CommandOption[]
  /** How it is written as words; [] where words cannot express it. */
  readonly words: readonly WordForm[]
}

export interface Call {
  readonly deps: GatewayDeps
  readonly command: InboundCommand
}

export interface UserCall extends Call {
  readonly user: User
}

export interface WorkstreamCall extends UserCall {
  readonly workstream: Workstream
}

/**
 * A command on every platform. Slash commands, the parser of words, help and hints are all derived from the list of
 * these. `access` says who may use it and what `run` can count on.
 */
export type Command =
  | (Described & { readonly access: 'anybody'; run(call: Call): Promise<CommandReply> })
  | (Described & { readonly access: 'linked'; run(call: UserCall): Promise<CommandReply> })
  /** On a conversation: every linked person. */
  | (Described & { readonly access: 'conversation'; run(call: WorkstreamCall): Promise<CommandReply> })
  /** On a conversation: its owner and admins. */
  | (Described & { readonly access: 'owner'; run(call: WorkstreamCall): Promise<CommandReply> })

export const NO_OPTIONS = (): readonly CommandOption[] => []
export const NAME_ALONE: readonly WordForm[] = [{ keywords: [] }]

/** For the caller alone. */
export const say = (text: string): CommandReply => ({ text, private: true })
