import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const TOOLS = join(import.meta.dirname, '../../../tools')
const names = readdirSync(TOOLS).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -5)] : []))

interface Schema {
  type?: string
  enum?: string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
}

/** Both sides in one form: an object as its fields in order of their names. */
type Shape = string | { list: Shape } | { fields: Record<string, { type: Shape; optional: boolean }> }

function shapeOfSchema(schema: Schema): Shape {
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'integer') return 'number'
  if (schema.type === 'array') return { list: shapeOfSchema(schema.items ?? {}) }
  if (schema.type !== 'object') return schema.type ?? 'unknown'
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    { type: shapeOfSchema(field), optional: !schema.required?.includes(name) },
  ])
  return { fields: Object.fromEntries(fields) }
}

/** Reads an interface of one field a line, as these files are written; anything else is an error and not skipped. */
function shapeOfInterface(name: string, source: string): Shape {
  const body = new RegExp(`interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1]
  if (body === undefined) throw new Error(`no interface ${name}`)
  const fields = body.split('\n').map((line) => {
    const [, field = '', optional, type = ''] = /^ {2}readonly (\w+)(\?)?: (.+)$/.exec(line) ?? []
    if (!field) throw new Error(`not a field: ${line}`)
    return [field, { type: shapeOfType(type, source), optional: optional === '?' }]
  })
  return { fields: Object.fromEntries(fields) }
}

function shapeOfType(type: string, source: string): Shape {
  const [, item] = /^readonly (\w+)\[\]$/.exec(type) ?? []
  if (item !== undefined) return { list: shapeOfType(item, source) }
  return /^[A-Z]/.test(type) ? shapeOfInterface(type, source) : type
}

function schemaOf(name: string): Schema {
  return (JSON.parse(readFileSync(join(TOOLS, `${name}.json`), 'utf8')) as { parameters: Schema }).parameters
}

/** The tool's file and what it imports from support. */
function sourceOf(name: string): string {
  const own = readFileSync(join(TOOLS, `${name}.ts`), 'utf8')
  const support = [...own.matchAll(/from '\.\/(support\/[\w-]+\.ts)'/g)]
  return [own, ...support.map(([, path = '']) => readFileSync(join(TOOLS, path), 'utf8'))].join('\n')
}

const argsOf = (name: string): Shape => shapeOfInterface('Args', sourceOf(name))

/** Every single change of a schema that the comparison must notice. */
function mutations(schema: Schema): Schema[] {
  const { properties = {}, required = [] } = schema
  const withField = (name: string, field: Schema): Schema => ({
    ...schema,
    properties: { ...properties, [name]: field },
  })
  return Object.entries(properties).flatMap(([name, field]) => {
    const { [name]: _, ...others } = properties
    const nested = field.items ? mutations(field.items).map((items) => withField(name, { ...field, items })) : []
    return [
      { ...schema, properties: others },
      withField(`${name}_too`, field),
      { ...schema, required: required.includes(name) ? required.filter((r) => r !== name) : [...required, name] },
      withField(name, { type: field.type === 'boolean' ? 'string' : 'boolean' }),
      withField(name, field.enum ? { ...field, enum: [...field.enum, 'other'] } : { ...field, enum: ['other'] }),
      ...nested,
    ]
  })
}

describe('a tool’s Args', () => {
  it('are found for every tool', () => expect(names.length).toBeGreaterThanOrEqual(6))

  it.each(names)('%s: are what its JSON promises', (name) => {
    expect(argsOf(name)).toEqual(shapeOfSchema(schemaOf(name)))
  })

  it.each(names)('%s: differ from any other JSON', (name) => {
    const others = mutations(schemaOf(name))
    expect(others.length).toBeGreaterThan(4)
    for (const other of others) expect(shapeOfSchema(other)).not.toEqual(argsOf(name))
  })
})
