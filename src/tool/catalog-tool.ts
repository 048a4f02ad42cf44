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

export interface ToolResult {
  readonly content: readonly ContentPart[]
  readonly isError: boolean
  /** Lines that stay outside any cut: exit code, that it ran. */
  readonly trailer?: string
}

/** What a running call may use and tell. */
export interface RunContext {
  readonly signal: AbortSignal
  /** A piece of output as it comes, for the bash tail; must not throw. */
  readonly onOutput: (text: string) => void
  /** Characters the result may have; the tool need not cut itself, but may stop early. */
  readonly resultLimit: number
}

export interface ReadyPlan {
  readonly kind: 'ready'
  /** One line. */
  readonly header: string
  /** Exactly what will run or be written, as the approver reads it; `filename` where it must be attached. */
  readonly payload: { readonly filename: string; readonly text: string }
  /** The tool's own wish. */
  readonly needsApproval: boolean
  /** What *Always allow* remembers. */
  readonly label: string
  readonly acts: readonly Act[]
  readonly warning?: string
  /** The blocklist entry it hits: never run, never asked for. */
  readonly blocked?: string
  /** Everything that must be the same when it runs as when it was approved: paths after symlinks, preview, arguments. */
  readonly fingerprint: string
  run(context: RunContext): Promise<ToolResult>
}

export interface InvalidPlan {
  readonly kind: 'invalid'
  readonly header: string
  /** To the model: what was wrong and how to call it. */
  readonly error: string
}

export type ToolPlan = ReadyPlan | InvalidPlan

/** What a plan may look at. Planning has no effect on the world but `files.markRead`. */
export interface PlanScope {
  readonly workstream: string
  /** Absolute, after symlinks. */
  readonly root: string
  readonly files: FileLedger
  /** Whether policy lets this path be read without a question; for tools that choose files themselves. */
  readonly mayRead: (path: string) => boolean
  readonly vision: boolean
}

export interface CatalogTool {
  readonly spec: ToolSpec
  /** Where a bare string goes. */
  readonly primaryKey: string | undefined
  readonly origin: 'built-in'
  readonly traits: { readonly agent: boolean; readonly taskAgent: boolean; readonly autoApprove: boolean }
  /** `args` fit the schema. May be called again right before the run, and must then see the world anew. */
  plan(args: Readonly<Record<string, unknown>>, scope: PlanScope): Promise<ToolPlan>
}
