import { asObject, isObject, type Json } from './json.ts'
import type { LoggedRequest, SpecViolation } from './model.ts'

/** What this file uses of a zod schema. */
interface Schema {
  safeParse(value: unknown): {
    success: boolean
    data?: unknown
    error?: { issues: { path: PropertyKey[]; message: string }[] }
  }
}

/**
 * The request body of each operation by its name in Discord's OpenAPI description; several names are alternatives.
 * The package gives paths as data and bodies as schemas, and the link between them only as types: hence the table.
 */
const BODIES: Record<string, { schemas: string[]; list?: boolean }> = {
  'post /channels/{channel_id}/messages': { schemas: ['MessageCreateRequest'] },
  'patch /channels/{channel_id}/messages/{message_id}': { schemas: ['MessageEditRequestPartial'] },
  'post /channels/{channel_id}/messages/{message_id}/threads': { schemas: ['CreateTextThreadWithMessageRequest'] },
  'post /channels/{channel_id}/threads': {
    schemas: ['CreateForumThreadRequest', 'CreateTextThreadWithoutMessageRequest'],
  },
  'patch /channels/{channel_id}': {
    schemas: [
      'UpdateThreadRequestPartial',
      'UpdateGuildChannelRequestPartial',
      'UpdateDMRequestPartial',
      'UpdateGroupDMRequestPartial',
    ],
  },
  'put /applications/{application_id}/commands': { schemas: ['ApplicationCommandUpdateRequest'], list: true },
  'put /applications/{application_id}/guilds/{guild_id}/commands': {
    schemas: ['ApplicationCommandUpdateRequest'],
    list: true,
  },
  'post /applications/{application_id}/commands': { schemas: ['ApplicationCommandCreateRequest'] },
  'post /applications/{application_id}/guilds/{guild_id}/commands': { schemas: ['ApplicationCommandCreateRequest'] },
  'post /users/@me/channels': { schemas: ['CreatePrivateChannelRequest'] },
  'post /interactions/{interaction_id}/{interaction_token}/callback': {
    schemas: [
      'PongInteractionCallbackRequest',
      'CreateMessageInteractionCallbackRequest',
      'UpdateMessageInteractionCallbackRequest',
      'ApplicationCommandAutocompleteCallbackRequest',
      'ModalInteractionCallbackRequest',
      'LaunchActivityInteractionCallbackRequest',
      'SocialLayerSKUPurchaseEligibilityInteractionCallbackRequest',
    ],
  },
  'post /webhooks/{webhook_id}/{webhook_token}': {
    schemas: ['IncomingWebhookRequestPartial', 'IncomingWebhookUpdateRequestPartial'],
  },
  'patch /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}': {
    schemas: ['IncomingWebhookUpdateRequestPartial'],
  },
  'patch /webhooks/{webhook_id}/{webhook_token}/messages/@original': {
    schemas: ['IncomingWebhookUpdateRequestPartial'],
  },
}

/** Where the description itself lags behind what Discord documents. `match` is tested against "operation: problem". */
const KNOWN_GAPS: { match: RegExp; reason: string }[] = [
  {
    match: /^post .*\/messages\/\{message_id\}\/threads: unknown field type$/,
    reason: 'discord.js always sends a type here; Discord takes it from the channel',
  },
  {
    match: /^(post|patch) .*: unknown field (data\.|message\.)?attachments\.\d+\.[A-Za-z_]+$/,
    reason: 'discord.js repeats a kept attachment with all its own fields; Discord reads the id',
  },
  {
    match:
      /^patch .*: unknown field (flags|message_reference|nonce|enforce_nonce|tts|sticker_ids|poll|thread_name|username|avatar_url)$/,
    reason: 'fields of Create Message that clients send empty with an edit; Discord ignores them',
  },
]

/** Checks requests against Discord's OpenAPI description (package discord-api-spec). */
export class SpecCheck {
  readonly violations: SpecViolation[] = []
  #schemas: Record<string, Schema> = {}
  #paths: Record<string, { template: string; pattern: RegExp }[]> = {}

  static async load(): Promise<SpecCheck> {
    const check = new SpecCheck()
    // By name, because the package's types for this entry are its source.
    const zodEntry: string = 'discord-api-spec/zod'
    check.#schemas = (await import(zodEntry)) as Record<string, Schema>
    const mainEntry: string = 'discord-api-spec'
    const { pathsList } = (await import(mainEntry)) as { pathsList: Record<string, string[]> }
    for (const [method, templates] of Object.entries(pathsList))
      check.#paths[method] = templates
        .map((template) => ({ template, pattern: new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`) }))
        .sort((a, b) => a.template.split('{').length - b.template.split('{').length)
    return check
  }

  request(r: LoggedRequest): void {
    const problems = this.#problems(r)
    if (problems.length) this.violations.push({ method: r.method, path: r.path, problems })
  }

  /** The faults of `value` as the named schema of the description, unknown fields included. */
  against(schema: string, value: unknown): string[] {
    const found = this.#schemas[`${schema}Schema`]
    if (!found) return [`no schema ${schema}`]
    const result = found.safeParse(value)
    if (!result.success) return (result.error?.issues ?? []).map((i) => `${i.path.join('.') || 'body'}: ${i.message}`)
    return unknownFields(value, result.data, '').map((path) => `unknown field ${path}`)
  }

  #problems(r: LoggedRequest): string[] {
    const method = r.method.toLowerCase()
    const path = decodeURIComponent(r.path)
    const found = this.#paths[method]?.find((p) => p.pattern.test(path) || p.pattern.test(r.path))
    if (!found) return ['no such operation']
    const operation = `${method} ${found.template}`
    const expected = BODIES[operation]
    if (!expected) return isObject(r.body) && Object.keys(r.body).length ? ['no body is described'] : []
    const all = expected.list ? (Array.isArray(r.body) ? r.body : undefined) : [r.body]
    if (!all) return ['body: an array is expected']
    return all
      .flatMap((body) => this.#best(expected.schemas, body))
      .filter((p) => !KNOWN_GAPS.some((gap) => gap.match.test(`${operation}: ${p}`)))
  }

  /** The least faults over the alternatives. */
  #best(schemas: string[], body: unknown): string[] {
    let best: string[] | undefined
    for (const schema of schemas) {
      const problems = this.against(schema, body)
      if (!best || weight(problems) < weight(best)) best = problems
      if (!best.length) break
    }
    return best ?? []
  }
}

/** An alternative of another `type` is further off than any fault inside the right one. */
const weight = (problems: string[]): number =>
  problems.length + (problems.some((p) => p.startsWith('type:')) ? 1000 : 0)

/** Paths of fields that the schema dropped, which is what it does with those it does not know; false and null say nothing. */
function unknownFields(given: unknown, kept: unknown, path: string): string[] {
  if (Array.isArray(given))
    return given.flatMap((v, i) => unknownFields(v, Array.isArray(kept) ? kept[i] : undefined, `${path}${i}.`))
  if (!isObject(given)) return []
  const known: Json = asObject(kept)
  return Object.entries(given).flatMap(([key, value]) => {
    if (value === undefined) return []
    if (!(key in known) && (value === null || value === false)) return []
    return key in known ? unknownFields(value, known[key], `${path}${key}.`) : [`${path}${key}`]
  })
}
