import { BUTTONS, LINK_FORM, NOTE_FORM } from '../../src/copy/cards.ts'
import type { Json } from './json.ts'
import { LIMITS } from './limits.ts'

export const CALLBACK = { note: 'ts:note', link: 'ts:link' } as const
export const FIELD = { choice: 'choice', note: 'note', token: 'token' } as const

function plain(text: string): Json {
  return { type: 'plain_text', text }
}

function input(id: string, label: string, element: Json): Json {
  return { type: 'input', block_id: id, label: plain(label), element: { ...element, action_id: id } }
}

function modal(callback: string, title: string, metadata: Json, blocks: Json[]): Json {
  return {
    type: 'modal',
    callback_id: callback,
    title: plain(title),
    submit: plain(NOTE_FORM.send),
    close: plain(NOTE_FORM.cancel),
    private_metadata: JSON.stringify(metadata).slice(0, LIMITS.privateMetadata),
    blocks,
  }
}

/** A decision with a note: a required choice, and a text. `where` is where the answer to the person goes. */
export function noteModal(approval: string, where: { channel: string; thread?: string }): Json {
  const option = (value: string, text: string): Json => ({ value, text: plain(text) })
  return modal(CALLBACK.note, NOTE_FORM.title, { approval, ...where }, [
    input(FIELD.choice, NOTE_FORM.decision, {
      type: 'radio_buttons',
      options: [option('approve', BUTTONS.approve), option('reject', BUTTONS.reject)],
    }),
    input(FIELD.note, NOTE_FORM.note, {
      type: 'plain_text_input',
      multiline: true,
      min_length: 1,
      max_length: LIMITS.note,
    }),
  ])
}

export function linkModal(where: { channel: string; url: string }): Json {
  return modal(CALLBACK.link, LINK_FORM.title, where, [
    input(FIELD.token, LINK_FORM.token, { type: 'plain_text_input', max_length: 200 }),
  ])
}
