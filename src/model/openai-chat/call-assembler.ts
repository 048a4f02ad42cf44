import { newId } from '../../util/ids.ts'
import type { ToolCall } from '../message.ts'

/** One piece of a call as servers send it; any field may be missing, even where the API says it must not. */
export interface CallDelta {
  readonly index?: number | undefined
  readonly id?: string | null | undefined
  readonly function?: { readonly name?: string | null | undefined; readonly arguments?: unknown } | undefined
  /** Gemini's compatible endpoint: signatures that it wants back with the call. */
  readonly extra_content?: unknown
}

export interface AssembledCall {
  readonly call: ToolCall
  readonly extraContent: unknown
}

interface Slot {
  readonly index: number | undefined
  id: string
  name: string
  text: string
  extraContent: unknown
}

/** Puts calls together from their pieces: by index, but a new id at a used index, or a new name after whole arguments, is a new call. */
export class CallAssembler {
  readonly #slots: Slot[] = []

  add(delta: CallDelta): void {
    const slot = this.#slotFor(delta)
    if (delta.id) slot.id = delta.id
    const name = delta.function?.name ?? ''
    if (name && name !== slot.name) slot.name = slot.text === '' ? slot.name + name : slot.name || name
    slot.text += textOf(delta.function?.arguments)
    slot.extraContent = delta.extra_content ?? slot.extraContent
  }

  /** In the order in which they started. Calls without an id get one; those without a name are left out. */
  calls(): readonly AssembledCall[] {
    return this.#slots
      .filter((s) => s.name.trim() !== '')
      .map((s) => ({
        call: { id: s.id || `call_${newId()}`, name: s.name, arguments: s.text },
        extraContent: s.extraContent,
      }))
  }

  #slotFor({ index, id, function: fn }: CallDelta): Slot {
    const known = this.#find(index, id)
    const another = known && ((id && known.id && id !== known.id) || (!id && startsAnother(known, fn?.name, index)))
    if (known && !another) return known
    const slot = { index, id: '', name: '', text: '', extraContent: undefined }
    this.#slots.push(slot)
    return slot
  }

  #find(index: number | undefined, id: string | null | undefined): Slot | undefined {
    if (id) {
      const same = this.#slots.findLast((s) => s.id === id)
      if (same) return same
      if (index === undefined) return undefined
    }
    return index === undefined ? this.#slots.at(-1) : this.#slots.findLast((s) => s.index === index)
  }
}

/** Without an index and an id, only a name after complete arguments shows that another call starts. */
function startsAnother(slot: Slot, name: string | null | undefined, index: number | undefined): boolean {
  if (!name || index !== undefined || slot.text === '') return false
  try {
    JSON.parse(slot.text)
    return true
  } catch {
    return false
  }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
