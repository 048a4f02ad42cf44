import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitTurn } from '../../../src/agent/fit-history.ts'
import { estimateTokens } from '../../../src/agent/history.ts'
import { parseTypedAnswer } from '../../../src/gateway/cards/typed-answer.ts'
import { type Message, textOf } from '../../../src/model/message.ts'
import { parseArguments } from '../../../src/tool/arguments.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { plainTerminal } from '../../../src/util/visible.ts'
import { message, until } from '../../support/engine.ts'
import { engine } from '../../support/engines.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

describe('a stranger', () => {
  it('A7 has no text that is read', async () => {
    const e = await engine({ model: new ScriptedModel() })
    let read = 0
    const m = message('stranger', '')
    Object.defineProperty(m, 'text', { enumerable: true, get: () => `${read++}` })
    await e.inbox.message(m)
    expect(e.platform.posts).toHaveLength(1)
    expect(read).toBe(0)
    const known = message('alice', '')
    Object.defineProperty(known, 'text', { enumerable: true, get: () => `${read++}` })
    await e.inbox.message(known)
    expect(read).toBeGreaterThan(0)
  })
})

describe('deep arguments', () => {
  it('B2 are an error for the model, and the turn goes on', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const act = probeTool('act')
    const model = new ScriptedModel(
      { calls: [{ name: 'act', args: `{"what": ${deep}}` }] },
      { calls: [{ name: 'act', args: `{"nowhere": ${deep}}` }] },
      'done',
    )
    const e = await engine({ model, tools: [act] })
    await e.inbox.message(message('alice', 'go', { id: 'm-deep' }))
    await until(() => e.platform.texts('m-deep').some((text) => text.includes('done')))
    const results = model.requests[2]?.messages.filter((m) => m.role === 'tool').map((m) => textOf(m.content))
    expect(results).toEqual([expect.stringContaining('nested'), expect.stringContaining('nested')])
    expect(act.runs).toEqual([])
  })

  it('B2 are counted outside of strings only', () => {
    const text = JSON.stringify({ a: '[{'.repeat(500), b: '"[' })
    expect(parseArguments(text, 'a', true)).toEqual({ ok: true, args: JSON.parse(text) })
  })
})

describe('fitTurn', () => {
  it('E2e ends for every result of short parts, and makes it fit', () => {
    const parts = fc.array(fc.string({ maxLength: 300 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(parts, fc.nat({ max: 2000 }), (texts, room) => {
        const turn: readonly Message[] = [
          { role: 'assistant', text: '', calls: [{ id: 'c', name: 'act', arguments: '{}' }] },
          { role: 'tool', callId: 'c', name: 'act', content: texts.map((text) => ({ type: 'text', text })) },
        ]
        const fitted = fitTurn(turn, room, estimateTokens)
        expect(fitted).toHaveLength(2)
        // A kilobyte stays of each message, whatever the room.
        expect(estimateTokens(fitted)).toBeLessThanOrEqual(Math.max(room, 300))
      }),
      { numRuns: 300 },
    )
  })
})

describe('typed answers', () => {
  it.each([
    ['y', { letter: 'y' }],
    [' N , not today ', { letter: 'n', note: 'not today' }],
    ['a,', { letter: 'a' }],
    ['n,a\nb', { letter: 'n', note: 'a\nb' }],
    ['yes', undefined],
    ['y no', undefined],
    ['', undefined],
  ])('E2d %j', (text, answer) => expect(parseTypedAnswer(text)).toEqual(answer))
})

describe('terminal text', () => {
  it('E2a keeps what stood last on each line', () => {
    expect(plainTerminal('10%\r100%\r\nnext\r\r\n\rlast\r')).toBe('100%\nnext\nlast')
    expect(plainTerminal('a\rb\rc')).toBe('c')
  })
})

describe('the redactor', () => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU'
  const redactor = createRedactor([])

  it('E2b finds a web token wherever it begins in a run', () => {
    expect(redactor.redact(`x-${token} y`)).toBe('x-[redacted] y')
    expect(redactor.redact(`aaaaaaaaaaaaaaaa.${token}`)).toBe('aaaaaaaaaaaaaaaa.[redacted]')
    expect(redactor.redact(`eyJ-${token}`)).toBe('[redacted]')
    expect(redactor.redact('eyJ-eyJ-eyJ-eyJ-.aaaa.bbbb')).toBe('eyJ-eyJ-eyJ-eyJ-.aaaa.bbbb')
  })

  it('A6 holds no more than it must of a word or a token without an end', () => {
    for (const [begin, more] of [
      ['', 'x'],
      ['', 'eyJ'],
      ['', 'MTAw'],
      ['sk-1', 'a'],
      ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.', 'c2ln'],
    ] as const) {
      const stream = redactor.stream()
      let out = stream.push(begin)
      const piece = more.repeat(16_384)
      for (let n = 0; n < 60; n++) out += stream.push(piece)
      const rest = stream.push(' end') + stream.end()
      expect(rest.length).toBeLessThan(300_000)
      expect(out + rest).toBe(redactor.redact(`${begin}${piece.repeat(60)} end`))
    }
  })

  it('A6 never releases a long secret while it may still become one', () => {
    const texts = [
      `-----BEGIN ${'x'.repeat(5000)} ${token}`,
      `-----BEGIN PRIVATE KEY-----\n${'MIIE\n'.repeat(2000)}-----END PRIVATE KEY-----`,
      `eyJ${'a'.repeat(9000)}.${'b'.repeat(9000)}.${'c'.repeat(9000)}`,
      `sk-${'a'.repeat(9000)}`,
      `Bearer   ${'a'.repeat(9000)}`,
    ]
    for (const text of texts) {
      const stream = redactor.stream()
      let out = ''
      for (let at = 0; at < text.length; at += 7) out += stream.push(text.slice(at, at + 7))
      out += stream.end()
      expect(out).toBe(redactor.redact(text))
      expect(out).toContain('[redacted]')
    }
  })
})
