import type { Form } from './errors.ts'
import { asArray, asObjects, asString, isObject, type Json } from './json.ts'
import { limit } from './rules.ts'
import { flatComponents } from './world.ts'

/** Discord docs: Components, Component Types. */
export const COMPONENT = {
  row: 1,
  button: 2,
  stringSelect: 3,
  textInput: 4,
  userSelect: 5,
  roleSelect: 6,
  mentionableSelect: 7,
  channelSelect: 8,
  section: 9,
  text: 10,
  thumbnail: 11,
  gallery: 12,
  file: 13,
  separator: 14,
  container: 17,
  label: 18,
  fileUpload: 19,
  radio: 21,
  checkboxes: 22,
  checkbox: 23,
} as const

const SELECTS: unknown[] = [3, 5, 6, 7, 8]
const V2_TOP: unknown[] = [1, 9, 10, 12, 13, 14, 17]
const IN_CONTAINER: unknown[] = [1, 9, 10, 12, 13, 14]
const LINK_STYLE = 5
const PREMIUM_STYLE = 6

/** The components of a message, by the rules of its kind. `files` are the names an attachment:// may refer to. */
export function checkComponents(form: Form, path: string, value: unknown, v2: boolean, files: string[]): void {
  if (value === undefined || value === null) return
  const list = asArray(value)
  const flat = flatComponents(list)
  uniqueIds(form, path, flat)
  if (!v2) {
    form.count(path, list, limit('actionRows'))
    list.forEach((c, i) => {
      if (!isObject(c) || c.type !== COMPONENT.row) form.choice(`${path}.${i}.type`, isObject(c) && c.type, [1])
      else checkRow(form, `${path}.${i}`, c)
    })
    return
  }
  if (flat.length > limit('v2Components'))
    form.fail(
      path,
      'COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED',
      `Total number of components exceeds ${limit('v2Components')}`,
    )
  const text = flat.reduce((n, c) => n + (c.type === COMPONENT.text ? [...asString(c.content)].length : 0), 0)
  if (text > limit('v2Text'))
    form.fail(
      path,
      'COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED',
      `Total displayable text size exceeds ${limit('v2Text')}`,
    )
  list.forEach((c, i) => {
    checkV2(form, `${path}.${i}`, c, V2_TOP, files)
  })
}

function uniqueIds(form: Form, path: string, flat: Json[]): void {
  const seen = new Set<unknown>()
  for (const c of flat) {
    if (typeof c.custom_id !== 'string') continue
    if (seen.has(c.custom_id))
      form.fail(path, 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
    seen.add(c.custom_id)
  }
}

function checkRow(form: Form, path: string, row: Json): void {
  const inner = asObjects(row.components)
  form.count(`${path}.components`, inner, limit('buttonsPerRow'), 1)
  const selects = inner.filter((c) => SELECTS.includes(c.type))
  if (selects.length > 0 && inner.length > 1)
    form.fail(
      `${path}.components`,
      'COMPONENT_LAYOUT_WIDTH_EXCEEDED',
      'The specified component exceeds the maximum width',
    )
  inner.forEach((c, i) => {
    const at = `${path}.components.${i}`
    if (c.type === COMPONENT.button) checkButton(form, at, c)
    else if (SELECTS.includes(c.type)) checkSelect(form, at, c)
    else form.choice(`${at}.type`, c.type, [2, 3, 5, 6, 7, 8])
  })
}

function checkButton(form: Form, path: string, b: Json): void {
  form.choice(`${path}.style`, b.style, [1, 2, 3, 4, 5, 6])
  form.maxLength(`${path}.label`, b.label, limit('buttonLabel'))
  if (b.style === PREMIUM_STYLE) return
  if (!b.label && !b.emoji) form.fail(path, 'BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED', 'A label or emoji is required')
  if (b.style === LINK_STYLE) {
    form.text(`${path}.url`, b.url, limit('buttonUrl'))
    if (b.custom_id)
      form.fail(
        `${path}.custom_id`,
        'BUTTON_COMPONENT_CUSTOM_ID_AND_URL',
        'A custom id and url cannot both be specified',
      )
  } else {
    form.text(`${path}.custom_id`, b.custom_id, limit('customId'))
    if (b.url)
      form.fail(`${path}.url`, 'BUTTON_COMPONENT_CUSTOM_ID_AND_URL', 'A custom id and url cannot both be specified')
  }
}

function checkSelect(form: Form, path: string, s: Json): void {
  form.text(`${path}.custom_id`, s.custom_id, limit('customId'))
  form.maxLength(`${path}.placeholder`, s.placeholder, limit('selectPlaceholder'))
  if (s.type === COMPONENT.stringSelect) checkOptions(form, path, s, 1, limit('selectOptions'))
}

function checkOptions(form: Form, path: string, c: Json, min: number, max: number): void {
  const options = asObjects(c.options)
  form.count(`${path}.options`, options, max, min)
  const values = new Set<unknown>()
  options.forEach((o, i) => {
    const at = `${path}.options.${i}`
    form.text(`${at}.label`, o.label, limit('selectOptionText'))
    form.text(`${at}.value`, o.value, limit('selectOptionText'))
    form.maxLength(`${at}.description`, o.description, limit('selectOptionText'))
    if (values.has(o.value))
      form.fail(`${at}.value`, 'SELECT_COMPONENT_OPTION_VALUE_DUPLICATED', 'The specified option value is already used')
    values.add(o.value)
  })
}

function checkV2(form: Form, path: string, c: unknown, allowed: unknown[], files: string[]): void {
  if (!isObject(c)) form.required(path)
  else if (!allowed.includes(c.type)) form.choice(`${path}.type`, c.type, allowed)
  else checkKnownV2(form, path, c, files)
}

function checkKnownV2(form: Form, path: string, c: Json, files: string[]): void {
  if (c.type === COMPONENT.row) checkRow(form, path, c)
  if (c.type === COMPONENT.text) form.text(`${path}.content`, c.content, limit('v2Text'))
  if (c.type === COMPONENT.file) checkMedia(form, `${path}.file`, c.file, files)
  if (c.type === COMPONENT.gallery) {
    const items = asObjects(c.items)
    form.count(`${path}.items`, items, 10, 1)
    items.forEach((it, i) => {
      checkMedia(form, `${path}.items.${i}.media`, it.media, files)
    })
  }
  if (c.type === COMPONENT.section) {
    form.count(`${path}.components`, asArray(c.components), 3, 1)
    asArray(c.components).forEach((x, i) => {
      checkV2(form, `${path}.components.${i}`, x, [COMPONENT.text], files)
    })
    if (!isObject(c.accessory)) form.required(`${path}.accessory`)
    else if (c.accessory.type === COMPONENT.button) checkButton(form, `${path}.accessory`, c.accessory)
    else form.choice(`${path}.accessory.type`, c.accessory.type, [COMPONENT.button, COMPONENT.thumbnail])
  }
  if (c.type === COMPONENT.container) {
    if (asArray(c.components).length === 0) form.required(`${path}.components`)
    asArray(c.components).forEach((x, i) => {
      checkV2(form, `${path}.components.${i}`, x, IN_CONTAINER, files)
    })
  }
}

function checkMedia(form: Form, path: string, media: unknown, files: string[]): void {
  const url = isObject(media) ? asString(media.url) : ''
  const name = /^attachment:\/\/(.*)$/s.exec(url)?.[1]
  if (!url) form.required(`${path}.url`)
  else if (name !== undefined && !files.includes(name))
    form.fail(`${path}.url`, 'ATTACHMENT_NOT_FOUND', `The referenced attachment ${name} was not found`)
}

/** Discord docs: Interactions, Modal; Components, Label. */
export function checkModal(form: Form, data: Json): void {
  form.text('data.custom_id', data.custom_id, limit('customId'))
  form.text('data.title', data.title, limit('modalTitle'))
  const list = asArray(data.components)
  form.count('data.components', list, limit('modalComponents'), 1)
  uniqueIds(form, 'data.components', flatComponents(list))
  for (const [i, c] of list.entries()) {
    const path = `data.components.${i}`
    if (!isObject(c)) form.required(path)
    else if (c.type === COMPONENT.label) checkLabel(form, path, c)
    else if (c.type === COMPONENT.text) form.text(`${path}.content`, c.content, limit('v2Text'))
    else if (c.type === COMPONENT.row) checkInputRow(form, path, c)
    else form.choice(`${path}.type`, c.type, [1, 10, 18])
  }
}

/** The deprecated form of a modal field: a text input, with its label, in an action row. */
function checkInputRow(form: Form, path: string, row: Json): void {
  const inner = asObjects(row.components)
  form.count(`${path}.components`, inner, 1, 1)
  for (const [j, x] of inner.entries()) {
    const at = `${path}.components.${j}`
    form.choice(`${at}.type`, x.type, [COMPONENT.textInput])
    form.text(`${at}.label`, x.label, limit('labelText'))
    checkInput(form, at, x)
  }
}

function checkLabel(form: Form, path: string, label: Json): void {
  form.text(`${path}.label`, label.label, limit('labelText'))
  if (label.description !== undefined && label.description !== null)
    form.text(`${path}.description`, label.description, limit('labelDescription'))
  const c = label.component
  const at = `${path}.component`
  if (!isObject(c)) form.required(at)
  else {
    form.choice(`${at}.type`, c.type, [3, 4, 5, 6, 7, 8, 19, 21, 22, 23])
    if (c.disabled) form.fail(`${at}.disabled`, 'BASE_TYPE_INVALID', 'Components in modals cannot be disabled')
    checkField(form, at, c)
  }
}

function checkField(form: Form, at: string, c: Json): void {
  if (c.type === COMPONENT.textInput) {
    if (c.label) form.fail(`${at}.label`, 'BASE_TYPE_INVALID', 'label is not allowed on a text input inside a label')
    checkInput(form, at, c)
  } else if (SELECTS.includes(c.type)) checkSelect(form, at, c)
  else {
    form.text(`${at}.custom_id`, c.custom_id, limit('customId'))
    if (c.type === COMPONENT.radio) checkOptions(form, at, c, limit('radioOptionsMin'), limit('radioOptionsMax'))
    if (c.type === COMPONENT.checkboxes) checkOptions(form, at, c, 1, limit('radioOptionsMax'))
  }
}

function checkInput(form: Form, path: string, c: Json): void {
  form.text(`${path}.custom_id`, c.custom_id, limit('customId'))
  form.choice(`${path}.style`, c.style, [1, 2])
  form.maxLength(`${path}.value`, c.value, limit('inputValue'))
  form.maxLength(`${path}.placeholder`, c.placeholder, limit('inputPlaceholder'))
  for (const [name, min] of [
    ['min_length', 0],
    ['max_length', 1],
  ] as const) {
    const n = c[name]
    if (n !== undefined && n !== null && (typeof n !== 'number' || n < min || n > limit('inputValue')))
      form.fail(`${path}.${name}`, 'NUMBER_TYPE_MAX', `int value should be between ${min} and ${limit('inputValue')}.`)
  }
}
