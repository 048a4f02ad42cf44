import { ApiError, apiError, Form } from './errors.ts'
import { asArray, asObject, asObjects, asString, isObject, type Json } from './json.ts'
import type { Upload } from './model.ts'
import { FLAG, limit } from './rules.ts'
import { checkComponents } from './validate-components.ts'

export interface BodyContext {
  /** Prefix of error paths: "data." in an interaction callback, "message." in a forum post. */
  prefix: string
  uploads: Upload[]
  /** Flags the message already has. */
  flags: number
  /** File names the message already has. */
  files: string[]
}

/** The shape of a message body, new or edited; whether it is empty is asked afterwards by `isEmpty`. */
export function checkMessageBody(body: Json, ctx: BodyContext): void {
  const form = new Form()
  const p = ctx.prefix
  const flags = typeof body.flags === 'number' ? body.flags : 0
  const v2 = ((flags | ctx.flags) & FLAG.componentsV2) !== 0
  if (body.content !== undefined && body.content !== null && typeof body.content !== 'string')
    form.fail(`${p}content`, 'STRING_TYPE_CONVERT', 'Could not interpret the value as string.')
  form.maxLength(`${p}content`, body.content, limit('contentLength'))
  if (v2 && (body.content || asArray(body.embeds).length || body.poll || asArray(body.sticker_ids).length))
    for (const name of ['content', 'embeds', 'poll', 'sticker_ids'] as const)
      if (body[name] && (!Array.isArray(body[name]) || body[name].length))
        form.fail(
          `${p}${name}`,
          'MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2',
          `The '${name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2`,
        )
  checkEmbeds(form, `${p}embeds`, body.embeds)
  checkAllowedMentions(form, `${p}allowed_mentions`, body.allowed_mentions)
  checkNonce(form, `${p}nonce`, body)
  checkFiles(form, p, body, ctx)
  const files = [...ctx.files, ...ctx.uploads.map((u) => u.filename)]
  checkComponents(form, `${p}components`, body.components, v2, files)
  form.throwIfFailed()
}

function checkEmbeds(form: Form, path: string, value: unknown): void {
  const embeds = asObjects(value)
  form.count(path, embeds, limit('embeds'))
  let total = 0
  embeds.forEach((e, i) => {
    const at = `${path}.${i}`
    const fields = asObjects(e.fields)
    const footer = asObject(e.footer).text
    const author = asObject(e.author).name
    form.maxLength(`${at}.title`, e.title, limit('embedTitle'))
    form.maxLength(`${at}.description`, e.description, limit('embedDescription'))
    form.maxLength(`${at}.footer.text`, footer, limit('embedFooter'))
    form.maxLength(`${at}.author.name`, author, limit('embedAuthor'))
    form.count(`${at}.fields`, fields, limit('embedFields'))
    fields.forEach((f, j) => {
      form.text(`${at}.fields.${j}.name`, f.name, limit('embedFieldName'))
      form.text(`${at}.fields.${j}.value`, f.value, limit('embedFieldValue'))
    })
    const parts = [e.title, e.description, footer, author, ...fields.flatMap((f) => [f.name, f.value])]
    total += parts.reduce((n: number, x) => n + [...asString(x)].length, 0)
    const hasMedia = Boolean(e.image ?? e.thumbnail ?? e.video ?? e.url)
    if (parts.every((x) => !x) && !hasMedia) form.required(`${at}.description`)
  })
  if (total > limit('embedTotal'))
    form.fail(path, 'MAX_EMBED_SIZE_EXCEEDED', `Embed size exceeds maximum size of ${limit('embedTotal')}`)
}

function checkAllowedMentions(form: Form, path: string, value: unknown): void {
  if (value === undefined || value === null) return
  const am = asObject(value)
  const parse = asArray(am.parse)
  parse.forEach((p, i) => {
    form.choice(`${path}.parse.${i}`, p, ['users', 'roles', 'everyone'])
  })
  for (const kind of ['users', 'roles'] as const) {
    const ids = asArray(am[kind])
    form.count(`${path}.${kind}`, ids, limit('mentionList'))
    if (parse.includes(kind) && ids.length > 0)
      form.fail(
        path,
        'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE',
        `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`,
      )
  }
}

function checkNonce(form: Form, path: string, body: Json): void {
  const nonce = body.nonce
  if (nonce === undefined || nonce === null) return
  if (typeof nonce !== 'string' && !Number.isInteger(nonce))
    form.fail(path, 'NONCE_TYPE_INVALID', 'Nonce must be a string or an integer.')
  else form.maxLength(path, nonce, limit('nonceLength'))
}

function checkFiles(form: Form, p: string, body: Json, ctx: BodyContext): void {
  const described = asArray(body.attachments)
  if (Math.max(described.length, ctx.uploads.length) > limit('attachments'))
    form.count(`${p}attachments`, Array(Math.max(described.length, ctx.uploads.length)), limit('attachments'))
  for (const u of ctx.uploads) if (u.bytes.length > limit('attachmentBytes')) throw apiError(40005)
  const indexes = ctx.uploads.map((u) => u.index)
  described.forEach((a, i) => {
    const id = isObject(a) ? String(a.id) : ''
    if (isObject(a)) form.maxLength(`${p}attachments.${i}.description`, a.description, limit('attachmentDescription'))
    // A snowflake names a file the message has already, a small number one of this request.
    if (id.length < 15 && !indexes.includes(id))
      form.fail(`${p}attachments.${i}`, 'ATTACHMENT_NOT_FOUND', 'The referenced attachment was not found')
  })
}

/** Nothing a person would see: Discord answers 50006. */
export function isEmpty(m: {
  content: string
  embeds: unknown[]
  components: unknown[]
  attachments: unknown[]
  flags: number
}): boolean {
  // Content is trimmed before it is judged. Legacy components alone do count as content (assumed).
  return !m.content.trim() && !m.embeds.length && !m.attachments.length && !m.components.length
}

/** Discord docs: Create Message, flags a sender may set; and which an edit may. */
export function checkFlags(body: Json, allowed: number, path = 'flags'): void {
  if (typeof body.flags === 'number' && body.flags & ~allowed) {
    const form = new Form()
    form.fail(path, 'MESSAGE_FLAGS_INVALID', 'The specified flags cannot be set.')
    form.throwIfFailed()
  }
}

export function badReference(path = 'message_reference'): ApiError {
  return new ApiError(400, {
    message: 'Invalid Form Body',
    code: 50035,
    errors: { [path]: { _errors: [{ code: 'REPLIES_UNKNOWN_MESSAGE', message: 'Unknown message' }] } },
  })
}
