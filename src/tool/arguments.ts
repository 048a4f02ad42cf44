import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { jsonrepair } from 'jsonrepair'
import type { CatalogTool } from './catalog-tool.ts'

export type Parsed =
  | { readonly ok: true; readonly args: Record<string, unknown> }
  | { readonly ok: false; readonly error: string }

/** How much of a broken text the error quotes, characters. */
const MAX_SHOWN_CHARS = 500
/** Longer arguments are not read, characters: no model's answer is that long. */
const MAX_ARGUMENT_CHARS = 2 * 1024 * 1024
/** Longer ones are not repaired, characters. */
const MAX_REPAIRED_CHARS = 64 * 1024
/** Values nested deeper than this are refused: what comes after walks them by recursion. */
const MAX_DEPTH = 64
/** Longest first line of a fence, characters. */
const MAX_FENCE_CHARS = 100

/**
 * Reads what a model wrote as arguments. A JSON object is used as it is; a JSON string, or bare text that begins with
 * neither brace nor bracket, goes to the primary key; nothing or null is {}. Broken JSON is repaired only where that
 * changes no value. `whole`: the answer is complete; text of a cut-off answer is never repaired.
 */
export function parseArguments(text: string, primaryKey: string | undefined, whole: boolean): Parsed {
  if (text.length > MAX_ARGUMENT_CHARS) {
    return broken(text, primaryKey, `the arguments are longer than ${MAX_ARGUMENT_CHARS} characters`)
  }
  const trimmed = text.trim()
  if (trimmed === '') return { ok: true, args: {} }
  if (/^[{[]/.test(trimmed) && isDeeper(trimmed, MAX_DEPTH)) return { ok: false, error: TOO_DEEP }
  const strict = tryParse(trimmed)
  if (strict.found) return fromValue(strict.value, primaryKey)
  if (!whole) return broken(text, primaryKey, 'your answer was cut off inside the arguments')
  const unfenced = withoutFence(trimmed)
  if (/^[{[]/.test(unfenced) && isDeeper(unfenced, MAX_DEPTH)) return { ok: false, error: TOO_DEEP }
  const repaired = repair(unfenced)
  if (repaired !== undefined) return fromValue(repaired, primaryKey)
  if (!/^[{[]/.test(unfenced) && primaryKey !== undefined) return { ok: true, args: { [primaryKey]: text } }
  return broken(text, primaryKey, 'the arguments are not valid JSON')
}

function fromValue(value: unknown, primaryKey: string | undefined): Parsed {
  if (value === null) return { ok: true, args: {} }
  if (typeof value === 'string' && primaryKey !== undefined) return { ok: true, args: { [primaryKey]: value } }
  if (isObject(value)) return { ok: true, args: value }
  return broken(JSON.stringify(value), primaryKey, 'the arguments are not a JSON object')
}

const TOO_DEEP = `Nothing was run: the arguments are nested more than ${MAX_DEPTH} levels deep.`

/** Whether brackets outside of strings stand more than `most` deep in each other. Reads text, so that nothing recurses. */
function isDeeper(text: string, most: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (inString) {
      if (c === BACKSLASH) at++
      else if (c === QUOTE) inString = false
    } else if (c === QUOTE) inString = true
    else if (c === OPEN_LIST || c === OPEN_OBJECT) {
      if (++depth > most) return true
    } else if (c === CLOSE_LIST || c === CLOSE_OBJECT) depth--
  }
  return false
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

function broken(text: string, primaryKey: string | undefined, why: string): Parsed {
  const sample = JSON.stringify({ [primaryKey ?? 'field']: '…' })
  const shown = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : text
  return {
    ok: false,
    error: `Nothing was run: ${why}. Expected a JSON object such as ${sample}. Got: ${shown}`,
  }
}

function tryParse(text: string): { found: true; value: unknown } | { found: false } {
  try {
    return { found: true, value: JSON.parse(text) }
  } catch {
    return { found: false }
  }
}

/** What is between an opening fence on the first line and a closing one at the end. Linear. */
function withoutFence(text: string): string {
  const first = text.indexOf('\n')
  if (first < 0 || !text.endsWith('```')) return text
  const opening = text.slice(0, first)
  if (opening.length > MAX_FENCE_CHARS || !/^```[a-z]*\s*$/i.test(opening)) return text
  return text.slice(first, -3).trim()
}

/** undefined where a repair would invent, change or lose a value. */
function repair(text: string): unknown {
  if (!text.startsWith('{') || text.length > MAX_REPAIRED_CHARS) return undefined
  try {
    const before = scalarsOf(text)
    if (before === undefined) return undefined
    const repaired = jsonrepair(text)
    const after = scalarsOf(repaired)
    return JSON.stringify(after) === JSON.stringify(before) ? JSON.parse(repaired) : undefined
  } catch {
    return undefined
  }
}

const TOKEN =
  /\s+|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)|[{}[\]:,]/y

/** Keys and values in their order; undefined where the text holds anything but whole tokens. */
function scalarsOf(text: string): readonly unknown[] | undefined {
  const token = new RegExp(TOKEN)
  const found: unknown[] = []
  while (token.lastIndex < text.length) {
    const [piece] = token.exec(text) ?? []
    if (piece === undefined) return undefined
    if (/^["']/.test(piece)) found.push(unquoted(piece))
    else if (/^[-\da-z]/.test(piece)) found.push(JSON.parse(piece))
  }
  return found
}

/** A string token's text, single quotes and raw line ends included. Throws where its escapes are wrong. */
function unquoted(piece: string): string {
  const body = piece.slice(1, -1).replace(/\\[\s\S]|"|[\u0000-\u001f]/g, (c) => {
    if (c === "\\'") return "'"
    if (c.length > 1) return c
    return c === '"' ? '\\"' : JSON.stringify(c).slice(1, -1)
  })
  return JSON.parse(`"${body}"`) as string
}

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  /** Our own: the range is a limit, past it means the most there is and not a mistake. */
  readonly clamp?: boolean
}

type CheckedTool = Pick<CatalogTool, 'spec' | 'schema' | 'origin'>

/** Checks arguments against schemas; compiled ones are kept. */
export class ArgumentChecker {
  readonly #ajv = new Ajv({ allErrors: true, strict: false })
  readonly #compiled = new WeakMap<object, ValidateFunction | Error>()

  /** Throws where the schema does not compile, or its root is not an object's. */
  compile({ schema }: Pick<CatalogTool, 'schema'>): ValidateFunction {
    const made = this.#compiled.get(schema) ?? this.#tryCompile(schema)
    this.#compiled.set(schema, made)
    if (made instanceof Error) throw made
    return made
  }

  #tryCompile(schema: CatalogTool['schema']): ValidateFunction | Error {
    if (schema.type !== 'object') return new Error('its root must have "type": "object"')
    try {
      return this.#ajv.compile(schema)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  /** Numeric strings become numbers, clamped fields come into their range, fields unknown to a built-in are dropped. */
  check(tool: CheckedTool, args: Record<string, unknown>): Parsed {
    const fitted = fitValue(args, tool.schema as Schema, tool.origin === 'built-in') as Record<string, unknown>
    const validate = this.compile(tool)
    if (validate(fitted)) return { ok: true, args: fitted }
    const lines = (validate.errors ?? []).map(errorLine)
    const { name } = tool.spec
    return { ok: false, error: `Nothing was run: wrong arguments for ${name}. ${[...new Set(lines)].join('; ')}.` }
  }
}

function fitValue(value: unknown, schema: Schema, drop: boolean): unknown {
  if (schema.type === 'object' && isObject(value) && schema.properties) {
    const { properties } = schema
    const kept = Object.entries(value).filter(([key]) => !drop || Object.hasOwn(properties, key))
    return Object.fromEntries(kept.map(([key, v]) => [key, fitValue(v, fieldOf(properties, key), drop)]))
  }
  if (schema.type === 'array' && Array.isArray(value)) return value.map((v) => fitValue(v, schema.items ?? {}, drop))
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  if (schema.type !== 'integer' && schema.type !== 'number') return value
  const number = typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || schema.clamp !== true) return number
  return Math.min(Math.max(number, schema.minimum ?? -Infinity), schema.maximum ?? Infinity)
}

function fieldOf(properties: Readonly<Record<string, Schema>>, key: string): Schema {
  return Object.hasOwn(properties, key) ? (properties[key] ?? {}) : {}
}

function errorLine(error: ErrorObject): string {
  const at = error.instancePath.slice(1).replaceAll('/', '.')
  if (error.keyword === 'required') return `${at ? `${at}.` : ''}${error.params.missingProperty as string} is missing`
  if (error.keyword === 'enum') return `${at} must be one of ${(error.params.allowedValues as unknown[]).join(', ')}`
  return `${at || 'the arguments'} ${error.message ?? 'is wrong'}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
