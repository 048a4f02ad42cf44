import type { RuleValues } from './rules.ts'
import { isJson, type Json } from './world.ts'

const KNOWN = [
  'section',
  'divider',
  'image',
  'actions',
  'context',
  'input',
  'header',
  'rich_text',
  'video',
  'markdown',
  'table',
  'file',
  'context_actions',
  'data_table',
  'card',
  'carousel',
  'container',
  'alert',
  'plan',
  'task_card',
]
const ELEMENTS =
  /^(button|overflow|datepicker|datetimepicker|timepicker|checkboxes|radio_buttons|workflow_button|feedback_buttons|icon_button|(multi_)?(static|external|users|conversations|channels)_select|plain_text_input|number_input|email_text_input|url_text_input|rich_text_input|file_input)$/

class Checker {
  readonly faults: string[] = []
  readonly rules: RuleValues
  readonly actionIds = new Set<string>()

  constructor(rules: RuleValues) {
    this.rules = rules
  }

  fault(message: string, at: string): void {
    this.faults.push(`[ERROR] ${message} [json-pointer:${at}]`)
  }

  length(value: unknown, most: number, at: string, least = 1): void {
    if (typeof value !== 'string') {
      this.fault('must be a string', at)
      return
    }
    if (value.length > most) this.fault(`must be less than ${most + 1} characters`, at)
    if (value.length < least) this.fault(`must be more than ${least - 1} characters`, at)
  }

  text(value: unknown, most: number, at: string, plainOnly: boolean): void {
    if (!isJson(value)) {
      this.fault('missing required field: text', at)
      return
    }
    if (value.type !== 'plain_text' && (plainOnly || value.type !== 'mrkdwn'))
      this.fault(`unsupported type: ${value.type}`, `${at}/type`)
    this.length(value.text, most, `${at}/text`)
  }

  options(value: unknown, most: number, at: string): void {
    if (!Array.isArray(value) || value.length === 0) {
      this.fault('must provide at least one option', at)
      return
    }
    if (value.length > most) this.fault(`no more than ${most} items allowed`, at)
    for (const [i, option] of value.entries()) {
      if (!isJson(option)) this.fault('must be an object', `${at}/${i}`)
      else {
        this.text(option.text, this.rules.optionText, `${at}/${i}/text`, false)
        this.length(option.value, this.rules.optionValue, `${at}/${i}/value`)
      }
    }
  }

  element(element: unknown, at: string): void {
    if (!isJson(element) || !ELEMENTS.test(String(element.type))) {
      this.fault(`unsupported type: ${isJson(element) ? element.type : typeof element}`, at)
      return
    }
    const r = this.rules
    if (element.action_id !== undefined) {
      this.length(element.action_id, r.actionId, `${at}/action_id`)
      if (this.actionIds.has(String(element.action_id)))
        this.fault('`action_id` already exists in the block', `${at}/action_id`)
      this.actionIds.add(String(element.action_id))
    }
    if (element.type === 'button') {
      this.text(element.text, r.buttonText, `${at}/text`, true)
      if (element.value !== undefined) this.length(element.value, r.buttonValue, `${at}/value`, 0)
      if (element.url !== undefined) this.length(element.url, r.buttonUrl, `${at}/url`)
      if (element.style !== undefined && !['primary', 'danger'].includes(String(element.style)))
        this.fault('invalid style', `${at}/style`)
      if (element.confirm !== undefined) this.confirm(element.confirm, `${at}/confirm`)
    }
    if (element.placeholder !== undefined) this.text(element.placeholder, r.placeholder, `${at}/placeholder`, true)
    if (/static_select$/.test(String(element.type)) && element.option_groups === undefined)
      this.options(element.options, r.options, `${at}/options`)
    if (element.type === 'radio_buttons' || element.type === 'checkboxes')
      this.options(element.options, r.fewOptions, `${at}/options`)
    if (element.type === 'plain_text_input' && Number(element.max_length ?? 1) > r.inputMax)
      this.fault(`must be less than ${r.inputMax + 1}`, `${at}/max_length`)
  }

  confirm(value: unknown, at: string): void {
    if (!isJson(value)) {
      this.fault('must be an object', at)
      return
    }
    this.text(value.title, 100, `${at}/title`, true)
    this.text(value.text, 300, `${at}/text`, false)
    this.text(value.confirm, 30, `${at}/confirm`, true)
    this.text(value.deny, 30, `${at}/deny`, true)
  }

  elements(value: unknown, most: number, at: string): void {
    if (!Array.isArray(value) || value.length === 0) {
      this.fault('must provide at least one element', at)
      return
    }
    if (value.length > most) this.fault(`no more than ${most} items allowed`, at)
    this.actionIds.clear()
    for (const [i, element] of value.entries()) this.element(element, `${at}/${i}`)
  }

  section(block: Json, at: string): void {
    const r = this.rules
    if (block.text === undefined && block.fields === undefined) this.fault('missing required field: text', at)
    if (block.text !== undefined) this.text(block.text, r.sectionText, `${at}/text`, false)
    if (block.fields !== undefined) {
      const fields: unknown[] = Array.isArray(block.fields) ? block.fields : []
      if (fields.length === 0) this.fault('must provide at least one field', `${at}/fields`)
      if (fields.length > r.sectionFields) this.fault(`no more than ${r.sectionFields} items allowed`, `${at}/fields`)
      for (const [i, field] of fields.entries()) this.text(field, r.fieldText, `${at}/fields/${i}`, false)
    }
    this.actionIds.clear()
    if (block.accessory !== undefined && !(isJson(block.accessory) && block.accessory.type === 'image'))
      this.element(block.accessory, `${at}/accessory`)
  }

  context(block: Json, at: string): void {
    const elements: unknown[] = Array.isArray(block.elements) ? block.elements : []
    if (elements.length === 0) this.fault('must provide at least one element', `${at}/elements`)
    if (elements.length > this.rules.contextElements)
      this.fault(`no more than ${this.rules.contextElements} items allowed`, `${at}/elements`)
    for (const [i, element] of elements.entries())
      if (!(isJson(element) && element.type === 'image'))
        this.text(element, this.rules.sectionText, `${at}/elements/${i}`, false)
  }

  table(block: Json, at: string): void {
    const rows: unknown[] = Array.isArray(block.rows) ? block.rows : []
    if (rows.length === 0) this.fault('must provide at least one row', `${at}/rows`)
    if (rows.length > this.rules.tableRows)
      this.fault(`no more than ${this.rules.tableRows} items allowed`, `${at}/rows`)
    for (const [i, row] of rows.entries()) {
      const cells: unknown[] = Array.isArray(row) ? row : []
      if (cells.length === 0) this.fault('must provide at least one cell', `${at}/rows/${i}`)
      if (cells.length > this.rules.tableColumns)
        this.fault(`no more than ${this.rules.tableColumns} items allowed`, `${at}/rows/${i}`)
      for (const [k, cell] of cells.entries()) {
        const where = `${at}/rows/${i}/${k}`
        if (!isJson(cell) || !['raw_text', 'rich_text'].includes(String(cell.type)))
          this.fault('unsupported cell type', where)
        else if (cell.type === 'raw_text') this.length(cell.text, Number.POSITIVE_INFINITY, `${where}/text`)
      }
    }
  }

  block(block: unknown, at: string, surface: 'message' | 'modal' | 'home'): void {
    if (!isJson(block) || !KNOWN.includes(String(block.type))) {
      this.fault(`unsupported type: ${isJson(block) ? block.type : typeof block}`, `${at}/type`)
      return
    }
    if (block.block_id !== undefined) this.length(block.block_id, this.rules.blockId, `${at}/block_id`)
    if (surface !== 'message' && ['markdown', 'table'].includes(String(block.type)))
      this.fault(`unsupported type in a view: ${block.type}`, `${at}/type`)
    if (block.type === 'section') this.section(block, at)
    else if (block.type === 'header') this.text(block.text, this.rules.headerText, `${at}/text`, true)
    else if (block.type === 'context') this.context(block, at)
    else if (block.type === 'actions') this.elements(block.elements, this.rules.actionsElements, `${at}/elements`)
    else if (block.type === 'markdown') this.length(block.text, this.rules.markdownBlocks, `${at}/text`)
    else if (block.type === 'table') this.table(block, at)
    else if (block.type === 'image') this.length(block.alt_text, this.rules.imageAlt, `${at}/alt_text`)
    else if (block.type === 'input') {
      this.text(block.label, this.rules.labelText, `${at}/label`, true)
      this.actionIds.clear()
      this.element(block.element, `${at}/element`)
    } else if (block.type === 'rich_text' && !Array.isArray(block.elements))
      this.fault('missing required field: elements', at)
  }
}

/** What Slack would say against the blocks, as in response_metadata.messages. */
export function blockFaults(
  blocks: unknown,
  rules: RuleValues,
  surface: 'message' | 'modal' | 'home' = 'message',
): string[] {
  const checker = new Checker(rules)
  if (!Array.isArray(blocks)) return ['[ERROR] must be an array [json-pointer:/blocks]']
  const most = surface === 'message' ? rules.messageBlocks : rules.viewBlocks
  if (blocks.length > most) checker.fault(`no more than ${most} items allowed`, '/blocks')
  for (const [i, block] of blocks.entries()) checker.block(block, `/blocks/${i}`, surface)
  const ids = blocks.flatMap((block) => (isJson(block) && block.block_id !== undefined ? [block.block_id] : []))
  if (new Set(ids).size !== ids.length) checker.fault('`block_id` already exists', '/blocks')
  const typed = (type: string): Json[] => blocks.filter((block): block is Json => isJson(block) && block.type === type)
  if (typed('table').length > rules.tablesPerMessage) checker.fault('only_one_table_allowed', '/blocks')
  const markdown = typed('markdown').reduce((sum, block) => sum + String(block.text ?? '').length, 0)
  if (typed('markdown').length > 1 && markdown > rules.markdownBlocks)
    checker.fault(`markdown blocks must be less than ${rules.markdownBlocks + 1} characters in all`, '/blocks')
  return checker.faults
}

/** The same for a whole view. */
export function viewFaults(view: Json, rules: RuleValues, type: 'modal' | 'home'): string[] {
  const checker = new Checker(rules)
  if (view.type !== type) checker.fault(`unsupported type: ${view.type}`, '/view/type')
  if (type === 'modal') checker.text(view.title, rules.modalTitle, '/view/title', true)
  if (view.submit !== undefined) checker.text(view.submit, rules.modalTitle, '/view/submit', true)
  if (view.close !== undefined) checker.text(view.close, rules.modalTitle, '/view/close', true)
  if (view.callback_id !== undefined) checker.length(view.callback_id, rules.callbackId, '/view/callback_id')
  if (view.private_metadata !== undefined)
    checker.length(view.private_metadata, rules.privateMetadata, '/view/private_metadata', 0)
  if (JSON.stringify(view).length > rules.viewBytes) checker.fault('view is too large', '/view')
  const blocks: unknown[] = Array.isArray(view.blocks) ? view.blocks : []
  if (type === 'modal' && !view.submit && blocks.some((block) => isJson(block) && block.type === 'input'))
    checker.fault('missing required field: submit', '/view/submit')
  return [...checker.faults, ...blockFaults(view.blocks, rules, type)]
}

/** Gives ids to blocks without one, as Slack does. */
export function withIds(blocks: Json[]): Json[] {
  return blocks.map((block, i) => ({ ...block, block_id: block.block_id ?? `b${i}x` }))
}
