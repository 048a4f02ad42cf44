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
    submit: plain('Send'),
    close: plain('Cancel'),
    private_metadata: JSON.stringify(metadata).slice(0, LIMITS.privateMetadata),
    blocks,
  }
}

/** A decision with a note: a required choice, and a text. `where` is where the answer to the person goes. */
export function noteModal(approval: string, where: { channel: string; thread?: string }): Json {
  const option = (value: string, text: string): Json => ({ value, text: plain(text) })
  return modal(CALLBACK.note, 'Decide with a note', { approval, ...where }, [
    input(FIELD.choice, 'Decision', {
      type: 'radio_buttons',
      options: [option('approve', 'Approve'), option('reject', 'Reject')],
    }),
    input(FIELD.note, 'Note to the assistant', {
      type: 'plain_text_input',
      multiline: true,
      min_length: 1,
      max_length: LIMITS.note,
    }),
  ])
}

export function linkModal(where: { channel: string; url: string }): Json {
  return modal(CALLBACK.link, 'Link your account', where, [
    input(FIELD.token, 'Token (begins with ts_)', { type: 'plain_text_input', max_length: 200 }),
  ])
}
