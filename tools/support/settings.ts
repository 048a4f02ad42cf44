import type { Clock } from '../../src/util/time.ts'
import type { RunAs } from '../../src/workspace/workspace.ts'

/** What the built-in tools are made with. */
export interface ToolSettings {
  readonly clock: Clock
  /** Of bash, where a call names none; ms. */
  readonly timeoutMs: number
  readonly runAs: RunAs | undefined
  /** The gateway's own files and folders, absolute after symlinks: reading or writing them always asks. */
  readonly ownPaths: readonly string[]
  /** The gateway's environment, from which a child's is taken. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Names that pass to bash although they look like secrets. */
  readonly passEnv: readonly string[]
}
