/** What Slack sends and gets: an object of unknown fields. */
export type Json = Record<string, unknown>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object in a field, or an empty one. */
export function objectIn(from: unknown, key: string): Json {
  const value = isJson(from) ? from[key] : undefined
  return isJson(value) ? value : {}
}

/** The text in a field; undefined where it is none or empty. */
export function textIn(from: unknown, key: string): string | undefined {
  const value = isJson(from) ? from[key] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The objects of a list in a field. */
export function listIn(from: unknown, key: string): Json[] {
  const value = isJson(from) ? from[key] : undefined
  return Array.isArray(value) ? value.filter(isJson) : []
}
