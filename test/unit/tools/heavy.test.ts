import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../../src/util/redact.ts'
import { systemClock } from '../../../src/util/time.ts'
import { applyEdits } from '../../../tools/support/edits.ts'
import { HitReader } from '../../../tools/support/hit-reader.ts'
import { HeavyJobError, runHeavy } from '../../../tools/support/run-heavy.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { toolBench } from '../../support/tool-bench.ts'

const BOMB = '(((a{1,255}){1,255}){1,255}){1,9}'

describe('search', () => {
  it('B1 finds lines that end with CRLF or hold a lone CR, NUL or ESC, and shows their text', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'w.txt'), 'one needle\r\ntwo\r\nthree needle\r\n')
    writeFileSync(join(b.root, 'mac.txt'), 'a\rb needle\rc')
    writeFileSync(join(b.root, 'nul.txt'), 'x\0needle\ny\n\u001b[31mneedle\u001b[0m\n')
    const lines = (await b.call('search', { query: 'needle' })).split('\n')
    expect(lines).toEqual([
      'mac.txt:1:a b needle c',
      'nul.txt:1:xneedle',
      'nul.txt:3:needle',
      'w.txt:1:one needle',
      'w.txt:3:three needle',
    ])
  })

  it('B1 leaves out what is binary', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'x.bin'), Buffer.from(`\x01\x02\x03needle${'\0\x05'.repeat(50)}\n`, 'latin1'))
    expect(await b.call('search', { query: 'needle' })).toBe('(no matches)')
  })

  it('B8 cuts long lines, and finds what stands in other files beside them', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a.ipynb'), `{"image": "${'needle'.repeat(1_000_000)}"}\n`)
    writeFileSync(join(b.root, 'b.txt'), 'a needle\n')
    const [first = '', second] = (await b.call('search', { query: 'needle' })).split('\n')
    expect(first).toMatch(/^a\.ipynb:1:.{1000,1100} \[… line cut\]$/)
    expect(second).toBe('b.txt:1:a needle')
  })

  it('A5 ends a pattern that asks for gigabytes, and says why', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a.txt'), `${'a'.repeat(5000)}\n`)
    const started = Date.now()
    const result = await b.result('search', { query: BOMB })
    expect(result.isError).toBe(true)
    expect(result.content).toMatchObject([{ text: expect.stringMatching(/needs too much memory|took longer/) }])
    expect(Date.now() - started).toBeLessThan(25_000)
  })

  it('reads hits in any pieces alike', () => {
    const text = 'p\u00001:x\r\nq\u00002:y\n'
    for (let cut = 0; cut <= text.length; cut++) {
      const reader = new HitReader(1000, createRedactor())
      reader.push(text.slice(0, cut))
      reader.push(text.slice(cut))
      expect(reader.end()).toEqual([
        { path: 'p', lines: ['1:x'] },
        { path: 'q', lines: ['2:y'] },
      ])
    }
  })
})

describe('read_file', () => {
  it('E2d reads on where it ended, and counts all lines', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'big'), 'a line of text\n'.repeat(1_000_000))
    const first = await b.call('read_file', { path: 'big' })
    const [, next = ''] = /the file has 1000000 lines; read on with offset (\d+)/.exec(first) ?? []
    expect(Number(next)).toBeGreaterThan(5000)
    expect(first).toContain(`\n${Number(next) - 1}\ta line of text\n`)
    expect(await b.call('read_file', { path: 'big', offset: next, limit: 1 })).toBe(`${next}\ta line of text`)
    expect(await b.call('read_file', { path: 'big', offset: 1_000_000 })).toBe('1000000\ta line of text')
  })

  it('B8 says on the line what is cut in it, and an edit can still name it', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'n.ipynb'), `{\n"image": "${'é'.repeat(200_000)}", "end": 1\n}\n`)
    const lines = (await b.call('read_file', { path: 'n.ipynb' })).split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toMatch(/^ {3}2\t"image": "é+\[… \d+ characters of this line are left out …\]é+", "end": 1$/)
    expect(await b.call('edit_file', { path: 'n.ipynb', old_string: '"end": 1', new_string: '"end": 2' })).toContain(
      'Edited',
    )
    const note = { path: 'n.ipynb', old_string: 'é[… 5 characters of this line are left out …]é', new_string: 'x' }
    expect(await b.call('edit_file', note)).toContain('name only text that the file has')
  })
})

describe('edits', () => {
  it('A8 names an ambiguous text without looking at every place', () => {
    const text = 'a\n'.repeat(50_000)
    const edit = { old_string: 'a\n', new_string: 'b\n' }
    expect(() => applyEdits(text, [edit], false)).toThrow(/more than 10000 occurrences .*lines 1, 2, 3,/)
    expect(applyEdits('x\na\nb\na a\n', [{ ...edit, old_string: 'a', near_line: 4 }], false)).toBe('x\na\nb\nb\n a\n')
    expect(applyEdits('a\n1\na\n', [{ old_string: 'a', new_string: 'b', near_line: 2 }], false)).toBe('b\n1\na\n')
  })

  it('E2c shows a change of thousands of lines whole', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a.txt'), 'old line\n'.repeat(4000))
    await b.call('read_file', { path: 'a.txt' })
    const plan = await b.ready('edit_file', { path: 'a.txt', old_string: 'old', new_string: 'new', replace_all: true })
    expect(plan.payload.text.match(/^-old line$/gm)).toHaveLength(4000)
    expect(plan.payload.text.match(/^\+new line$/gm)).toHaveLength(4000)
  })

  it('E2c says that two files differ too much', async () => {
    const b = toolBench()
    const lines = (word: string) => Array.from({ length: 12_000 }, (_, i) => `${word} ${i}\n`).join('')
    writeFileSync(join(b.root, 'a'), lines('a'))
    writeFileSync(join(b.root, 'b'), lines('b'))
    expect(await b.call('diff_file', { path_a: 'a', path_b: 'b' })).toContain('differ too much')
  })
})

describe('a heavy job', () => {
  const edit = (edits: readonly { old_string: string; new_string: string }[]) => ({
    kind: 'edit' as const,
    shown: 'a',
    bytes: Buffer.from('a'.repeat(2_000_000)),
    edits,
    all: false,
  })

  it('E2c is ended at its deadline, and the next one has its turn', async () => {
    const clock = new ManualClock()
    // A search that goes back over the whole pattern at each place.
    const endless = { old_string: `b${'a'.repeat(200_000)}`, new_string: 'c' }
    const ends: unknown[] = []
    for (let n = 0; n < 3; n++) runHeavy(edit([endless]), clock).catch((error: unknown) => ends.push(error))
    while (ends.length < 3) await clock.advance(6000)
    expect(ends.every((end) => end instanceof HeavyJobError)).toBe(true)
    const done = await runHeavy(edit([{ old_string: 'b', new_string: 'c' }]), systemClock)
    expect(done.error).toContain('not found')
  })
})
