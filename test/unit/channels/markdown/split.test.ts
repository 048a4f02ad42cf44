import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { closeFences } from '../../../../channels/markdown/fences.ts'
import { type MarkdownPart, splitMarkdown } from '../../../../channels/markdown/split.ts'
import { alignedSize } from '../../../../channels/markdown/table.ts'

const bare = (text: string): string => text.replace(/\s+/g, '')
const split = (text: string, limit: number): MarkdownPart[] => splitMarkdown(text, { limit })

const word = fc.oneof(
  fc.stringMatching(/^[a-z]{1,12}$/),
  fc.constantFrom(
    '👨‍👩‍👧',
    'e\u0301',
    '🇩🇪',
    '**bold**',
    '`code`',
    '[a link](https://example.com/x)',
    '|',
    '#',
    '>',
    '-',
    '@everyone',
  ),
  fc.stringMatching(/^[a-z]{80,260}$/),
)
const sentence = fc.array(word, { minLength: 1, maxLength: 25 }).map((w) => w.join(' '))
const line = fc.oneof(
  { weight: 4, arbitrary: sentence },
  { weight: 2, arbitrary: fc.constant('') },
  fc.constantFrom('```', '```python', '````', '~~~', '> ```js', '  ```', '- ```sh', '``', '# Title', '---'),
  fc.constantFrom('| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |', '| one |\n|---|', '| x | y |'),
  fc.constantFrom('- item', '    indented', '> quoted', '  - nested'),
)
const markdown = fc.array(line, { minLength: 1, maxLength: 40 }).map((l) => l.join('\n'))

/** The source, read out of the parts: gaps are blank, and each part is its slice but for fences and table heads. */
function checkParts(source: string, parts: readonly MarkdownPart[], limit: number): void {
  let at = 0
  for (const part of parts) {
    expect(bare(source.slice(at, part.start))).toBe('')
    const own = bare(source.slice(part.start, part.end))
    const shown = bare(part.text)
    const head = /^>*([`~]{3,}.*|\|+(---\|)+)?$/
    const rest = Array.from(shown, (_, i) => i).filter(
      (i) => shown.startsWith(own, i) && head.test(shown.slice(0, i)) && /^>*[`~]*$/.test(shown.slice(i + own.length)),
    )
    expect(rest.length, `${shown} is ${own}`).toBeGreaterThan(0)
    expect(own).not.toBe('')
    expect(part.text.length).toBeLessThanOrEqual(limit)
    at = part.end
  }
  expect(bare(source.slice(at))).toBe('')
}

describe('splitMarkdown', () => {
  test('every character stands once and in order, in parts within the limit', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 100, max: 400 }), (text, limit) => {
        checkParts(text, split(text, limit), limit)
      }),
      { numRuns: 500 },
    )
  })

  test('blank lines of a code block that fill a whole part, or its end, make no empty block', () => {
    const full = `\`\`\`\n${'x'.repeat(88)}\n`
    for (const blank of [1, 5, 80, 90, 200, 350])
      for (const end of ['', 'z', '\n```', '\n```\nafter']) {
        const text = `${full}${'\n'.repeat(blank)}${end}`
        checkParts(text, split(text, 100), 100)
      }
  })

  test('appending moves no border but the last', () => {
    fc.assert(
      fc.property(
        markdown,
        fc.integer({ min: 100, max: 300 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (text, limit, share) => {
          const points = [...text]
          const options = { limit, tableSize: (rows: readonly (readonly string[])[]) => alignedSize(rows) + 8 }
          const before = splitMarkdown(points.slice(0, Math.floor(points.length * share)).join(''), options)
          const after = splitMarkdown(text, options)
          expect(after.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1))
        },
      ),
      { numRuns: 1500 },
    )
  })

  test('growing letter by letter, the number of parts never falls', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const points = [...text].slice(0, 500)
        let last: MarkdownPart[] = []
        for (let i = 1; i <= points.length; i++) {
          const now = split(points.slice(0, i).join(''), 100)
          expect(now.slice(0, Math.max(0, last.length - 1))).toEqual(last.slice(0, -1))
          last = now
        }
      }),
      { numRuns: 60 },
    )
  })

  test('fences are balanced in every part', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 100, max: 300 }), (text, limit) => {
        // A fence in a quote may end with its quote instead.
        const unquoted = closeFences(text.replaceAll('> ```', '```'))
        for (const part of split(unquoted, limit)) expect(closeFences(part.text)).toBe(part.text)
      }),
      { numRuns: 500 },
    )
  })

  test.each([1990, 1991, 1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999, 2000, 2001])(
    'a code line that ends at %i keeps parts within 2000 with balanced fences',
    (end) => {
      const text = `\`\`\`js\n${'x'.repeat(end - 6)}\n${'y'.repeat(100)}\n\`\`\`\nafter`
      const parts = split(text, 2000)
      checkParts(text, parts, 2000)
      for (const p of parts) expect((p.text.match(/```/g) ?? []).length % 2).toBe(0)
    },
  )

  test('a long block is opened with its language in every part, and its lines join to the original', () => {
    const code = Array.from({ length: 400 }, (_, i) => `    line ${i} = ${'v'.repeat(i % 30)}`).join('\n')
    const parts = split(`Look:\n\n\`\`\`python\n${code}\n\`\`\`\n`, 2000)
    expect(parts.length).toBeGreaterThan(4)
    const bodies = parts.map((p) => /```python\n([\s\S]*?)\n```$/.exec(p.text)?.[1])
    expect(bodies.join('\n')).toBe(code)
  })

  test('breaks at a block, else at a line, else at a word, else between characters', () => {
    const a = 'a'.repeat(60)
    expect(split(`${a}\n\n${a}\n\n${a}`, 130).map((p) => p.text)).toEqual([`${a}\n\n${a}`, a])
    expect(split(`${a}\n${a}\n${a}`, 130).map((p) => p.text)).toEqual([`${a}\n${a}`, a])
    expect(split(`${a} ${a} ${a}`, 130).map((p) => p.text.trim())).toEqual([`${a} ${a}`, a])
    expect(split('z'.repeat(250), 100).map((p) => p.text.length)).toEqual([100, 100, 50])
  })

  test('never cuts a character that is made of several', () => {
    for (const unit of ['😀', '👨‍👩‍👧', '🇩🇪', 'e\u0301'])
      for (let lead = 0; lead < unit.length; lead++) {
        const parts = split('x'.repeat(lead) + unit.repeat(60), 100)
        for (const p of parts) expect(p.text.replace(/^x+/, '').replaceAll(unit, '')).toBe('')
      }
  })

  test('a table that goes on in a further part stays a table', () => {
    const rows = Array.from({ length: 40 }, (_, i) => `| ${i} | value |`)
    const parts = split(`| n | v |\n|---|---|\n${rows.join('\n')}`, 200)
    for (const p of parts.slice(1)) expect(p.text).toMatch(/^\| \| \|\n\|---\|---\|\n\| \d+ \| value \|/)
  })

  test('a heading is not left alone at the end', () => {
    const parts = split(`${'a'.repeat(70)}\n\n## Title\n\n${'b'.repeat(60)}`, 100)
    expect(parts.map((p) => p.text)).toEqual(['a'.repeat(70), `## Title\n\n${'b'.repeat(60)}`])
  })

  test('a hundred thousand characters are fast, whatever they are', () => {
    const texts = [
      'word '.repeat(20_000),
      'x'.repeat(100_000),
      '\n'.repeat(100_000),
      `\`\`\`\n${'code line\n'.repeat(10_000)}`,
      `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(10_000)}`,
      '- '.repeat(50_000),
      '|'.repeat(100_000),
      '> '.repeat(50_000),
    ]
    const start = performance.now()
    for (const text of texts)
      splitMarkdown(text, { limit: 2000, tableSize: alignedSize, extra: (l) => l.split('@').length - 1 })
    expect(performance.now() - start).toBeLessThan(3000)
  })
})
