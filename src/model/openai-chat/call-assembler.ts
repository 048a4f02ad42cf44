import { newId } from '../../util/ids.ts'
import type { ToolCall } from '../message.ts'

/** One piece of a call as servers send it; any field may be missing, also where the API says it must not. */
export interface CallDelta {
  readonly index?: number | undefined
  readonly id?: string | null | undefined
  readonly function?: { readonly name?: string | null | undefined; readonly arguments?: unknown } | undefined
}

interface Slot {
  readonly index: number | undefined
  id: string
  name: string
  text: string
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
  }

  /** In the order in which they began. Calls without an id get one; pieces without any name are left out. */
  calls(): readonly ToolCall[] {
    return this.#slots
      .filter((s) => s.name.trim() !== '')
      .map((s) => ({ id: s.id || `call_${newId()}`, name: s.name, arguments: s.text }))
  }

  #slotFor({ index, id, function: fn }: CallDelta): Slot {
    const known = this.#find(index, id)
    const another = known && ((id && known.id && id !== known.id) || (!id && startsAnew(known, fn?.name, index)))
    if (known && !another) return known
    const slot = { index, id: '', name: '', text: '' }
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

/** Without an index and an id only a name after complete arguments tells that another call begins. */
function startsAnew(slot: Slot, name: string | null | undefined, index: number | undefined): boolean {
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
