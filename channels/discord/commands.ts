import type { CommandSpec } from '../../src/channel/command-spec.ts'
import { LOG } from '../../src/copy/log.ts'
import type { Log } from '../../src/util/log.ts'
import type { Api } from './api.ts'
import { LIMITS } from './limits.ts'

const STRING = 3

interface Body {
  readonly name: string
  readonly description: string
  readonly type: 1
  readonly options: readonly { type: number; name: string; description: string; required: boolean; choices: string[] }[]
  readonly contexts: readonly number[]
  readonly integration_types: readonly number[]
}

/** Commands as Discord takes them: for servers and direct messages, cut to its limits. */
export function commandBodies(specs: readonly CommandSpec[]): object[] {
  return specs.slice(0, LIMITS.commands).map((spec) => {
    const options = spec.options.slice(0, LIMITS.commandOptions).map((option) => ({
      type: STRING,
      name: option.name,
      description: option.description.slice(0, LIMITS.commandText),
      required: option.required,
      ...(option.choices?.length ? { choices: choicesOf(option.choices) } : {}),
    }))
    const description = spec.description.slice(0, LIMITS.commandText)
    return { type: 1, name: spec.name, description, options, contexts: [0, 1], integration_types: [0] }
  })
}

function choicesOf(values: readonly string[]): { name: string; value: string }[] {
  return values
    .filter((value) => value.length > 0 && value.length <= LIMITS.commandText)
    .slice(0, LIMITS.commandChoices)
    .map((value) => ({ name: value, value }))
}

/** A command with everything left out filled in, in one order, so that two can be compared. */
function normal(command: object): Body {
  const c = command as Record<string, unknown>
  const options = Array.isArray(c.options) ? (c.options as Record<string, unknown>[]) : []
  const numbers = (value: unknown, standard: number[]): number[] =>
    Array.isArray(value) ? (value as number[]).toSorted((a, b) => a - b) : standard
  return {
    name: String(c.name),
    description: String(c.description),
    type: 1,
    options: options.map((o) => ({
      type: Number(o.type),
      name: String(o.name),
      description: String(o.description),
      required: o.required === true,
      choices: Array.isArray(o.choices) ? (o.choices as { value: unknown }[]).map((x) => String(x.value)) : [],
    })),
    contexts: numbers(c.contexts, []),
    integration_types: numbers(c.integration_types, [0]),
  }
}

/** Writes the commands if those that are registered differ: Discord counts writes by the day. True where it wrote. */
export async function syncCommands(
  api: Api,
  application: string,
  specs: readonly CommandSpec[],
  log: Log,
): Promise<boolean> {
  if (specs.length > LIMITS.commands) log.warn({ commands: specs.length }, LOG.tooManyCommands)
  const wanted = commandBodies(specs)
  const path = `/applications/${application}/commands`
  const there = (await api.get(path)) as object[]
  const key = (list: object[]): string =>
    JSON.stringify(list.map(normal).toSorted((a, b) => (a.name < b.name ? -1 : 1)))
  if (key(there) === key(wanted)) return false
  await api.put(path, wanted)
  return true
}
