import { dropPayloads } from '../../approval/approvals.ts'
import { LOG } from '../../copy/log.ts'
import { prunePresses } from '../../store/audit.ts'
import { pruneSeen } from '../../store/seen.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { sweepFiles } from './sweep-files.ts'

/** How long it stays known what the calls of a decided card would have done, ms. */
const PAYLOADS_FOR_MS = 7 * 86_400_000
/** Rows in one piece, so that nobody waits for the database. */
const PIECE = 200

/** Forgets what has served its time; what is kept and for how long is in docs/operating.md. */
export async function prune(
  { store, clock }: Pick<GatewayDeps, 'store' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now()
  const pieces = [
    () => pruneSeen(store.db, now, PIECE),
    () => prunePresses(store.db, now, PIECE),
    () => store.transaction((tx) => dropPayloads(tx, now - PAYLOADS_FOR_MS, PIECE)),
  ]
  for (const piece of pieces) {
    while (!signal.aborted && (await piece()) === PIECE) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** How often files that a crash left are looked for, ms. */
const SWEEP_EVERY_MS = 3_600_000

/** Sweeps at once and then every hour. Returns what ends it. */
export function startSweeping({ config, clock, log }: GatewayDeps, signal: AbortSignal): () => void {
  let cancel = (): void => undefined
  const sweep = async (): Promise<void> => {
    const gone = await sweepFiles(config.workspace.root, clock, signal)
    if (gone > 0) log.info({ files: gone }, LOG.crashFilesRemoved)
    if (!signal.aborted) cancel = clock.after(SWEEP_EVERY_MS, () => void sweep())
  }
  void sweep()
  return () => cancel()
}
