/** A rule of the API that a request broke. */
export interface Violation {
  message: string
  /** HTTP status; 400 without it. */
  status?: number
  param?: string
  code?: string
  /** Refused, but what a correct client may run into too; not collected. */
  expected?: boolean
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
