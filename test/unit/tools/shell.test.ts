import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../../src/model/message.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { blockedBy } from '../../../tools/support/blocklist.ts'
import { OutputCollector } from '../../../tools/support/output-collector.ts'
import { scrubEnv } from '../../../tools/support/scrub-env.ts'
import { runContext, toolBench } from '../../support/tool-bench.ts'

describe('bash', () => {
  it('returns output, marks standard error, tells exit codes', async () => {
    const b = toolBench()
    expect(await b.call('bash', { command: 'echo out; echo err >&2; echo both 2>&1' })).toMatch(/out/)
    expect(await b.call('bash', { command: 'echo err >&2' })).toBe('[stderr] err')
    expect(await b.call('bash', { command: 'echo x 1>&2 2>&1 | cat; true' })).toContain('x')
    expect(await b.call('bash', { command: 'true' })).toBe('(no output)')
    expect(await b.call('bash', { command: 'exit 3' })).toBe('(no output)\n[exit code: 3]')
    expect(await b.call('bash', { command: '  ' })).toContain('command is empty')
  })

  it('flags exit codes from 2 on, signals, and 1 only where it stops on errors', async () => {
    const b = toolBench()
    const isError = async (args: Record<string, unknown>) => (await b.result('bash', args)).isError
    expect(await isError({ command: 'exit 1' })).toBe(false)
    expect(await isError({ command: 'exit 2' })).toBe(true)
    expect(await isError({ command: 'kill -9 $$' })).toBe(true)
    expect(await isError({ command: 'false; echo on', stop_on_error: true })).toBe(true)
    expect(await b.call('bash', { command: 'false; echo on', stop_on_error: true })).not.toContain('on\n')
    expect(await b.call('bash', { command: 'false | true; echo $?' })).toBe('1')
  })

  it('ends at its timeout with what it had printed, and says that the outcome is unknown', async () => {
    const b = toolBench({ timeoutMs: 300 })
    const result = await b.result('bash', { command: 'echo begun; sleep 30' })
    expect(result.isError).toBe(true)
    expect(textOf(result.content)).toBe('begun')
    expect(result.trailer).toContain('timed out after 0.3 s')
  })

  it('stops at once when the turn is stopped', async () => {
    const b = toolBench()
    const stop = new AbortController()
    const started = Date.now()
    const running = b.result('bash', { command: 'sleep 300' }, stop.signal)
    setTimeout(() => stop.abort(new Error('stopped')), 200)
    await expect(running).rejects.toThrow('stopped')
    expect(Date.now() - started).toBeLessThan(3000)
  })

  it('returns with a background child, and reads nothing from standard input', async () => {
    const b = toolBench()
    const started = Date.now()
    expect(await b.call('bash', { command: 'sleep 600 & echo ok' })).toBe('ok')
    expect(await b.call('bash', { command: '(sleep 600) >/dev/null 2>&1 & disown; echo ok' })).toBe('ok')
    expect(await b.call('bash', { command: 'cat; read x; echo end' })).toBe('end')
    expect(Date.now() - started).toBeLessThan(5000)
  })

  it('streams its output as it comes', async () => {
    const b = toolBench()
    const seen: string[] = []
    const plan = await b.ready('bash', { command: 'echo one; sleep 0.2; echo two' })
    await plan.run(runContext({ progress: (update) => seen.push(update.text) }))
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.join('')).toBe('one\ntwo\n')
  })

  it('keeps control bytes, colours and broken text out of its result', async () => {
    const b = toolBench()
    const text = await b.call('bash', {
      command: String.raw`head -c 20000 /dev/urandom; printf '\033[31mred\033[0m\r\a'`,
    })
    expect(text).not.toMatch(/[\u0000-\u0008\u001b]/)
    expect(text.isWellFormed()).toBe(true)
  })

  it('never runs as root, and sees no secret of the gateway', async () => {
    const env = {
      ...process.env,
      TURNSTONE_DISCORD_TOKEN: 'tok',
      OPENAI_API_KEY: 'key',
      MY_PASSWORD: 'pw',
      TZ: 'Europe/Paris',
    }
    const b = toolBench({ env, passEnv: [] })
    expect(await b.call('bash', { command: 'id -u' })).not.toBe('0')
    const seen = await b.call('bash', { command: 'env' })
    expect(seen).toContain('TZ=Europe/Paris')
    expect(seen).not.toMatch(/tok|key|pw|TURNSTONE/)
    expect(await b.call('bash', { command: 'echo x > made && cat made && pwd' })).toBe(`x\n${b.root}`)
  })

  it('shows the whole script as payload and the first line as header', async () => {
    const b = toolBench()
    const plan = await b.ready('bash', { command: 'one\ntwo\nthree', timeout: 5, stop_on_error: true })
    expect(plan.header).toBe('[timeout 5 s, stops on error] one (2 more lines)')
    expect(plan.payload.text).toBe('one\ntwo\nthree')
    expect(await b.call('bash', { command: 'x', timeout: 601 })).toContain('timeout must be <= 600')
  })
})

describe('the blocklist', () => {
  it.each([
    'rm -rf /',
    'rm  -rf   /',
    'sudo rm -rf / --no-preserve-root',
    'rm -fr /*',
    'rm -r -f /',
    'echo hi; rm -rf /',
    'mkfs.ext4 /dev/sda1',
    'shutdown now',
    '/sbin/reboot',
    'dd if=/dev/zero of=/dev/sda',
    'echo x > /dev/sda',
    ':(){ :|:& };:',
    'mv / /x',
    'chmod -R 777 /',
    'chown -R me .',
    'cat /proc/self/environ',
    'rm –rf /',
    'sudo /usr/bin/rm -rf -- /',
  ])('stops %j', (command) => expect(blockedBy(command)).toBeDefined())

  it.each([
    'rm -rf /tmp/x',
    'echo asphalt',
    'rm -rf ./build',
    'mv a /x',
    'cat /proc/cpuinfo',
    'git push',
    'chmod -R 777 /tmp/x',
    'rebooted=1',
    'cat docs/reboot',
    './rm -rf /tmp/x',
  ])('lets %j pass', (command) => expect(blockedBy(command)).toBeUndefined())

  it('marks the plan, so that nobody is asked', async () => {
    const b = toolBench()
    expect((await b.ready('bash', { command: 'rm -rf /' })).blocked).toBe('rm -rf /')
  })
})

describe('a child’s environment', () => {
  const token = 'k9x2m4q8w1z7p3v6'

  it('E7a keeps plain names and what is passed by name', () => {
    const env = {
      PATH: '/bin',
      LC_ALL: 'C',
      TZ: 'Europe/Paris',
      BOT: token,
      LLM_AUTH: token,
      PGPASSWORD: token,
      REDIS_URL: `redis://:${token}@h`,
      MONKEYTYPE: 'y',
      GIT_CONFIG: 'g',
      DEPLOY_KEY: 'd8f2k4m6x1z3',
    }
    expect(scrubEnv(env)).toEqual({ PATH: '/bin', LC_ALL: 'C', TZ: 'Europe/Paris' })
    expect(scrubEnv(env, ['DEPLOY_KEY'])).toMatchObject({ DEPLOY_KEY: 'd8f2k4m6x1z3' })
  })

  it('E7a lets nothing pass that holds a secret of ours, by whatever name', () => {
    const env = {
      PATH: `/bin:/x/${token}`,
      BOT: token,
      COPY: `Bearer ${token}`,
      TERM: 'ghp_abcdefghijklmnopqrstuvwxyz0123',
    }
    expect(scrubEnv(env, ['BOT', 'COPY'], [token])).toEqual({})
  })

  it('E7a is what a script sees', async () => {
    const env = { ...process.env, BOT: token, TOKEN: token, MYSQL_PWD: token, DEPLOY_KEY: 'd8f2k4m6x1z3' }
    const b = toolBench({ env, passEnv: ['DEPLOY_KEY', 'BOT'], ownSecrets: [token] })
    const seen = await b.call('bash', { command: 'env' })
    expect(seen).not.toContain(token)
    expect(seen).toContain('DEPLOY_KEY=d8f2k4m6x1z3')
    expect(seen).toContain('PATH=')
  })
})

describe('what a script prints', () => {
  const secret = 'k9x2m4q8w1z7p3v6-t5r4e3w2q1'

  it('E7c loses its secrets before it is cut', async () => {
    const b = toolBench({ redactor: createRedactor([secret]) })
    // Head and tail are 128 KiB each: the secret lies over each cut in turn.
    for (const at of [131_072 - 20, 131_072 - 5]) {
      const command = `printf '%0${at}d' 0; printf %s k9x2m4q8w1z7p3v6; printf %s\\\\n -t5r4e3w2q1; printf '%0200000d' 0`
      const seen = textOf((await b.result('bash', { command })).content)
      expect(seen.includes('characters of output omitted')).toBe(true)
      expect(/k9x2m4q|5r4e3w2q/.test(seen)).toBe(false)
    }
  })
})

describe('long lines', () => {
  const token = `ghp_${'a1B2'.repeat(8)}`

  it('E7c lose no part of a secret at either cut, in read_file', async () => {
    const b = toolBench()
    // Heads and tails are 8 KB each.
    const lines = [0, 4, 8, 12, 20, 28].map((n) => {
      const side = 'ab '.repeat(2720) + 'x '.repeat(n)
      return `${side}${token} ${'z '.repeat(20_000)} ${token}${side}`
    })
    writeFileSync(join(b.root, 'long.txt'), lines.join('\n'))
    const seen = await b.call('read_file', { path: 'long.txt' })
    expect(seen).toContain('characters of this line are left out')
    expect(createRedactor().redact(seen)).not.toContain('a1B2a1')
  })

  it('E7c lose no part of a secret where search cuts them', async () => {
    const b = toolBench()
    const lines = [0, 6, 12, 20, 30].map(
      (n) => `needle ${'x'.repeat(980)} ${'y '.repeat(n)}${token} ${'z'.repeat(400)}`,
    )
    writeFileSync(join(b.root, 'long.txt'), lines.join('\n'))
    const seen = await b.call('search', { query: 'needle' })
    expect(seen).toContain('line cut')
    expect(createRedactor().redact(seen)).not.toContain('a1B2a1')
  })
})

describe('collected output', () => {
  it('keeps head and tail of a flood and says what is missing', () => {
    const collector = new OutputCollector()
    for (let i = 0; i < 20_000; i++) collector.add('stdout', `line ${i} ${'x'.repeat(50)}\n`)
    const text = collector.text()
    expect(text.length).toBeLessThan(262_144 + 200)
    expect(text.startsWith('line 0 ')).toBe(true)
    expect(text).toContain('line 19999 ')
    expect(text).toMatch(/\[… \d+ characters of output omitted …\]/)
  })

  it('holds no endless line for ever', () => {
    const collector = new OutputCollector()
    for (let i = 0; i < 100; i++) collector.add('stderr', 'y'.repeat(10_000))
    expect(collector.text().length).toBeLessThan(262_144 + 400)
  })
})

describe('search', () => {
  function searchBench() {
    const b = toolBench()
    mkdirSync(join(b.root, 'src/deep'), { recursive: true })
    mkdirSync(join(b.root, 'node_modules/x'), { recursive: true })
    writeFileSync(join(b.root, 'src/a.ts'), 'const needle = 1\nother\n')
    writeFileSync(join(b.root, 'src/deep/b.ts'), 'x\nneedle again\n')
    writeFileSync(join(b.root, '.hidden'), 'needle hidden\n')
    writeFileSync(join(b.root, 'node_modules/x/i.js'), 'needle module\n')
    writeFileSync(join(b.root, '.env'), 'needle=secret\n')
    writeFileSync(join(b.root, 'bin'), Buffer.from('needle\u0000'))
    writeFileSync(join(b.root, '.gitignore'), 'src\n')
    symlinkSync('/etc', join(b.root, 'etc-link'))
    return b
  }

  it('finds lines with path and number; hidden files yes, secrets, modules and links no', async () => {
    const b = searchBench()
    const text = await b.call('search', { query: 'needle' })
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'src/a.ts:1:const needle = 1',
        'src/deep/b.ts:2:needle again',
        '.hidden:1:needle hidden',
      ]),
    )
    expect(text).not.toMatch(/secret\b.*=|module|etc-link/)
    expect(text).toContain('1 file was left out')
  })

  it('takes extended expressions, patterns that begin with a dash, and a path', async () => {
    const b = searchBench()
    expect(await b.call('search', { query: 'need(le|y) =', path: 'src/a.ts' })).toContain('src/a.ts:1:')
    writeFileSync(join(b.root, 'dash'), '-e foo\n')
    expect(await b.call('search', { query: '-e foo' })).toContain('dash:1:-e foo')
    expect(await b.call('search', { query: 'nothing-here-at-all' })).toContain('(no matches)')
    expect(await b.call('search', { query: '(' })).toContain('not a valid extended regular expression')
    expect(await b.call('search', { query: 'x', path: 'nowhere' })).toContain('no such file or directory')
  })

  it('leaves out what policy would not let be read', async () => {
    const b = searchBench()
    const scope = { ...b.scope, mayRead: (path: string) => !path.endsWith('a.ts') }
    const plan = await b.plan('search', { query: 'needle' }, scope)
    if (plan.kind !== 'ready') throw new Error(plan.error)
    const result = await plan.run(runContext())
    expect(textOf(result.content)).not.toContain('a.ts')
    expect(textOf(result.content)).toContain('2 files were left out')
  })

  it('shows fewer of many matches, then counts', async () => {
    const b = toolBench()
    for (let f = 0; f < 40; f++) writeFileSync(join(b.root, `f${f}.txt`), `needle ${'y'.repeat(60)}\n`.repeat(90))
    const some = await b.call('search', { query: 'needle' })
    expect(some.length).toBeLessThan(32_768 + 200)
    expect(some).toContain('f0.txt: and 85 more')
    for (let f = 0; f < 900; f++) writeFileSync(join(b.root, `g${f}.txt`), `needle ${'y'.repeat(90)}\n`)
    expect(await b.call('search', { query: 'needle' })).toContain('Too many matches to show')
  })
})
