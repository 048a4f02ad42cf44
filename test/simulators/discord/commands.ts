import { ApiError, apiError, Form } from './errors.ts'
import { asArray, asObjects, asString, copy, isObject, type Json } from './json.ts'
import { limit } from './rules.ts'
import type { World } from './world.ts'

const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u
const SUBCOMMAND = 1
const DAY = 86_400_000

/** The registered application commands, global ones under '' and those of a server under its id. */
export class Commands {
  readonly #sets = new Map<string, Json[]>()
  readonly #creates: { scope: string; at: number }[] = []
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  list(scope: string): Json[] {
    return this.#sets.get(scope) ?? []
  }

  /** The command a person finds in that server, or in a DM when there is none. */
  find(name: string, guildId: string | undefined): Json | undefined {
    const own = guildId ? this.list(guildId) : []
    const context = guildId ? 0 : 1
    return [...own, ...this.list('').filter((c) => !Array.isArray(c.contexts) || c.contexts.includes(context))].find(
      (c) => c.name === name,
    )
  }

  /** Overwrites all commands of the scope. */
  put(scope: string, body: unknown): Json[] {
    if (!Array.isArray(body))
      throw new ApiError(400, {
        message: 'Invalid Form Body',
        code: 50035,
        errors: { _errors: [{ code: 'LIST_TYPE_CONVERT', message: 'Only iterables may be used in a ListType' }] },
      })
    this.#check(body)
    const before = this.list(scope)
    const made = body.filter(isObject).map((c) =>
      this.#store(
        scope,
        c,
        before.find((b) => same(b, c)),
      ),
    )
    this.#sets.set(scope, made)
    return made
  }

  /** Creates one, or overwrites the one of that name. */
  post(scope: string, body: unknown): Json {
    this.#check([body])
    const command = isObject(body) ? body : {}
    const before = this.list(scope)
    const old = before.find((b) => same(b, command))
    const made = this.#store(scope, command, old)
    this.#sets.set(scope, [...before.filter((b) => b !== old), made])
    return made
  }

  delete(scope: string, id: string): void {
    const before = this.list(scope)
    if (!before.some((c) => c.id === id)) throw apiError(10063)
    this.#sets.set(
      scope,
      before.filter((c) => c.id !== id),
    )
  }

  #store(scope: string, c: Json, old: Json | undefined): Json {
    if (!old) {
      const now = this.#world.clock.now()
      const today = this.#creates.filter((x) => x.scope === scope && x.at > now - DAY)
      if (today.length >= limit('commandCreatesPerDay')) throw apiError(30034)
      this.#creates.push({ scope, at: now })
    }
    const id = old?.id ?? this.#world.id()
    return {
      description: '',
      default_member_permissions: null,
      nsfw: false,
      integration_types: [0],
      contexts: null,
      ...copy(c),
      id,
      type: c.type ?? 1,
      application_id: this.#world.bot.id,
      version: this.#world.id(),
      ...(scope ? { guild_id: scope } : { dm_permission: true }),
    }
  }

  #check(list: unknown[]): void {
    const form = new Form()
    const kinds = [1, 2, 3].map((t) => list.filter((c) => isObject(c) && (c.type ?? 1) === t).length)
    if ((kinds[0] ?? 0) > limit('commandsChatInput')) throw apiError(30032)
    if (Math.max(kinds[1] ?? 0, kinds[2] ?? 0) > limit('commandsContextMenu')) throw apiError(30032)
    const names = new Set<string>()
    list.forEach((c, i) => {
      if (!isObject(c)) {
        form.required(String(i))
        return
      }
      const key = `${c.type ?? 1} ${c.name}`
      if (names.has(key))
        form.fail(String(i), 'APPLICATION_COMMANDS_DUPLICATE_NAME', 'Application command names must be unique')
      names.add(key)
      checkCommand(form, String(i), c)
    })
    form.throwIfFailed()
  }
}

const same = (a: Json, b: Json): boolean => a.name === b.name && (a.type ?? 1) === (b.type ?? 1)

function checkCommand(form: Form, path: string, c: Json): void {
  const chatInput = (c.type ?? 1) === 1
  form.text(`${path}.name`, c.name, limit('commandName'))
  if (chatInput) {
    checkName(form, `${path}.name`, c.name)
    form.text(`${path}.description`, c.description, limit('commandDescription'))
  } else if (c.description)
    form.fail(
      `${path}.description`,
      'APPLICATION_COMMANDS_DESCRIPTION_INVALID',
      'Context menu commands cannot have description',
    )
  checkOptions(form, path, c)
  const total = size(c)
  if (total > limit('commandTotal'))
    form.fail(path, 'APPLICATION_COMMAND_TOO_LARGE', `Command exceeds maximum size (${limit('commandTotal')})`)
}

function checkName(form: Form, path: string, name: unknown): void {
  const text = asString(name)
  if (!NAME.test(text) || text.toLowerCase() !== text)
    form.fail(path, 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid')
}

function checkOptions(form: Form, path: string, owner: Json): void {
  const options = asObjects(owner.options)
  form.count(`${path}.options`, options, limit('commandOptions'))
  let optional = false
  const names = new Set<unknown>()
  options.forEach((o, i) => {
    const at = `${path}.options.${i}`
    checkName(form, `${at}.name`, o.name)
    form.text(`${at}.description`, o.description, limit('commandDescription'))
    form.choice(`${at}.type`, o.type, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    if (names.has(o.name))
      form.fail(`${at}.name`, 'APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS', 'Option name already exists')
    names.add(o.name)
    if (o.required && optional)
      form.fail(
        at,
        'APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
        'Required options must be placed before non-required options',
      )
    if (!o.required) optional = true
    const choices = asObjects(o.choices)
    form.count(`${at}.choices`, choices, limit('commandChoices'))
    choices.forEach((ch, j) => {
      form.text(`${at}.choices.${j}.name`, ch.name, limit('selectOptionText'))
      form.maxLength(`${at}.choices.${j}.value`, ch.value, limit('selectOptionText'))
    })
    if (o.autocomplete && choices.length)
      form.fail(
        `${at}.autocomplete`,
        'APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID',
        'autocomplete and choices exclude each other',
      )
    if (o.type === SUBCOMMAND || o.type === SUBCOMMAND + 1) checkOptions(form, at, o)
  })
}

function size(c: Json): number {
  const own = asString(c.name).length + asString(c.description).length + asString(c.value).length
  return (
    own + [...asArray(c.options), ...asArray(c.choices)].reduce((n: number, o) => n + (isObject(o) ? size(o) : 0), 0)
  )
}
