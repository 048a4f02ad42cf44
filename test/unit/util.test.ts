import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../src/util/log.ts'
import { prettyLine } from '../../src/util/pretty-log.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { runProcess } from '../../src/util/run-process.ts'
import { parseDuration, sleep, systemClock } from '../../src/util/time.ts'
import { makeVisible, oneLine, plainTerminal } from '../../src/util/visible.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { isRunning } from '../support/processes.ts'

describe('durations', () => {
  it.each([
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['90', 90_000],
    ['1.5s', 1500],
    ['1m5s250ms', 65_250],
    [0, 0],
    ['0', 0],
  ])('%j', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', 'soon', '5m1h', '-5', '1x', '1 week'])('%j is none', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  )
})

describe('sleep', () => {
  it('ends with the clock or the signal', async () => {
    const clock = new ManualClock()
    let done = false
    void sleep(clock, 1000).then(() => {
      done = true
    })
    await clock.advance(999)
    expect(done).toBe(false)
    await clock.advance(1)
    expect(done).toBe(true)
    const stop = new AbortController()
    const cut = sleep(clock, 1000, stop.signal)
    stop.abort(new Error('stopped'))
    await expect(cut).rejects.toThrow('stopped')
    expect(clock.pending).toBe(0)
  })
})

const TOKENS = [
  `ts_${'a1'.repeat(32)}`,
  'xoxb-123456789012-abcdefghij',
  'xapp-1-A0123456789-abcdef',
  'sk-proj-abcdefghijklmnop1234',
  'sk-ant-api03-abcdefghijklmnop',
  'ghp_abcdefghijklmnopqrstuvwxyz0123',
  'github_pat_abcdefghijklmnopqrstuvwxyz',
  'AKIAABCDEFGHIJKLMNOP',
  `AIza${'b'.repeat(35)}`,
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.c2lnbmF0dXJlLWhlcmU',
  `MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.${'x'.repeat(38)}`,
  '-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----',
]

describe('redaction', () => {
  const redactor = createRedactor(['hunter2-long-secret', 'pa"ss/word'])

  it.each(TOKENS)('takes out %s', (token) => {
    const out = redactor.redact(`before ${token} after`)
    expect(out).toBe('before [redacted] after')
    expect(redactor.containsSecret(token)).toBe(true)
  })

  it('takes out configured values however they are spelled', () => {
    expect(redactor.redact('x=hunter2-long-secret;')).toBe('x=[redacted];')
    expect(redactor.redact(JSON.stringify({ a: 'pa"ss/word' }))).toBe('{"a":"[redacted]"}')
    expect(redactor.redact(encodeURIComponent('pa"ss/word'))).toBe('[redacted]')
    expect(redactor.containsSecret('nothing here, not even sk- or ghp_')).toBe(false)
  })

  it('finds secrets over chunk borders, wherever they fall, and loses nothing else', () => {
    const secrets = [...TOKENS, 'hunter2-long-secret']
    const words = fc.array(fc.oneof(fc.constantFrom(...secrets), fc.string({ maxLength: 12 })), { maxLength: 6 })
    fc.assert(
      fc.property(words, fc.array(fc.nat({ max: 40 }), { maxLength: 30 }), (parts, cuts) => {
        const text = parts.join(' ')
        const stream = redactor.stream()
        let out = ''
        let at = 0
        for (const cut of cuts) {
          out += stream.push(text.slice(at, at + cut))
          at += cut
        }
        out += stream.push(text.slice(at)) + stream.end()
        for (const secret of secrets) expect(out).not.toContain(secret)
        expect(out).toBe(redactor.redact(text))
      }),
      { numRuns: 300 },
    )
  })

  it('covers the log: messages, fields and errors with causes', () => {
    const lines: string[] = []
    const log = createLog('info', redactor, (line) => lines.push(line))
    const cause = new Error('inner hunter2-long-secret')
    log.error({ err: new Error('outer', { cause }), token: 'xoxb-123456789012-abcdefghij' }, 'hunter2-long-secret')
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toMatch(/hunter2|xoxb-/)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', msg: '[redacted]' })
  })

  it('covers the log for people as well', () => {
    const lines: string[] = []
    const log = createLog(
      'info',
      redactor,
      (line) => lines.push(line),
      (json) => prettyLine(json, true),
    )
    const cause = new Error('inner hunter2-long-secret')
    log.error({ err: new Error('outer', { cause }), token: 'xoxb-123456789012-abcdefghij' }, 'hunter2-long-secret')
    expect(lines.join('')).not.toMatch(/hunter2|xoxb-/)
    expect(lines.join('')).toContain('[redacted]')
  })
})

describe('a log line for people', () => {
  const json = (fields: Record<string, unknown>): string => `${JSON.stringify(fields)}\n`
  const time = new Date(2026, 0, 31, 9, 5, 7).toISOString()

  it('has time, level, message and fields', () => {
    const line = json({ level: 'info', time, url: 'http://127.0.0.1:1', count: 2, name: 'two words', msg: 'ready' })
    expect(prettyLine(line, false)).toBe('09:05:07 INFO  ready url=http://127.0.0.1:1 count=2 name="two words"\n')
  })

  it('is coloured only where it is asked for', () => {
    const line = json({ level: 'warn', time, msg: 'x' })
    expect(prettyLine(line, true)).toBe('\u001b[2m09:05:07\u001b[0m \u001b[33mWARN \u001b[0m \u001b[1mx\u001b[0m\n')
  })

  it('shows an error’s stack and causes below', () => {
    const cause = { name: 'Error', message: 'refused', code: 'ECONNREFUSED' }
    const err = { name: 'Error', message: 'outer', stack: 'Error: outer\n    at f (a.ts:1:1)', cause }
    expect(prettyLine(json({ level: 'error', time, err, msg: 'failed' }), false)).toBe(
      '09:05:07 ERROR failed\n    Error: outer\n    at f (a.ts:1:1)\n    caused by\n    Error: refused (ECONNREFUSED)\n',
    )
  })

  it('holds nothing that a terminal would interpret, and no second line', () => {
    const line = json({ level: 'info', time, who: 'a\n10:00:00 INFO fake', msg: 'x\u001b[2J\u202ey' })
    expect(prettyLine(line, false)).toBe('09:05:07 INFO  x\\u001b[2J\\u202ey who="a\\n10:00:00 INFO fake"\n')
  })

  it('leaves what is no JSON as it is', () => {
    expect(prettyLine('plain\n', false)).toBe('plain\n')
  })
})

describe('what is shown', () => {
  it('makes hidden and direction-changing characters visible', () => {
    expect(makeVisible('a\u202eb\u200bc\u0007')).toBe('a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩')
    expect(makeVisible('plain\ttext\näöü 東京 😀')).toBe('plain\ttext\näöü 東京 😀')
  })

  it('strips what terminals interpret', () => {
    expect(plainTerminal('\u001b[31mred\u001b[0m 10%\r100%\r\nnext\u0007')).toBe(
      'red 10%\r100%\nnext'.replace(/^.*\r/, ''),
    )
  })

  it('keeps a line one line and whole characters', () => {
    expect(oneLine('a\n b\t c', 50)).toBe('a b c')
    expect(oneLine(`${'x'.repeat(8)}😀y`, 10)).toBe(`${'x'.repeat(8)}…`)
  })
})

describe('a process', () => {
  const request = {
    command: 'bash',
    cwd: '/tmp',
    env: { PATH: process.env.PATH ?? '' },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  }

  it('returns although a background child holds its pipes, and leaves none behind', async () => {
    let out = ''
    const started = Date.now()
    const result = await runProcess(
      { ...request, args: ['-c', 'sleep 60 & echo $!; echo ok'], onOutput: (_s, text) => (out += text) },
      systemClock,
    )
    expect(result).toMatchObject({ code: 0, ended: 'exit' })
    expect(Date.now() - started).toBeLessThan(3000)
    const [pid] = out.split('\n')
    expect(out).toContain('ok')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isRunning(Number(pid))).toBe(false)
  })

  it('has an empty standard input', async () => {
    let out = ''
    await runProcess(
      { ...request, args: ['-c', 'cat; read x; echo end'], onOutput: (_s, text) => (out += text) },
      systemClock,
    )
    expect(out).toBe('end\n')
  })

  it('is ended with its group at the timeout and at an abort', async () => {
    const late = await runProcess({ ...request, args: ['-c', 'sleep 60 & sleep 60'], timeoutMs: 200 }, systemClock)
    expect(late.ended).toBe('timeout')
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 100)
    const cut = await runProcess(
      { ...request, args: ['-c', 'trap "" TERM; sleep 60'], signal: stop.signal },
      systemClock,
    )
    expect(cut.ended).toBe('aborted')
  })
})
