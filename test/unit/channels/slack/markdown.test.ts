import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  codeBlock,
  defuse,
  fitTables,
  growing,
  inlineCode,
  mrkdwn,
  splitParts,
} from '../../../../channels/slack/markdown.ts'
import { sectionMarkdown } from '../../../../channels/slack/outbound.ts'
import { planSection, type SectionState } from '../../../../channels/slack/parts.ts'
import type { ViewItem } from '../../../../src/channel/turn-view.ts'

describe('mentions', () => {
  test.each([
    [
      '<!channel> <!here|x> <@U123> <@W1> <!subteam^S1|@devs> <#C1>',
      '< !channel> < !here|x> < @U123> < @W1> < !subteam^S1|@devs> < #C1>',
    ],
    ['@here, @channel! (@everyone)', '@ here, @ channel! (@ everyone)'],
    ['`npm i @scope/pkg` a@here.org user@channel.x @hereby', '`npm i @scope/pkg` a@here.org user@channel.x @hereby'],
    ['<!-- c --> <!DOCTYPE html> vector<int> a<b', '<!-- c --> <!DOCTYPE html> vector<int> a<b'],
  ])('%s', (text, broken) => expect(defuse(text)).toBe(broken))

  test('mrkdwn escapes what Slack reads', () => {
    expect(mrkdwn('a & <b> <!here>')).toBe('a &amp; &lt;b&gt; &lt; !here&gt;')
  })

  test('code cannot be ended from inside', () => {
    expect(inlineCode('a `b` c')).toBe('``a `b` c``')
    expect(inlineCode('`x')).toBe('`` `x ``')
    expect(codeBlock('a\n```\nb')).toBe('````\na\n```\nb\n````')
  })
})

describe('tables', () => {
  const table = '| a | b |\n|---|---|\n| 1 |  |'
  test('the first stays, the second becomes code', () => {
    const out = fitTables(`${table}\n\nx\n\n${table}\n`)
    expect(out.startsWith(table)).toBe(true)
    expect(out).toContain('```\na | b\n--|--\n1 |\n```')
  })

  test('too wide or too long ones become code', () => {
    const wide = `|${' x |'.repeat(21)}\n|${'---|'.repeat(21)}\n|${' 1 |'.repeat(21)}`
    expect(fitTables(wide)).toMatch(/^```\n/)
    const long = `${table}\n${'| 1 | 2 |\n'.repeat(120)}`
    expect(fitTables(long)).toMatch(/^```\n/)
  })
})

const fragment = fc.constantFrom(
  'word ',
  'a<b ',
  '<!channel> ',
  '<@U1> ',
  '@here ',
  '\n',
  '\n\n',
  '- item\n',
  '# head\n',
  '```js\ncode\n',
  '```\n',
  '| a | b |\n|---|---|\n| 1 | 2 |\n',
  '**bold** ',
  '`x|y` ',
  '🎉',
)
const source = fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join(''))
const item = (text: string): ViewItem => ({ kind: 'text', text })
const squeezed = (text: string): string => text.replace(/\s/g, '')

describe('growth', () => {
  test('the shown text only grows, whatever comes, but for tables and blocks that end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('word ', 'a<b ', '<!channel> ', '<@U1> ', '@here ', '\n\n', '```js\nx\n', '\n```\n'), {
          maxLength: 60,
        }),
        (parts) => {
          let text = ''
          let before = ''
          for (const part of parts) {
            for (const c of part) {
              text += c
              const markdown = sectionMarkdown({ items: [item(text)] }, true)
              const last = splitParts(markdown).at(-1)
              if (!last) continue
              const shown = growing(last.text, markdown).text
              expect(shown.startsWith(before.trimEnd()) || before.startsWith(shown)).toBe(true)
              expect(defuse(shown)).toBe(shown)
              before = shown.length > before.length ? shown : before
            }
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  test('cut anywhere, the parts hold the whole once', () => {
    fc.assert(
      fc.property(source, fc.nat(), (text, where) => {
        const plain = text.replace(/[`|#-]/g, '')
        const state: SectionState = { parts: [], cuts: [] }
        const whole = sectionMarkdown({ items: [item(plain)] }, true)
        const at = Math.min(where % (whole.length + 1), whole.length)
        const { targets } = planSection(
          { items: [item(plain)] },
          { ...state, cuts: [{ at, head: whole.slice(0, at), part: 0 }] },
          false,
        )
        const rest = targets
          .slice(1)
          .map((t) => t.text ?? '')
          .join('')
        expect(squeezed(whole.slice(0, at) + rest)).toBe(squeezed(whole))
      }),
    )
  })

  test('a cut in code goes on in code', () => {
    const whole = sectionMarkdown({ items: [item('```js\none\ntwo\n```')] }, false)
    const at = whole.indexOf('two')
    const plan = planSection(
      { items: [item('```js\none\ntwo\n```')] },
      { parts: [], cuts: [{ at, head: whole.slice(0, at), part: 0 }] },
      false,
    )
    expect(plan.targets.map((t) => t.text)).toEqual([undefined, '```js\ntwo\n```'])
  })

  test('a text that changed drops its cuts', () => {
    const state: SectionState = { parts: [], cuts: [{ at: 3, head: 'old', part: 0 }] }
    const plan = planSection({ items: [item('new text')] }, state, false)
    expect(plan.targets.map((t) => t.text)).toEqual(['new text'])
    expect(state.cuts).toEqual([])
  })
})
