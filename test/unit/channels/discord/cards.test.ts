import { describe, expect, test } from 'vitest'
import { isCardOf, parseCustomId, renderCard } from '../../../../channels/discord/cards.ts'
import { nonceOf, renderView, threadName } from '../../../../channels/discord/parts.ts'
import type { CardCall } from '../../../../src/approval/approval.ts'
import type { CardView } from '../../../../src/channel/card.ts'
import { sha256 } from '../../../../src/util/ids.ts'

const call = (text: string, more: Partial<CardCall> = {}): CardCall => ({
  tool: 'bash',
  header: 'bash: x',
  payload: { filename: 'command.sh', text, sha256: sha256(text), bytes: Buffer.byteLength(text) },
  ...more,
})
const card = (calls: readonly CardCall[], more: Partial<CardView> = {}): CardView => ({
  approval: '0198c0de-aaaa-7bbb-8ccc-0123456789ab',
  turn: 'abc',
  calls,
  always: false,
  state: { kind: 'open' },
  ...more,
})

describe('renderCard', () => {
  test('says what asks, why, what else it would allow, and until when', () => {
    const { content, components } = renderCard(
      card([call('ls', { label: 'bash:ls', because: 'rule "ops_*"', warning: '@everyone **now**' })], {
        changed: 'the path',
        state: { kind: 'open', expiresAt: 1_700_000_000_000 },
      }),
    )
    expect(content).toContain('**1.** `bash` `bash: x`\n```\nls\n```')
    expect(content).toContain('⚠️ @\u200beveryone \\*\\*now\\*\\*')
    expect(content).toContain('Reason: rule "ops\\_\\*"')
    expect(content).toContain('will cover `bash:ls`')
    expect(content).toContain('Changed since it was approved: the path')
    expect(content).toContain('<t:1700000000:R>')
    expect(JSON.stringify(components)).not.toContain('Always allow')
  })

  test('hidden characters are visible, and a payload with a fence is a file', () => {
    expect(renderCard(card([call('a\u202eb')])).content).toContain('a⟨U+202E⟩b')
    const { content, files } = renderCard(card([call('x\n```\n**not real**')]))
    expect(content).not.toContain('not real')
    expect(files).toEqual([{ name: '1-command.sh', data: 'x\n```\n**not real**' }])
  })

  test('any names and lengths keep to the limit', () => {
    for (const n of [1, 2, 5, 9])
      for (const size of [10, 500, 3000]) {
        const long = call('p'.repeat(size), {
          tool: 'mcp__server__'.repeat(20),
          header: '`*@everyone '.repeat(100),
          because: '_'.repeat(900),
          warning: '*'.repeat(900),
          label: '`'.repeat(900),
        })
        const made = (() => {
          try {
            return renderCard(card(Array(n).fill(long)))
          } catch (error) {
            return String(error)
          }
        })()
        if (typeof made === 'string') expect(made).toContain('unshowable')
        else expect(made.content.length).toBeLessThanOrEqual(2000)
        expect(n === 1 && typeof made === 'string').toBe(false)
        const state = { kind: 'closed', outcome: 'rejected', by: '*'.repeat(300), note: 'n'.repeat(2000) } as const
        const closed = renderCard(card(Array(n).fill(long), { state }))
        expect(closed.content.length).toBeLessThanOrEqual(2000)
        expect(closed.components).toEqual([])
      }
  })

  test('ten files at most, and none above what Discord takes', () => {
    const big = call('x'.repeat(5000))
    expect(renderCard(card(Array(8).fill(big))).files).toHaveLength(8)
    expect(() => renderCard(card(Array(11).fill(big)))).toThrow('unshowable')
    const huge = { ...big, payload: { ...big.payload, bytes: 11 * 1024 * 1024 } }
    expect(() => renderCard(card([huge]))).toThrow('unshowable')
  })

  test('custom ids', () => {
    const made = renderCard(card([call('x')]))
    expect(isCardOf(made.components, 'approval:0198c0de-aaaa-7bbb-8ccc-0123456789ab#12')).toBe(true)
    expect(isCardOf(made.components, 'approval:other')).toBe(false)
    expect(parseCustomId('ts:always:x')).toEqual({ action: 'always', approval: 'x' })
    expect(parseCustomId('ts:reject:x')).toEqual({ action: 'reject', approval: 'x' })
    // A card of version 0.1.
    expect(parseCustomId('ts:deny:x')).toEqual({ action: 'reject', approval: 'x' })
    expect(parseCustomId('ts:drop:x')).toBeUndefined()
  })
})

test('a view: sections begin messages, an open fence ends with its text, blank items are nothing', async () => {
  const parts = await renderView(
    {
      turn: 'a',
      phase: 'done',
      sections: [
        {
          items: [
            { kind: 'text', text: '```js\nx' },
            { kind: 'notice', text: 'stopped', tone: 'info' },
          ],
        },
        { items: [{ kind: 'text', text: ' ' }] },
        { items: [{ kind: 'tool', callId: '1', tool: 'bash', header: 'ls', state: 'denied' }] },
      ],
    },
    'T',
  )
  expect(parts).toEqual([
    { key: 'T/0/0', content: '```js\nx\n```\n\n-# stopped' },
    { key: 'T/2/0', content: '-# 🚫 `bash ls` · denied' },
  ])
  expect(nonceOf('T/0/0')).toHaveLength(25)
  expect(threadName(' \n ')).toBe('Conversation')
})
