import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ToolUnderTest, toolContract } from '../../contracts/tool.ts'
import { toolBench } from '../../support/tool-bench.ts'

type Calls = Pick<ToolUnderTest, 'valid' | 'invalid' | 'large'>

const CALLS: Readonly<Record<string, Calls>> = {
  bash: {
    valid: [{ command: 'echo one > made' }, { command: 'echo one > made', timeout: 5 }],
    invalid: { 'command is empty': { command: ' ' } },
    large: { command: 'yes | head -c 900000; exit 3' },
  },
  read_file: {
    valid: [{ path: 'a.txt' }, { path: 'a.txt', limit: 1 }],
    invalid: { 'path is missing': { path: '' }, 'system path': { path: '/proc/self/environ' } },
    large: { path: 'big.txt' },
  },
  write_file: {
    valid: [
      { path: 'new/b.txt', content: 'b' },
      { path: 'a.txt', content: 'more', mode: 'append' },
    ],
    invalid: { 'path is missing': { path: '', content: 'b' }, 'not a regular file': { path: '.', content: 'b' } },
    large: { path: 'b.txt', content: 'b'.repeat(500_000) },
  },
  edit_file: {
    valid: [
      { path: 'a.txt', old_string: 'one', new_string: 'ONE' },
      { path: 'a.txt', old_string: 'two', new_string: '' },
    ],
    invalid: {
      'no such file': { path: 'nowhere', old_string: 'a', new_string: 'b' },
      'old_string was not found': { path: 'a.txt', old_string: 'three', new_string: '3' },
      'Found 3 occurrences': { path: 'a.txt', old_string: 'o\n', new_string: '' },
      'not both': { path: 'a.txt', old_string: 'one', edits: [{ old_string: 'two', new_string: '2' }] },
    },
    large: { path: 'big.txt', old_string: 'line', new_string: 'LINE', replace_all: true },
  },
  diff_file: {
    valid: [
      { path_a: 'a.txt', path_b: 'big.txt' },
      { path_a: 'a.txt', content_b: 'two\n' },
    ],
    invalid: { 'Give path_b or content_b': { path_a: 'a.txt' }, 'path is missing': { path_a: '', content_b: '' } },
    large: { path_a: 'big.txt', content_b: '' },
  },
  search: {
    valid: [{ query: 'one' }, { query: 'one', path: 'a.txt' }],
    invalid: { 'query is empty': { query: '' }, 'no such file or directory': { query: 'x', path: 'nowhere' } },
    large: { query: 'line' },
  },
}

describe.each(Object.keys(CALLS))('%s', (name) => {
  toolContract(async () => {
    const bench = toolBench()
    writeFileSync(join(bench.root, 'a.txt'), 'one two\nfoo\nzoo\ngo')
    writeFileSync(join(bench.root, 'big.txt'), 'a line of text ✓\n'.repeat(9000))
    for (const path of ['a.txt', 'big.txt']) await bench.call('read_file', { path })
    const tool = bench.all.find((t) => t.spec.name === name)
    const calls = CALLS[name]
    if (!tool || !calls) throw new Error(`no tool ${name}`)
    return { tool, scope: bench.scope, ...calls }
  })
})

it('every built-in tool keeps the contract', () => {
  expect(
    toolBench()
      .all.map((t) => t.spec.name)
      .sort(),
  ).toEqual(Object.keys(CALLS).sort())
})
