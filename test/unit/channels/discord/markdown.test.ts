import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeText, inlineCode, isBlank, renderMarkdown, renderParts } from '../../../../channels/discord/markdown.ts'

describe('renderMarkdown', () => {
  test.each([
    ['what Discord knows stays', '# A\n\n> q\n> r\n\n- a\n  - b\n\n1. [x](https://y.z) **b** *i* ~~s~~'],
    ['code stays as it is', '`@everyone` and\n\n```js\n@everyone <@1>\n```'],
    ['an unclosed fence of three is closed', '```js\nx', '```js\nx\n```'],
    ['a fence of tildes becomes one of backticks', '~~~js\nx\n~~~', '```js\nx\n```'],
    ['inner fences cannot end the block', '````md\n```js\nx\n```\n````', '```md\n``\u200b`js\nx\n``\u200b`\n```'],
    [
      'mentions are words',
      '@everyone @here <@1> <@!2> <@&3> a@b.c',
      '@\u200beveryone @\u200bhere <@\u200b1> <@\u200b!2> <@\u200b&3> a@b.c',
    ],
    ['mentions in headings and lists too', '##### @here\n\n- @everyone', '### @\u200bhere\n\n- @\u200beveryone'],
    ['underlined headings get their marks', 'Title\n=====\n\ntext', '# Title\n\ntext'],
    [
      'tables are aligned code',
      '| a | b |\n|---|:-:|\n| 日本 | [l](u://v) |',
      '```\na    |     b\n-----|----------\n日本 | l <u://v>\n```',
    ],
    ['pictures are links', 'see ![alt](https://x.y/z.png)', 'see [alt](https://x.y/z.png)'],
  ])('%s', (_, source, expected = source) => {
    expect(renderMarkdown(source)).toBe(expected)
  })
})

describe('renderParts', () => {
  test('blank text is no message', () => {
    expect(renderParts(' \n\u200b \n')).toEqual([])
    expect(isBlank('\u2800')).toBe(false)
  })

  test.each([1994, 1995, 1996, 1997, 1998, 1999, 2000])('a code line up to %i: within 2,000 and balanced', (end) => {
    const parts = renderParts(`~~~\n${'x'.repeat(end)}\n${'y'.repeat(end)}\n~~~`)
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(2000)
      expect(part.match(/```/g)?.length).toBe(2)
    }
    expect(parts.map((p) => p.replace(/```\n?|\n/g, '')).join('')).toBe('x'.repeat(end) + 'y'.repeat(end))
  })

  test('a table wider than its source, and one of many rows, keep within the limit', () => {
    const rows = Array.from({ length: 200 }, (_, i) => `|${i}|x|`)
    const parts = renderParts(`|a|${'long header '.repeat(8)}|\n|-|-|\n${rows.join('\n')}`)
    const shown = parts.join('\n')
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(2000)
    for (let i = 0; i < 200; i++) expect(shown).toMatch(new RegExp(`^${i} +\\| x$`, 'm'))
  })

  test('whatever it is, every message keeps to the limit and holds something, and no letter is lost', () => {
    const unit = fc.constantFrom(
      'a',
      'b ',
      '\n',
      '\n\n',
      '`',
      '```',
      '```js\n',
      '~~~',
      '|',
      '|---|',
      '@everyone',
      '#',
      '- ',
      '> ',
      '    ',
      '😀',
      '[x](',
      ')',
      '<@1>',
      '*',
      '_',
      '\\',
    )
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 1500 }), (units) => {
        const source = units.join('')
        const parts = renderParts(source)
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(2000)
          expect(isBlank(part)).toBe(false)
        }
        const letters = (t: string): string => t.replace(/[^ab😀]/gu, '')
        expect(letters(parts.join('')).length).toBeGreaterThanOrEqual(letters(source).length)
      }),
      { numRuns: 300 },
    )
  })

  test('a hundred thousand characters are fast', () => {
    const start = performance.now()
    renderParts(`${'word '.repeat(10_000)}\n\n${'| a | b |\n'.repeat(2000)}\n\`\`\`\n${'code\n'.repeat(6000)}`)
    expect(performance.now() - start).toBeLessThan(3000)
  })
})

test('code and escapes hold whatever they are given', () => {
  expect(inlineCode('a')).toBe('`a`')
  expect(inlineCode('a`b')).toBe('`` a`b ``')
  expect(inlineCode('``` x')).toBe('`` ˋˋˋ x ``')
  expect(escapeText('**x** @everyone [a](b) <@1>')).toBe('\\*\\*x\\*\\* @\u200beveryone \\[a\\]\\(b\\) \\<@\u200b1\\>')
})
