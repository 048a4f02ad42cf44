import { z } from 'zod'
import {
  AT_KEY,
  DID_YOU_MEAN,
  type Kind,
  SECRETS_BELONG,
  SEE_EXAMPLE,
  UNKNOWN_KEY,
  USER_NAME,
  VALUE,
} from '../copy/config.ts'
import { configSchema } from './config.ts'
import { isTable, KEYS_NOT_IN_THIS_VERSION } from './not-in-this-version.ts'

type Path = readonly PropertyKey[]

/** One line on what is wrong in a file and how it is put right; no value is repeated. */
export function issueLine(issue: z.core.$ZodIssue, tables: unknown, place: string): string {
  if (issue.code === 'unrecognized_keys') return unknownKey(issue.path, issue.keys[0] ?? '', tables, place)
  const name = String(issue.path.at(-1) ?? '')
  if (issue.code === 'invalid_key') {
    const tidy = name.trim().replace(/[^A-Za-z0-9._-]+/g, '-')
    return AT_KEY(place, keyOf(issue.path), USER_NAME(/^[A-Za-z0-9._-]{1,64}$/.test(tidy) ? tidy : ''))
  }
  return AT_KEY(place, keyOf(issue.path), faultOf(issue, valueAt(tables, issue.path), nameAbove(issue.path)))
}

/** `users."Alice Smith".discord[0]`: as it is written in TOML, entries of a list in brackets. */
function keyOf(path: Path): string {
  return path
    .map((part, i) => {
      if (typeof part === 'number') return `[${part + 1}]`
      const text = String(part)
      return (i > 0 ? '.' : '') + (/^[A-Za-z0-9_-]+$/.test(text) ? text : JSON.stringify(text))
    })
    .join('')
}

/** The key whose value it is, also for an entry of a list. */
function nameAbove(path: Path): string {
  return String(path.findLast((part) => typeof part === 'string') ?? '')
}

function valueAt(tables: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], tables)
}

const KINDS: Readonly<Record<string, Kind>> = {
  string: 'text',
  number: 'number',
  int: 'number',
  boolean: 'boolean',
  array: 'list',
  object: 'table',
  record: 'table',
}

function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return 'list'
  if (value instanceof Date) return 'date'
  return KINDS[typeof value] ?? 'text'
}

function faultOf(issue: z.core.$ZodIssue, value: unknown, name: string): string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return VALUE.missing
      if (issue.expected === 'int') return VALUE.whole
      return VALUE.kind(KINDS[issue.expected] ?? 'text', kindOf(value), name)
    case 'invalid_value':
      return issue.message.startsWith('Invalid ') ? VALUE.choices(issue.values.map(String)) : issue.message
    case 'too_small':
      return issue.origin === 'string' ? VALUE.empty : VALUE.atLeast(String(issue.minimum))
    case 'too_big':
      return VALUE.atMost(String(issue.maximum))
    case 'invalid_union':
    case 'invalid_format':
    case 'custom':
      return issue.message
    default:
      return VALUE.notValid
  }
}

function unknownKey(path: Path, key: string, tables: unknown, place: string): string {
  const value = valueAt(tables, [...path, key])
  const [inner] = isTable(value) ? Object.keys(value) : []
  // A table whose keys are all of parts that are not built is unknown to the schema.
  if (inner !== undefined && tableNames().has(patternOf([...path, key]))) {
    return unknownKey([...path, key], inner, tables, place)
  }
  const full = keyOf([...path, key])
  return `${place}: ${UNKNOWN_KEY(full, isSecretName(key) ? SECRETS_BELONG(variableOf(full)) : nearest(path, key))}`
}

function isSecretName(key: string): boolean {
  return /token|secret|passw|credential|api_?key|^key$|^auth/i.test(key)
}

function variableOf(key: string): string | undefined {
  if (key.includes('discord')) return 'TURNSTONE_DISCORD_TOKEN'
  if (/sign|slack\w*secret|slack\.secret/.test(key)) return 'TURNSTONE_SLACK_SIGNING_SECRET'
  if (key.includes('slack')) return /app/.test(key) ? 'TURNSTONE_SLACK_APP_TOKEN' : 'TURNSTONE_SLACK_TOKEN'
  if (key.startsWith('models.')) return 'write the name of the variable in api_key_env'
  return key.includes('jwt') ? 'TURNSTONE_JWT_SECRET' : undefined
}

/** A path with `*` for what people name: `models.*.base_url`. */
function patternOf(path: Path): string {
  const parts = path.map((part) => (typeof part === 'number' ? '*' : String(part)))
  if ((parts[0] === 'models' || parts[0] === 'users') && parts.length > 2) parts[1] = '*'
  return parts.join('.')
}

function tableNames(): Set<string> {
  return new Set(knownKeys().flatMap((key) => key.split('.').map((_, i, all) => all.slice(0, i).join('.'))))
}

/** Every key by its pattern, tables left out. */
function knownKeys(): readonly string[] {
  return [
    ...keysBelow(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }), ''),
    ...Object.keys(KEYS_NOT_IN_THIS_VERSION),
  ]
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node | boolean
  readonly items?: Node
}

function keysBelow(node: unknown, path: string): string[] {
  const { properties = {}, additionalProperties, items } = node as Node
  const children = Object.entries(properties)
  if (typeof additionalProperties === 'object') children.push(['*', additionalProperties])
  if (items?.properties) children.push(['*', items])
  if (children.length === 0) return [path]
  return children.flatMap(([name, child]) => keysBelow(child, path === '' ? name : `${path}.${name}`))
}

function nearest(path: Path, key: string): string {
  const keys = knownKeys()
  const table = patternOf([...path, '']).slice(0, -1)
  const beside = [
    ...new Set(
      keys
        .filter((k) => k.startsWith(table ? `${table}.` : ''))
        .map((k) => k.slice(table ? table.length + 1 : 0).split('.')[0] ?? ''),
    ),
  ]
  const limit = Math.max(1, Math.min(3, Math.floor(key.length / 3)))
  const [best] = beside
    .filter((name) => name !== '*')
    .map((name) => ({ name, distance: distanceOf(key.toLowerCase(), name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
  if (best) return DID_YOU_MEAN(keyOf([...path, best.name]))
  const elsewhere = keys.filter((k) => k.endsWith(`.${key}`) && !k.includes('*'))
  return elsewhere.length === 1 ? DID_YOU_MEAN(elsewhere[0] ?? '') : SEE_EXAMPLE
}

/** Levenshtein's, with two exchanged neighbours as one step. */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const above = rows[i - 1] ?? []
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, change)
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j] ?? 0, (rows[i - 2]?.[j - 2] ?? 0) + 1)
    }
    rows.push(row)
  }
  return rows.at(-1)?.at(-1) ?? 0
}
