import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdsSecrets } from '../../../src/workspace/secret-files.ts'
import { runContext, toolBench } from '../../support/tool-bench.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('read_file', () => {
  it('numbers lines and honours offset and limit', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a.txt'), 'one\r\ntwo\nthree \n')
    expect(await b.call('read_file', { path: 'a.txt' })).toBe('   1\tone\n   2\ttwo\n   3\tthree ')
    expect(await b.call('read_file', { path: 'a.txt', offset: 2, limit: 1 })).toBe('   2\ttwo')
    expect(await b.call('read_file', { path: 'a.txt', offset: '9' })).toContain('has 3 lines; line 9 is past the end')
    expect(await b.call('read_file', { path: 'a.txt', offset: 0 })).toContain('offset must be >= 1')
  })

  it('says what is wrong with a path', async () => {
    const b = toolBench()
    mkdirSync(join(b.root, 'dir'))
    writeFileSync(join(b.root, 'empty'), '')
    writeFileSync(join(b.root, 'bin'), Buffer.from([1, 0, 2]))
    expect(await b.call('read_file', { path: 'nope' })).toContain('no such file')
    expect(await b.call('read_file', { path: 'dir' })).toMatch(/is a directory|not a regular file/)
    expect(await b.call('read_file', { path: '' })).toContain('path is missing')
    expect(await b.call('read_file', { path: 'empty' })).toBe('(empty file)')
    expect(await b.call('read_file', { path: 'bin' })).toContain('is a binary file')
    for (const path of ['/proc/self/environ', '/dev/zero', '/sys/kernel/version']) {
      expect(await b.call('read_file', { path })).toContain('tools cannot use')
    }
  })

  it('returns images by content to a model that sees, else a description', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'pic.txt'), PNG)
    const seen = await b.result('read_file', { path: 'pic.txt' })
    expect(seen.content[1]).toMatchObject({ type: 'image', mime: 'image/png', base64: PNG.toString('base64') })
    const blind = toolBench({}, false)
    writeFileSync(join(blind.root, 'pic.png'), PNG)
    expect(await blind.call('read_file', { path: 'pic.png' })).toContain('cannot see images')
    writeFileSync(join(b.root, 'big.png'), Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]))
    expect(await b.call('read_file', { path: 'big.png' })).toContain('the limit is 4 MB')
    writeFileSync(join(b.root, 'icon.ico'), Buffer.from([0, 0, 1, 0, 1, 0]))
    expect(await b.call('read_file', { path: 'icon.ico' })).toContain('models cannot view this format')
    writeFileSync(join(b.root, 'pic.svg'), '<svg/>')
    expect(await b.call('read_file', { path: 'pic.svg' })).toContain('<svg/>')
  })

  it('judges places after symlinks', async () => {
    const own = '/tmp/own-config.toml'
    const b = toolBench({ ownPaths: [own] })
    symlinkSync('/etc/hostname', join(b.root, 'link'))
    writeFileSync(join(b.root, '.env'), 'A=1')
    const zone = async (path: string) => (await b.ready('read_file', { path })).acts[1]
    expect(await zone('link')).toEqual({ act: 'read', path: '/etc/hostname', zone: 'outside' })
    expect(await zone('.env')).toMatchObject({ zone: 'secret' })
    expect(await zone('../workspace/x')).toMatchObject({ zone: 'workspace' })
    expect(await zone(own)).toMatchObject({ zone: 'own' })
    expect(await zone('~/x')).toMatchObject({ path: join(homedir(), 'x'), zone: 'outside' })
  })
})

describe('names that hold secrets', () => {
  it.each([
    '/w/.env',
    '/w/.env.local',
    '/w/key.pem',
    '/h/.ssh/config',
    '/h/.aws/credentials',
    '/w/id_rsa',
    '/etc/shadow',
    '/h/.kube/config',
    '/w/.npmrc',
    '/w/secrets.yaml',
  ])('%s', (path) => expect(holdsSecrets(path)).toBe(true))
  it.each([
    '/w/.env.example',
    '/w/environment.ts',
    '/w/id_rsa.pub',
    '/w/monkey.ts',
    '/w/keys.md',
    '/w/.github/workflows/x.yml',
  ])('not %s', (path) => expect(holdsSecrets(path)).toBe(false))
})

describe('write_file', () => {
  it('creates with folders, replaces and appends, each under its own label', async () => {
    const b = toolBench()
    expect((await b.ready('write_file', { path: 'd/e/a.txt', content: 'x' })).label).toBe('write_file')
    expect(await b.call('write_file', { path: 'd/e/a.txt', content: 'hello\n' })).toBe(
      'Wrote 6 characters to d/e/a.txt.',
    )
    expect(readFileSync(join(b.root, 'd/e/a.txt'), 'utf8')).toBe('hello\n')
    expect((await b.ready('write_file', { path: 'd/e/a.txt', content: 'x' })).label).toBe('write_file')
    expect((await b.ready('write_file', { path: 'd/e/a.txt', content: 'x', mode: 'append' })).label).toBe('append_file')
    await b.call('write_file', { path: 'd/e/a.txt', content: 'more', mode: 'append' })
    expect(readFileSync(join(b.root, 'd/e/a.txt'), 'utf8')).toBe('hello\nmore')
    writeFileSync(join(b.root, 'unread'), 'old')
    const over = await b.ready('write_file', { path: 'unread', content: 'new' })
    expect(over).toMatchObject({ label: 'overwrite_file', warning: expect.stringContaining('not read') })
  })

  it('belongs to the workspace’s user and keeps the mode', async () => {
    const b = toolBench()
    await b.call('write_file', { path: 'n/a.sh', content: 'x' })
    chmodSync(join(b.root, 'n/a.sh'), 0o755)
    await b.call('write_file', { path: 'n/a.sh', content: 'y' })
    const info = statSync(join(b.root, 'n/a.sh'))
    expect(info.mode & 0o777).toBe(0o755)
    if (b.runAs) expect([info.uid, statSync(join(b.root, 'n')).uid]).toEqual([b.runAs.uid, b.runAs.uid])
  })

  it('writes through a symlink to where it was approved, and nowhere else', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'real'), 'r')
    symlinkSync(join(b.root, 'real'), join(b.root, 'link'))
    const plan = await b.ready('write_file', { path: 'link', content: 'new' })
    expect(plan.warning).toContain(join(b.root, 'real'))
    const outside = join(b.base, 'outside')
    writeFileSync(outside, 'safe')
    const { unlinkSync } = await import('node:fs')
    unlinkSync(join(b.root, 'link'))
    symlinkSync(outside, join(b.root, 'link'))
    const result = await plan.run(runContext())
    expect(result.isError).toBe(true)
    expect(readFileSync(outside, 'utf8')).toBe('safe')
    expect(lstatSync(join(b.root, 'link')).isSymbolicLink()).toBe(true)
  })

  it('shows as payload exactly what is written', async () => {
    const b = toolBench()
    const content = 'ä\u202e\r\n'
    expect((await b.ready('write_file', { path: 'a', content })).payload.text).toBe(content)
    await b.call('write_file', { path: 'a', content })
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe(content)
  })
})

describe('edit_file', () => {
  async function edit(
    content: string,
    args: Record<string, unknown>,
    read = true,
  ): Promise<{ said: string; now: string }> {
    const b = toolBench()
    writeFileSync(join(b.root, 'f'), content)
    if (read) await b.call('read_file', { path: 'f' })
    const said = await b.call('edit_file', { path: 'f', ...args })
    return { said, now: readFileSync(join(b.root, 'f'), 'utf8') }
  }

  it('replaces exact text once', async () => {
    expect(await edit('a b c', { old_string: 'b', new_string: 'B' })).toEqual({
      said: 'Edited f: 1 replacement.',
      now: 'a B c',
    })
    expect((await edit('a b c', { old_string: 'b ', new_string: '' })).now).toBe('a c')
  })

  it('makes several edits together or not at all', async () => {
    const edits = [
      { old_string: 'a', new_string: 'bb' },
      { old_string: 'c', new_string: 'a' },
    ]
    expect((await edit('a c', { edits })).now).toBe('bb a')
    const bad = await edit('a c', { edits: [...edits, { old_string: 'zz', new_string: 'y' }] })
    expect(bad.said).toContain('edits[2]: old_string was not found')
    expect(bad.now).toBe('a c')
    const overlapping = await edit('abc', {
      edits: [
        { old_string: 'ab', new_string: 'x' },
        { old_string: 'bc', new_string: 'y' },
      ],
    })
    expect(overlapping.said).toContain('overlap')
    const same = { old_string: 'x', new_string: 'y' }
    expect(
      (
        await edit('x\nq\nx\n', {
          edits: [
            { ...same, near_line: 1 },
            { ...same, near_line: 3 },
          ],
        })
      ).now,
    ).toBe('y\nq\ny\n')
  })

  it('wants ambiguity resolved: near_line (ties to the earlier) or replace_all', async () => {
    expect((await edit('x\nx\nx', { old_string: 'x', new_string: 'y' })).said).toContain(
      'Found 3 occurrences of old_string (lines 1, 2, 3)',
    )
    expect((await edit('x\nx\nx', { old_string: 'x', new_string: 'y', near_line: '2' })).now).toBe('x\ny\nx')
    expect((await edit('x\nq\nx', { old_string: 'x', new_string: 'y', near_line: 2 })).now).toBe('y\nq\nx')
    expect((await edit('aaaa', { old_string: 'aa', new_string: 'b', replace_all: true })).now).toBe('bb')
  })

  it.each([
    [{ old_string: 'a', new_string: 'a' }, 'are the same'],
    [{ new_string: 'a' }, 'old_string is missing'],
    [{ old_string: 'a', new_string: 'b', edits: [{ old_string: 'a', new_string: 'c' }] }, 'not both'],
    [{ replace_all: true, edits: [{ old_string: 'a', new_string: 'c' }] }, 'cannot be combined with edits'],
    [{ old_string: 'a', new_string: 'b', replace_all: true, near_line: 1 }, 'cannot be combined with near_line'],
    [{ old_string: 'zz', new_string: 'b' }, 'Read the file again'],
    [{ edits: [5] }, 'edits.0 must be object'],
    [{ edits: [{ new_string: 'x' }] }, 'edits.0.old_string is missing'],
  ])('refuses %j', async (args, said) => expect((await edit('a', args)).said).toContain(said))

  it('takes an empty list of edits as the single form', async () => {
    expect((await edit('a', { old_string: 'a', new_string: 'b', edits: [] })).now).toBe('b')
  })

  it('wants the file read, and read again after a change from outside', async () => {
    expect((await edit('a', { old_string: 'a', new_string: 'b' }, false)).said).toContain('must be read')
    const b = toolBench()
    writeFileSync(join(b.root, 'f'), 'a')
    await b.call('read_file', { path: 'f' })
    writeFileSync(join(b.root, 'f'), 'a2')
    expect(await b.call('edit_file', { path: 'f', old_string: 'a', new_string: 'b' })).toContain(
      'has changed since you read it',
    )
    await b.call('diff_file', { path_a: 'f', content_b: 'x' })
    expect(await b.call('edit_file', { path: 'f', old_string: 'a2', new_string: 'b' })).toContain('Edited')
    expect(await b.call('edit_file', { path: 'f', old_string: 'b', new_string: 'c' })).toContain('Edited')
  })

  it('keeps CRLF, BOM and every byte that no edit names', async () => {
    expect((await edit('\ufeffone\r\ntwo\r\n', { old_string: 'one\ntwo', new_string: '1\n2' })).now).toBe(
      '\ufeff1\r\n2\r\n',
    )
    const b = toolBench()
    writeFileSync(join(b.root, 'f'), Buffer.from([0x61, 0xff, 0x62]))
    await b.call('read_file', { path: 'f' })
    expect(await b.call('edit_file', { path: 'f', old_string: 'a', new_string: 'b' })).toContain('not valid UTF-8')
  })

  it('shows the change as a diff before it is made', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'f'), 'a\nb\n')
    await b.call('read_file', { path: 'f' })
    const plan = await b.ready('edit_file', { path: 'f', old_string: 'b', new_string: 'B' })
    expect(plan.payload.text).toContain('-b\n+B')
    expect(readFileSync(join(b.root, 'f'), 'utf8')).toBe('a\nb\n')
  })

  it('shows a change of thousands of lines soon, the same each time, and whole', async () => {
    const b = toolBench()
    const lines = Array.from({ length: 9000 }, (_, i) => `a line ${i}`)
    writeFileSync(join(b.root, 'f'), ['first', ...lines, 'last'].join('\n'))
    await b.call('read_file', { path: 'f' })
    const change = { path: 'f', old_string: 'a line', new_string: 'THE line', replace_all: true }
    const started = Date.now()
    const plan = await b.ready('edit_file', change)
    expect(Date.now() - started).toBeLessThan(5000)
    const text = plan.payload.text
    expect(text).toMatch(/^--- f\n\+\+\+ f\n@@ -2,9000 \+2,9000 @@\n-a line 0\n/)
    expect(text.match(/^-a line /gm)).toHaveLength(9000)
    expect(text.match(/^\+THE line /gm)).toHaveLength(9000)
    expect(text).not.toMatch(/^[+-](?:first|last)/m)
    expect((await b.ready('edit_file', change)).payload.text).toBe(text)
  })

  it('counts a read in the same step', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'f'), 'a')
    const edit = { path: 'f', old_string: 'a', new_string: 'b' }
    expect((await b.plan('edit_file', edit)).kind).toBe('invalid')
    const read = (await b.ready('read_file', { path: 'f' })).effects?.reads ?? []
    expect(read).toEqual([join(b.root, 'f')])
    const earlier = {
      reads: (path: string) => read.includes(path),
      knows: () => false,
      contentOf: async () => undefined,
    }
    expect((await b.plan('edit_file', edit, { ...b.scope, earlier })).kind).toBe('ready')
  })
})

describe('write_file on a file that was not read', () => {
  it('does not count a file as read because something was appended to it', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'c.txt'), 'old content\n')
    expect((await b.ready('write_file', { path: 'c.txt', content: 'x' })).label).toBe('overwrite_file')
    await b.call('write_file', { path: 'c.txt', content: '', mode: 'append' })
    expect((await b.ready('write_file', { path: 'c.txt', content: 'x' })).label).toBe('overwrite_file')
  })

  it('does not count a read of the same step, whose result the model had not seen', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'c.txt'), 'old content\n')
    const earlier = { reads: () => true, knows: () => false, contentOf: async () => undefined }
    const plan = await b.plan('write_file', { path: 'c.txt', content: 'x' }, { ...b.scope, earlier })
    expect(plan).toMatchObject({ label: 'overwrite_file', warning: 'replaces a file that the model has not read' })
  })
})

describe('diff_file', () => {
  it('shows two files, or a text as the old side', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a'), 'one\ntwo\n')
    writeFileSync(join(b.root, 'b'), 'one\n2\n')
    const two = await b.call('diff_file', { path_a: 'a', path_b: 'b' })
    expect(two).toContain('--- a')
    expect(two).toContain('-two\n+2')
    expect(await b.call('diff_file', { path_a: 'a', content_b: 'one\nold\n' })).toContain('-old\n+two')
    expect(await b.call('diff_file', { path_a: 'a', content_b: 'one\ntwo\n' })).toBe('(no differences)')
    expect(await b.call('diff_file', { path_a: 'a', content_b: '' })).toContain('+one')
  })

  it('refuses neither, both, binaries and missing files', async () => {
    const b = toolBench()
    writeFileSync(join(b.root, 'a'), 'x')
    writeFileSync(join(b.root, 'bin'), Buffer.from([0, 1]))
    expect(await b.call('diff_file', { path_a: 'a' })).toContain('Give path_b or content_b')
    expect(await b.call('diff_file', { path_a: 'a', path_b: 'a', content_b: '' })).toContain('not both')
    expect(await b.call('diff_file', { path_a: 'bin', path_b: 'a' })).toContain('binary')
    expect(await b.call('diff_file', { path_a: 'nope', path_b: 'a' })).toContain('no such file')
    expect(existsSync(join(b.root, 'nope'))).toBe(false)
  })

  it('clamps its context', async () => {
    const b = toolBench()
    const lines = Array.from({ length: 60 }, (_, i) => `l${i}`)
    writeFileSync(join(b.root, 'a'), lines.join('\n'))
    const old = lines.map((l, i) => (i === 30 ? 'X' : l)).join('\n')
    const wide = await b.call('diff_file', { path_a: 'a', content_b: old, context_lines: 999 })
    expect(wide.split('\n').filter((l) => l.startsWith(' '))).toHaveLength(40)
    const none = await b.call('diff_file', { path_a: 'a', content_b: old, context_lines: 0 })
    expect(none.split('\n').filter((l) => l.startsWith(' '))).toHaveLength(0)
  })
})
