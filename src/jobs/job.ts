/** Everything that is done later; each job names one thing, and no two jobs for the same thing run at once. */
export type Job =
  /** Take the workstream as far as it goes. */
  | { readonly kind: 'turn'; readonly workstream: string }
  /** Close a card that nobody decided in time. */
  | { readonly kind: 'expire'; readonly approval: string }
  /** Archive the thread of a closed workstream. */
  | { readonly kind: 'archive'; readonly workstream: string }

export function encodeJob(job: Job): string {
  return job.kind === 'expire' ? `expire:${job.approval}` : `${job.kind}:${job.workstream}`
}

/** Throws for a key of another form: a queue holds nothing but what `encodeJob` made. */
export function decodeJob(key: string): Job {
  const [, kind, id = ''] = /^(turn|expire|archive):(.+)$/.exec(key) ?? []
  if (kind === 'expire') return { kind, approval: id }
  if (kind === 'turn' || kind === 'archive') return { kind, workstream: id }
  throw new Error(`not the key of a job: ${key}`)
}
