export type Json = Record<string, unknown>

export const isObject = (v: unknown): v is Json => typeof v === 'object' && v !== null && !Array.isArray(v)
export const asObject = (v: unknown): Json => (isObject(v) ? v : {})
export const asArray = (v: unknown): unknown[] => (Array.isArray(v) ? v : [])
export const asObjects = (v: unknown): Json[] => asArray(v).filter(isObject)
export const asString = (v: unknown): string => (typeof v === 'string' ? v : '')
export const asNumber = (v: unknown): number => (typeof v === 'number' ? v : 0)

/** A deep copy by way of JSON, so that what is stored or sent cannot change later. */
export const copy = <T>(v: T): T => (v === undefined ? v : (JSON.parse(JSON.stringify(v)) as T))

export const iso = (ms: number): string => new Date(ms).toISOString().replace('Z', '000+00:00')
