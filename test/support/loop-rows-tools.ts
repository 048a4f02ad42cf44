import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fill, type LoopRow } from './loop-rows-text.ts'
import { runContext, toolBench } from './tool-bench.ts'

const KB = 1024
const MB = 1024 * KB

interface ToolRow {
  readonly name: string
  /** Files of the workspace; those named are read first. */
  readonly files?: Readonly<Record<string, string>>
  readonly args: Readonly<Record<string, unknown>>
}

const lines = (n: number, line: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => line(i)).join('\n')
const BOMB = '(((a{1,255}){1,255}){1,255}){1,9}'

/** The calls that each tool must get through without holding up the event loop. A tool without any fails the test. */
export const TOOL_ROWS: Readonly<Record<string, readonly ToolRow[]>> = {
  bash: [
    { name: 'E2a one line of 64 KB', args: { command: "head -c 65536 /dev/zero | tr '\\0' x" } },
    { name: '64 MB without a line end', args: { command: "head -c 67108864 /dev/zero | tr '\\0' x" } },
    { name: '32 MB of short lines', args: { command: 'yes | head -c 33554432' } },
    { name: 'carriage returns', args: { command: "yes | head -c 1000000 | tr '\\n' '\\r'" } },
    { name: 'E2d a script of 24 KB', args: { command: `echo ${fill('rm -r ', 24 * KB)}` } },
  ],
  read_file: [
    { name: 'E2d 19.8 MB', files: { big: fill('a line of text\n', 19.8 * MB) }, args: { path: 'big' } },
    { name: '19 MB of newlines', files: { big: fill('\n', 19 * MB) }, args: { path: 'big', offset: 5_000_000 } },
    { name: 'B8 one line of 19 MB', files: { big: fill('x', 19 * MB) }, args: { path: 'big' } },
  ],
  write_file: [
    {
      name: 'appending to 19 MB',
      files: { big: fill('x', 19 * MB) },
      args: { path: 'big', content: 'more', mode: 'append' },
    },
    { name: '1 MB', args: { path: 'new', content: fill('x\n', MB) } },
  ],
  edit_file: [
    {
      name: 'E2c replace_all in 4,000 lines',
      files: { a: fill('old line\n', 36_000) },
      args: { path: 'a', old_string: 'old', new_string: 'new', replace_all: true },
    },
    {
      name: 'A8 old_string in 50,000 places',
      files: { a: fill('a\n', 100_000) },
      args: { path: 'a', old_string: 'a\n', new_string: 'b\n' },
    },
    {
      name: 'A8 replace_all over 8,000 lines',
      files: { a: fill('old line\n', 72_000) },
      args: { path: 'a', old_string: 'old', new_string: 'new', replace_all: true },
    },
    {
      name: 'A8 a text that overlaps itself',
      files: { a: fill('a', MB) },
      args: { path: 'a', old_string: fill('a', 20_000), new_string: 'b' },
    },
    {
      name: '1,000 edits of 1 MB',
      files: { a: lines(40_000, (i) => `line number ${i};`) },
      args: {
        path: 'a',
        edits: Array.from({ length: 1000 }, (_, i) => ({ old_string: `number ${i * 7};`, new_string: `n${i}` })),
      },
    },
    {
      name: 'one edit of 19 MB',
      files: { a: `${fill('a line of text\n', 19 * MB)}the end` },
      args: { path: 'a', old_string: 'the end', new_string: 'The end' },
    },
  ],
  diff_file: [
    {
      name: 'E2c unrelated files of 12,000 lines',
      files: { a: lines(12_000, (i) => `a ${i * 7}`), b: lines(12_000, (i) => `b ${i * 5}`) },
      args: { path_a: 'a', path_b: 'b' },
    },
    {
      name: 'unrelated files of 15 MB',
      files: { a: lines(MB, (i) => `a ${i * 7}`), b: lines(MB, (i) => `b ${i * 5}`) },
      args: { path_a: 'a', path_b: 'b' },
    },
  ],
  search: [
    { name: 'E2a one line of 160 KB', files: { 'a.js': fill('var x;', 160 * KB) }, args: { query: 'var' } },
    { name: 'B8 one line of 9 MB', files: { 'a.ipynb': fill('iVBORw0', 9 * MB) }, args: { query: 'iVBOR' } },
    { name: 'carriage returns', files: { a: fill('x\r', MB) }, args: { query: 'x' } },
    { name: 'every line of 500,000', files: { a: fill('a line\n', 3.5 * MB) }, args: { query: 'line' } },
    { name: 'A5 a pattern that asks for gigabytes', files: { a: fill('a', MB) }, args: { query: BOMB } },
  ],
}

/** A fresh workspace for each try, so that a try changes nothing for the next. */
export function toolRows(): readonly LoopRow[] {
  return Object.entries(TOOL_ROWS).flatMap(([tool, rows]) =>
    rows.map(({ name, files = {}, args }) => ({
      name: `${/^[A-Z]\d/.test(name) ? '' : 'E2 '}${name} (${tool})`,
      make: async () => {
        const bench = toolBench()
        for (const [path, text] of Object.entries(files)) {
          writeFileSync(join(bench.root, path), text)
          if (tool !== 'read_file') await bench.call('read_file', { path, limit: 1 })
        }
        return async () => {
          const plan = await bench.plan(tool, { ...args })
          if (plan.kind === 'ready') await plan.run(runContext())
        }
      },
    })),
  )
}
