import { isRecord, type Violation } from './violation.ts'

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const MOST_TOOLS = 128

function resolves(root: Record<string, unknown>, ref: string): boolean {
  if (!ref.startsWith('#')) return false
  let here: unknown = root
  for (const key of ref.slice(1).split('/').filter(Boolean)) {
    if (!isRecord(here) && !Array.isArray(here)) return false
    here = Reflect.get(here, decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return here !== undefined
}

const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const SINGLE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']

function schemaFaults(schema: unknown, root: Record<string, unknown>, at: string): string[] {
  if (typeof schema === 'boolean') return []
  if (!isRecord(schema)) return [`${at} is not of type 'object', 'boolean'`]
  const out: string[] = []
  const types = schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type]
  for (const type of types)
    if (!TYPES.includes(String(type))) out.push(`'${type}' is not valid under any of the given schemas (${at})`)
  if (types.includes('array') && schema.items === undefined && schema.prefixItems === undefined)
    out.push(`array schema missing items (${at})`)
  if (typeof schema.$ref === 'string' && !resolves(root, schema.$ref))
    out.push(`reference '${schema.$ref}' resolves to nothing (${at})`)
  if (
    schema.required !== undefined &&
    !(Array.isArray(schema.required) && schema.required.every((k) => typeof k === 'string'))
  )
    out.push(`required is not a list of strings (${at})`)
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) out.push(`enum is not a list (${at})`)
  for (const key of MAPS) {
    const map = schema[key]
    if (map === undefined) continue
    if (!isRecord(map)) out.push(`${key} is not of type 'object' (${at})`)
    else for (const [name, inner] of Object.entries(map)) out.push(...schemaFaults(inner, root, `${at}.${key}.${name}`))
  }
  for (const key of LISTS) {
    const list = schema[key]
    if (list === undefined) continue
    if (!Array.isArray(list)) out.push(`${key} is not a list (${at})`)
    else for (const [i, inner] of list.entries()) out.push(...schemaFaults(inner, root, `${at}.${key}[${i}]`))
  }
  for (const key of SINGLE)
    if (schema[key] !== undefined && !Array.isArray(schema[key]))
      out.push(...schemaFaults(schema[key], root, `${at}.${key}`))
  return out
}

function checkTool(tool: unknown, i: number): Violation[] {
  if (!isRecord(tool) || tool.type !== 'function' || !isRecord(tool.function))
    return [
      {
        message: `Missing required parameter: 'tools[${i}].function'.`,
        param: `tools[${i}]`,
        code: 'missing_required_parameter',
      },
    ]
  const { name, parameters, description } = tool.function
  const out: Violation[] = []
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    out.push({
      message: `Invalid 'tools[${i}].function.name': string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'.`,
      param: `tools[${i}].function.name`,
      code: 'invalid_value',
    })
  if (description !== undefined && typeof description !== 'string')
    out.push({
      message: `Invalid type for 'tools[${i}].function.description'.`,
      param: `tools[${i}].function.description`,
    })
  if (parameters === undefined) return out
  const param = `tools[${i}].function.parameters`
  const refuse = (why: string): Violation => ({
    message: `Invalid schema for function '${name}': ${why}`,
    param,
    code: 'invalid_function_parameters',
  })
  if (!isRecord(parameters)) return [...out, refuse('schema must be a JSON Schema object.')]
  if (parameters.type !== 'object')
    return [
      ...out,
      refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: "${parameters.type ?? 'None'}"'.`),
    ]
  if (
    parameters.properties === undefined &&
    parameters.$ref === undefined &&
    parameters.additionalProperties === undefined
  )
    out.push(refuse('object schema missing properties.'))
  return [...out, ...schemaFaults(parameters, parameters, name === undefined ? '' : String(name)).map(refuse)]
}

export function checkTools(tools: unknown): Violation[] {
  if (tools === undefined) return []
  if (!Array.isArray(tools)) return [{ message: "Invalid type for 'tools': expected an array.", param: 'tools' }]
  if (tools.length === 0)
    return [
      {
        message: "Invalid 'tools': empty array. Expected an array with minimum length 1.",
        param: 'tools',
        code: 'empty_array',
      },
    ]
  if (tools.length > MOST_TOOLS)
    return [
      {
        message: `Invalid 'tools': array too long. Expected at most ${MOST_TOOLS}.`,
        param: 'tools',
        code: 'array_above_max_length',
      },
    ]
  const names = tools.map((tool) => (isRecord(tool) && isRecord(tool.function) ? tool.function.name : undefined))
  const twice = names.filter((name, i) => names.indexOf(name) !== i)
  return [
    ...tools.flatMap(checkTool),
    ...(twice.length > 0 ? [{ message: `Tool names must be unique: ${twice.join(', ')}.`, param: 'tools' }] : []),
  ]
}
