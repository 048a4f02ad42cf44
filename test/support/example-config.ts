import { z } from 'zod'
import { configSchema } from '../../src/config/config.ts'
import { KEYS_NOT_IN_THIS_VERSION } from '../../src/config/not-in-this-version.ts'

interface Node {
  readonly default?: unknown
  readonly description?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node | boolean
  readonly items?: Node
}

interface Section {
  readonly path: string
  /** The keys it holds, in the schema's order. */
  readonly node: Node
  /** The header as it is written, and whether the block is commented out. */
  readonly header: string
  readonly sample: boolean
}

const HEAD = `# Every key of turnstone's configuration, at its default. Copy to config.toml and keep what you change.
# Written by \`npm run example\` from src/config; do not edit it by hand.
# Looked for: --config FILE, $TURNSTONE_CONFIG, ./config.toml, ~/.config/turnstone/config.toml.
# Relative paths start at this file's directory, ~ is the home directory. Secrets belong in the environment.
# Durations: "1h30m", "90s", "250ms", or seconds as a number.
# "later": the part is not in this version; the key must stay at its default.
`

/** What is said above a section. */
const ABOVE: Readonly<Record<string, string>> = {
  'models.*': '# Without any [models.*] block: gpt-5.4 at OpenAI if OPENAI_API_KEY is set, otherwise the demo model.',
  'users.*': '# `turnstone admin user add NAME` adds people too; they link themselves with a token.',
  'channels.discord': '# On when TURNSTONE_DISCORD_TOKEN is set.',
  'channels.slack': '# On when TURNSTONE_SLACK_TOKEN and TURNSTONE_SLACK_APP_TOKEN are set.',
  policy:
    "# Deny beats allow, whatever the order. exec matches the approval label, then the tool's name (* = anything);\n# read and write match paths (* within a segment, ** across).",
}

/** Values of the blocks that have no defaults, or whose defaults say too little. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  'models.*.api_key_env': 'OPENAI_API_KEY',
  'models.*.capabilities.supports_vision': true,
  'users.*.role': 'admin',
  'users.*.discord': ['80351110224678912'],
  'users.*.slack': ['U0G9QF9C6'],
  'policy.name': 'no-shell',
  'policy.effect': 'deny',
  'policy.act': 'exec',
  'policy.match': 'bash',
}

const NAMES: Readonly<Record<string, string>> = { models: 'main', users: 'alice' }

/** config.example.toml: every key of the schema and of what is not in this version, with its default and description. */
export function exampleConfig(): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Node
  const sections = Object.entries(schema.properties ?? {}).flatMap(([name, node]) => sectionsOf(name, node))
  const known = new Set(sections.map((s) => s.path))
  for (const key of Object.keys(KEYS_NOT_IN_THIS_VERSION)) {
    const path = key.slice(0, key.lastIndexOf('.'))
    if (known.has(path)) continue
    known.add(path)
    sections.push({ path, node: {}, header: `[${path}]`, sample: false })
  }
  return `${HEAD}\n${sections.map(textOf).join('\n')}`
}

function sectionsOf(path: string, node: Node, sample = false, written = path): Section[] {
  const { properties = {}, additionalProperties, items } = node
  if (items?.properties) return [{ path, node: items, header: `[[${written}]]`, sample: true }]
  const inner = Object.entries(properties).filter(([, child]) => child.properties !== undefined)
  const own = Object.keys(properties).length > inner.length
  const below = inner.flatMap(([name, child]) => sectionsOf(`${path}.${name}`, child, sample, `${written}.${name}`))
  const named = NAMES[path]
  if (typeof additionalProperties === 'object' && named !== undefined) {
    below.push(...sectionsOf(`${path}.*`, additionalProperties, true, `${written}.${named}`))
  }
  return [...(own ? [{ path, node, header: `[${written}]`, sample }] : []), ...below]
}

function textOf({ path, node, header, sample }: Section): string {
  const keys = Object.entries(node.properties ?? {}).filter(([, child]) => child.properties === undefined)
  const lines = keys.map(([name, child]) => {
    const value = SAMPLES[`${path}.${name}`] ?? child.default
    return [`${name} = ${toml(value)}`, child.description ?? ''] as const
  })
  for (const [key, { standard, about }] of Object.entries(KEYS_NOT_IN_THIS_VERSION)) {
    const cut = key.lastIndexOf('.')
    if (key.slice(0, cut) === path) lines.push([`${key.slice(cut + 1)} = ${toml(standard)}`, `later: ${about}`])
  }
  const mark = sample ? '# ' : ''
  const width = Math.max(...lines.map(([setting]) => setting.length))
  const shown = lines.map(([setting, about]) => `${mark}${setting.padEnd(width)}  # ${about}\n`)
  return `${ABOVE[path] ? `${ABOVE[path]}\n` : ''}${mark}${header}\n${shown.join('')}`
}

function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, v]) => `${key} = ${toml(v)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}
