import type { ContentPart, ToolSpec } from '../model/message.ts'
import type { FileLedger } from '../workspace/file-ledger.ts'
import type { Zone } from '../workspace/paths.ts'

/** What a call does to the world; the policy judges each. */
export type Act =
  | { readonly act: 'exec'; readonly label: string; readonly name: string }
  | {
      readonly act: 'read' | 'write'
      /** Absolute, after symlinks. */
      readonly path: string
      readonly zone: Zone
    }
  /** A connection to a host; `host` in lower case, without a port. */
  | { readonly act: 'net'; readonly host: string }

export interface ToolResult {
  readonly content: readonly ContentPart[]
  readonly isError: boolean
  /** Added after any cut: exit code, that it ran. */
  readonly trailer?: string
}

/** News of a running call, for its line in the chat. */
export type Progress = { readonly kind: 'output'; readonly text: string }

/** A question that a running call puts to a person. */
export interface Question {
  readonly text: string
}

/** `declined` holds the reason in plain words. In this version every question is declined: the chat has no card for it. */
export type QuestionAnswer = { readonly answered: string } | { readonly declined: string }

/** What a running call may use. */
export interface RunContext {
  /** Aborts when the turn is stopped and at the call's time limit. */
  readonly signal: AbortSignal
  /** Must not throw. */
  readonly progress: (update: Progress) => void
  /** The call's time limit pauses until the answer. Rejects with the signal's reason. */
  readonly ask: (question: Question) => Promise<QuestionAnswer>
  /** Characters the result may have; a tool need not cut its result, but may stop early. */
  readonly resultLimit: number
}

/** What a call that runs will have done; paths are absolute, after symlinks. */
export interface CallEffects {
  /** The file whose whole content the model then knows. */
  readonly reads?: readonly string[]
  /** The file's content then; must not change anything. */
  readonly writes?: {
    readonly path: string
    readonly content: () => Promise<Uint8Array>
    /** The model then knows the whole content. */
    readonly known: boolean
  }
}

/** What the calls before this one in its step will have done when it runs. */
export interface EarlierCalls {
  /** The content that the last of them writes; undefined where none writes the file. */
  contentOf(path: string): Promise<Uint8Array | undefined>
  /** The model knows the whole of what the last of them writes. */
  knows(path: string): boolean
  /** One of them reads the file. */
  reads(path: string): boolean
}

export interface ReadyPlan {
  readonly kind: 'ready'
  /** One line, never empty. */
  readonly header: string
  /** Exactly what will run or be written, as the approver reads it; `filename` where it must be attached. */
  readonly payload: { readonly filename: string; readonly text: string }
  /** The tool's own wish. */
  readonly needsApproval: boolean
  /** What *Always allow* remembers. */
  readonly label: string
  readonly acts: readonly Act[]
  readonly warning?: string
  /** The blocklist entry it hits: never run, nobody is asked. */
  readonly blocked?: string
  /** Everything that must be the same when it runs as when it was approved: paths after symlinks, preview, arguments. */
  readonly fingerprint: string
  /** What calls of the same step that come later may rely on. */
  readonly effects?: CallEffects
  /** Where the tool keeps a time limit of its own, ms; the pipeline's limit then comes a little later. */
  readonly timeLimitMs?: number
  run(context: RunContext): Promise<ToolResult>
}

export interface InvalidPlan {
  readonly kind: 'invalid'
  readonly header: string
  /** For the model: what was wrong and how to call it. */
  readonly error: string
}

export type ToolPlan = ReadyPlan | InvalidPlan

/** What a plan may look at. Planning has no effect on the world. */
export interface PlanScope {
  readonly workstream: string
  /** Name of the user whose message is being answered. */
  readonly author: string
  /** Absolute, after symlinks. */
  readonly root: string
  readonly files: FileLedger
  /** A plan is for the moment at which the call runs: after these. */
  readonly earlier: EarlierCalls
  /** Whether policy lets this path be read without a question; for tools that choose files themselves. */
  readonly mayRead: (path: string) => boolean
  readonly vision: boolean
}

export interface CatalogTool {
  /** What the model sees. */
  readonly spec: ToolSpec
  /** What arguments are checked against: the spec's parameters with our own keywords (`clamp`). */
  readonly schema: Readonly<Record<string, unknown>>
  /** Where a bare string goes. */
  readonly primaryKey: string | undefined
  /** 'built-in', or who else brought it. Argument fields that the schema does not name are dropped for built-ins only. */
  readonly origin: string
  readonly traits: { readonly agent: boolean; readonly taskAgent: boolean; readonly autoApprove: boolean }
  /** `args` fit the schema. May be called again right before the run, and must then look at the world again. */
  plan(args: Readonly<Record<string, unknown>>, scope: PlanScope): Promise<ToolPlan>
}
