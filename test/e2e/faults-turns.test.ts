import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'
import type { Conversation } from '../support/world.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

describe.each(WORLDS)('the ends of turns on %s', (name) => {
  let s: Stage
  beforeAll(async () => {
    s = await stage(name, { toml: '[models.main.capabilities]\nsupports_vision = true\n' })
  })
  afterAll(async () => {
    expect(s.world.violations()).toEqual([])
    expect(s.model.violations).toEqual([])
    expect(s.world.pings()).toEqual([])
    await s.stop()
  })
  beforeEach(() => {
    s.jump(61_000)
    s.model.script([])
  })
  /** Nobody seems to be at work there, and typing that was begun has run out. */
  const quiet = async (c: Conversation): Promise<void> => {
    await until(() => !s.world.texts(c).some((t) => /…$|thinking/i.test(t)))
    await new Promise((next) => setTimeout(next, 300))
    s.jump(11_000)
    await new Promise((next) => setTimeout(next, 300))
    expect(s.world.atWork(c)).toEqual([])
  }

  it('a server that fails for good is one sentence, and nobody seems at work after it', async () => {
    const fault = { http: { status: 500, body: '<html>Internal <b>Error</b>\n at Object.<anonymous> (x.js:1:2)' } }
    s.model.script([fault, fault, fault, fault])
    const before = s.model.completions.length
    const c = await s.world.mention('alice', 'hi')
    for (let n = 1; n <= 3; n++) {
      await until(() => s.model.completions.length === before + n)
      await until(() => {
        s.jump(5000)
        return s.model.completions.length > before + n
      })
    }
    const text = await s.text(c, 'turn ')
    expect(text).toMatch(/failing \(HTTP 500\).*\(turn [0-9a-f]{8}\)/)
    expect(s.world.texts(c).join()).not.toMatch(/anonymous|<html/)
    await quiet(c)
  })

  it('nobody seems at work while a card waits, after an empty answer or after a stop', async () => {
    s.model.script([bash('echo hi'), '', 'x'])
    const c = await s.world.mention('alice', 'go')
    const card = await s.card(c)
    await quiet(c)
    await s.world.press('alice', c, card.id, 'approve')
    await s.text(c, 'empty answer')
    await quiet(c)
    const gate = s.model.gate()
    s.model.script([{ text: 'hello from before the stop, and some more', chunk: 10, holds: [{ at: 4, gate }] }])
    await s.world.write(c, 'alice', 'again')
    await gate.reached
    await s.text(c, 'hello from')
    const waits = await s.world.write(c, 'alice', 'and this waits')
    await until(() => s.world.signs(c, waits).length > 0)
    await s.world.write(c, 'bob', 'stop', true)
    // On Discord the answer is a public line.
    const reply = s.world.command('alice', c, 'stop').catch(() => '')
    await until(
      async () => /Stopped by alice.* 1 waiting message/.test([await reply, ...s.world.texts(c)].join()),
      10_000,
    )
    gate.release()
    await until(() => s.world.texts(c).some((t) => /\bStopped\b/.test(t) && !t.includes('by alice')))
    expect(s.world.texts(c).join()).toContain('hello from')
    await until(() => s.world.signs(c, waits).length === 0)
    await quiet(c)
    s.model.script(['alive'])
    await s.world.write(c, 'alice', 'there?')
    await s.text(c, 'alive')
    expect(said(s.model, 'user')).not.toContain('and this waits')
    await until(async () => (await s.world.command('alice', c, 'status')).includes('is idle'))
    expect(await s.world.command('alice', c, 'stop')).toContain('Nothing is running')
  })

  it('what a server says in its error is told without secrets', async () => {
    s.model.script([{ http: { status: 400, message: `no good: ${'x'.repeat(170)} ${s.model.key}${'k'.repeat(40)}` } }])
    const c = await s.world.mention('alice', 'hi')
    const text = await s.text(c, 'refused the request')
    expect(text).not.toContain(s.model.key)
    s.model.script([{ http: { status: 400, message: `the key ${s.model.key} is no good` } }])
    await s.world.write(c, 'alice', 'again')
    expect(await s.text(c, 'the key')).not.toContain(s.model.key)
  })

  it('a model that hangs is given up, and what was sent meanwhile is answered', async () => {
    const gate = s.model.gate()
    const hang = { text: 'never', holds: [{ at: 'headers' as const, gate }] }
    s.model.script([hang, hang, hang, hang, 'answer to both'])
    const before = s.model.completions.length
    const c = await s.world.mention('alice', 'hang')
    await until(() => s.model.completions.length === before + 1)
    await s.world.write(c, 'alice', 'first meanwhile')
    const last = await s.world.write(c, 'alice', 'second meanwhile')
    await until(() => s.world.signs(c, last).length > 0)
    for (let n = 1; n <= 4; n++) {
      await new Promise((next) => setTimeout(next, 100))
      s.jump(121_000)
      await new Promise((next) => setTimeout(next, 100))
      s.jump(6000)
      await until(() => s.model.completions.length > before + n)
    }
    await s.text(c, 'answer to both')
    expect(s.world.texts(c).join('\n')).toMatch(/stopped answering for two minutes.*\(turn [0-9a-f]{8}\)/)
    expect(said(s.model, 'user')).toEqual([
      'hang',
      expect.stringContaining('This turn failed'),
      'first meanwhile',
      'second meanwhile',
    ])
    await until(() => s.world.signs(c, last).length === 0)
    gate.release()
  })

  it('an image that the provider refuses becomes a note, now and later', async () => {
    s.model.script([
      { http: { status: 400, message: 'Could not process image', code: 'invalid_image' } },
      'without it',
      'still fine',
    ])
    const c = await s.world.withFiles('alice', 'look', [{ name: 'a.png', bytes: PNG }])
    await s.text(c, 'without it')
    expect(s.world.texts(c).join()).toContain('could not read an image')
    await s.world.write(c, 'alice', 'next')
    await s.text(c, 'still fine')
    expect(said(s.model, 'user').join()).not.toContain('base64')
  })

  it('hostile names of files are shown and passed on as plain words', async () => {
    const names = [
      '../../etc/passwd',
      '/etc/x',
      'a`b`<!channel>@everyone.bin',
      `${'n'.repeat(300)}.bin`,
      'x\u202Etxt.exe',
    ]
    s.model.script(['got them'])
    const files = names.map((n) => ({ name: n, bytes: Buffer.from([0, 1]) }))
    const c = await s.world.withFiles('alice', 'files', files)
    await s.text(c, 'got them')
    const told = s.world.texts(c).join('\n') + said(s.model, 'user').join('\n')
    expect(told).toMatch(/Not read/)
    expect(told).not.toMatch(/\.\.\/|\/etc|\u202e/)
    expect(told).not.toContain('n'.repeat(200))
  })

  it('a hundred headings, tables and sixty thousand characters arrive whole and in order', async () => {
    const parts = Array.from(
      { length: 100 },
      (_, i) => `# Heading h${i}\n\ntext p${i} <b> & \`a<b && c>d\` ${'word '.repeat(110)}`,
    )
    const wide = `|${' c |'.repeat(40)}\n|${'---|'.repeat(40)}\n|${' x |'.repeat(40)}`
    const tall = `| k | v |\n|---|---|\n${Array.from({ length: 150 }, (_, i) => `| r${i} | ${i % 3 ? `\`v${i}\`` : ''} |`).join('\n')}`
    const nested = '- one\n  1. two\n     - three\n- four'
    s.model.script([{ text: [...parts, wide, tall, nested, 'the very end'].join('\n\n'), chunk: 997 }])
    const c = await s.world.mention('alice', 'all of it')
    await s.text(c, 'the very end', 40_000)
    await until(() => s.world.atWork(c).length === 0 || name === 'discord')
    const shown = s.world.texts(c).join('\n')
    const order = (mark: RegExp): string[] => [...shown.matchAll(mark)].map((m) => m[0])
    expect(order(/\bh\d+\b/g)).toEqual(parts.map((_, i) => `h${i}`))
    expect(order(/\bp\d+\b/g)).toEqual(parts.map((_, i) => `p${i}`))
    expect(order(/\br\d+\b/g)).toEqual(Array.from({ length: 150 }, (_, i) => `r${i}`))
    expect(shown.match(/a<b && c>d/g)).toHaveLength(100)
  })

  it('a message that vanishes at once harms nothing', async () => {
    s.model.script(['here', 'here'])
    const c = await s.world.mention('alice', 'gone')
    await s.world.deleteMessage(c, c.message)
    s.jump(1000)
    const d = await s.world.mention('alice', 'stays')
    s.model.script('here')
    await s.text(d, 'here')
    expect((await s.gateway.health()).status).toBe(200)
  })
})
