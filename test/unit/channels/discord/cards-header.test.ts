import { describe, expect, it } from 'vitest'
import { renderCard } from '../../../../channels/discord/cards.ts'
import { PostRefusedError } from '../../../../src/channel/post-once.ts'
import { sha256 } from '../../../../src/util/ids.ts'

const call = (header: string, text: string) => ({
  tool: 'write_file',
  header,
  payload: { filename: 'content.txt', text, sha256: sha256(text), bytes: Buffer.byteLength(text) },
})

describe('what an open card says a call acts on', () => {
  it('is never cut: a long path stands whole, and what cannot be shown whole is refused', () => {
    const path = `create ${'deep/'.repeat(90)}file.txt (3 characters)`
    const card = (n: number) => ({
      approval: 'a1',
      turn: 't1',
      calls: Array.from({ length: n }, () => call(path, 'abc')),
      always: false,
      state: { kind: 'open' as const },
    })
    expect(renderCard(card(1)).content).toContain(path)
    expect(() => renderCard(card(8))).toThrow(PostRefusedError)
  })
})
