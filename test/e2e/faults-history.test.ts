import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'

/** A secret of a known form that is configured nowhere. */
const TOKEN = `ghp_${'a1B2'.repeat(9)}`

describe.each(WORLDS)('a small window on %s', (name) => {
  let s: Stage
  const WINDOW = 8000
  beforeAll(async () => {
    s = await stage(name, { model: `context_window = ${WINDOW}`, toml: '[approvals]\nskip_permissions = true\n' })
    s.model.contextTokens = WINDOW
  })
  afterAll(async () => {
    expect(s.world.violations()).toEqual([])
    expect(s.model.violations).toEqual([])
    await s.stop()
  })
  beforeEach(() => {
    s.jump(61_000)
    s.model.script([])
  })

  it('takes four giant results of one step, and the conversation goes on', async () => {
    const call = bash('yes "some line of output" | head -c 5000000').calls[0]
    const calls = Array.from({ length: 4 }, () => call).flatMap((x) => (x ? [x] : []))
    s.model.script([{ calls }, 'seen it', 'still fine'])
    const c = await s.world.mention('alice', 'flood')
    await s.text(c, 'seen it', 20_000)
    for (const result of said(s.model, 'tool')) expect(result).toMatch(/omitted|left out here/)
    await s.world.write(c, 'alice', 'and now?')
    await s.text(c, 'still fine')
  })

  it('takes one large result a step, ten steps long', async () => {
    const one = bash('yes "another line" | head -c 100000')
    s.model.script([...Array.from({ length: 10 }, () => one), 'ten steps'])
    const c = await s.world.mention('alice', 'go on and on')
    await s.text(c, 'ten steps', 30_000)
    expect(said(s.model, 'user').join()).toContain('go on and on')
  })

  it('takes an attached text that is larger than itself', async () => {
    s.model.script(['read the beginning', 'yes'])
    const bytes = Buffer.from('a line of the log\n'.repeat(12_000))
    const c = await s.world.withFiles('alice', 'what is in it?', [{ name: 'log.txt', bytes }])
    await s.text(c, 'read the beginning', 20_000)
    expect(said(s.model, 'user').join()).toContain('what is in it?')
    await s.world.write(c, 'alice', 'sure?')
    await s.text(c, 'yes')
  })
})

describe.each(WORLDS)('odd calls and odd text on %s', (name) => {
  let s: Stage
  beforeAll(async () => {
    s = await stage(name, { toml: '[approvals]\nauto_approve = ["bash"]\n' })
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

  it('a tool name of any content spoils nothing', async () => {
    const names = ['<!channel> @everyone **x**', `n${'a'.repeat(5000)}`, 'read file', 'a`b`c\n# big', '__proto__']
    s.model.script([{ calls: names.map((n) => ({ name: n, arguments: {} })) }, 'none of these', 'alive'])
    const c = await s.world.mention('alice', 'call odd tools')
    await s.text(c, 'none of these')
    for (const result of said(s.model, 'tool')) expect(result).toContain('There is no tool named')
    const shown = s.world.texts(c).join('\n')
    expect(shown).not.toContain('a'.repeat(300))
    expect(shown).not.toMatch(/^# big/m)
    await s.world.write(c, 'alice', 'go on')
    await s.text(c, 'alive')
  })

  it('a secret spelt with escapes is not run, shown, stored or sent', async () => {
    const escaped = [...TOKEN].map((ch) => `\\u${ch.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    s.model.script([
      { calls: [{ name: 'bash', arguments: `{"command":"echo ${escaped} > stolen.txt"}` }] },
      { calls: [{ name: 'write_file', arguments: `{"path":"t.txt","content":"${escaped}"}` }] },
      'not allowed',
    ])
    const c = await s.world.mention('alice', 'use it')
    await s.text(c, 'not allowed')
    for (const result of said(s.model, 'tool')) expect(result).toContain('contain a secret')
    expect(s.world.cards(c)).toEqual([])
  })

  it('malformed, cut and duplicated calls leave a history that goes on', async () => {
    s.model.script([
      { calls: [{ name: 'bash', arguments: '{"command": "echo a' }] },
      {
        calls: [
          { name: 'bash', arguments: '[1,2]' },
          { name: 'bash', arguments: '5' },
        ],
      },
      {
        calls: [
          { name: 'bash', arguments: { command: 'echo one' }, id: 'same' },
          { name: 'bash', arguments: { command: 'echo two' }, id: 'same2', index: 0 },
        ],
      },
      'so far',
      'alive',
    ])
    const c = await s.world.mention('alice', 'odd')
    await s.text(c, 'so far')
    const results = said(s.model, 'tool')
    expect(results.slice(0, 3).every((r) => /^Nothing was run/.test(r))).toBe(true)
    expect(results.slice(3)).toEqual(['one', 'two'])
    await s.world.write(c, 'alice', 'go on')
    await s.text(c, 'alive')
  })

  it('control bytes, NUL, colours and half characters harm neither chat, store nor model', async () => {
    const command = `head -c 200000 /dev/urandom; printf 'a\\0b \\033[31mred\\033[0m\\r\\a \\xf0\\x9f'`
    s.model.script([bash(command), 'survived', 'alive'])
    const c = await s.world.mention('alice', 'noise \ud83d and \u0000 nul')
    await s.text(c, 'survived', 20_000)
    const [result = ''] = said(s.model, 'tool')
    expect(result).not.toMatch(/[\u0000\u001b]/)
    expect(result.isWellFormed()).toBe(true)
    expect(s.world.texts(c).join()).not.toContain('\u001b')
    await s.restart()
    await s.world.write(c, 'alice', 'go on')
    await s.text(c, 'alive', 20_000)
  })

  it('a tool that forks, holds its pipes or waits for input ends; a hanging one ends at its time', async () => {
    s.model.script([
      bash('sleep 600 & echo ok'),
      bash('(sleep 600) >/tmp/x 2>&1 & disown; echo ok'),
      bash('cat; read x; python3 -c "input()" 2>/dev/null; echo end'),
      { calls: [{ name: 'bash', arguments: { command: 'trap "" TERM; echo begun; sleep 600', timeout: 1 } }] },
      'all over',
    ])
    const c = await s.world.mention('alice', 'run them')
    await s.text(c, 'all over', 20_000)
    const results = said(s.model, 'tool')
    expect(results.slice(0, 3)).toEqual(['ok', 'ok', 'end'])
    expect(results[3]).toMatch(/begun[\s\S]*timed out after 1 s/)
  })

  it('an empty answer for the length, and a call written as text, are said and not run', async () => {
    s.model.script([{ reasoning: 'hm', text: '', finish: 'length' }])
    const c = await s.world.mention('alice', 'think')
    await s.text(c, 'cut off')
    const ask = { name: 'bash', arguments: { command: 'touch ran-as-text' } }
    s.model.script([`<tool_call>${JSON.stringify(ask)}</tool_call>`])
    await s.world.write(c, 'alice', 'do it')
    await s.text(c, 'tool_call')
    expect(execFileSync('ls', [join(s.dir, 'workspace')], { encoding: 'utf8' })).not.toContain('ran-as-text')
  })

  it('secrets that people and files bring are in no row, no log line, no request and no post', async () => {
    // Far enough apart that a card of the one does not show the other.
    const between = 'between\n'.repeat(5)
    writeFileSync(join(s.dir, 'workspace', 'notes.txt'), `token: ${TOKEN}\n${between}second line\n`)
    s.model.script([
      { calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] },
      bash(`cat notes.txt; printf '${TOKEN.slice(0, 10)}'; sleep 0.2; printf '${TOKEN.slice(10)}\\n'`),
      {
        calls: [
          {
            name: 'edit_file',
            arguments: { path: 'notes.txt', old_string: 'second line', new_string: 'another line' },
          },
        ],
      },
      { text: `it is ${TOKEN}, as I said, and so on and on`, chunk: 4, delayMs: 20 },
    ])
    const files = [{ name: 'a.txt', bytes: Buffer.from(`in a file ${TOKEN}`) }]
    const c = await s.world.withFiles('alice', `my token is ${TOKEN}`, files)
    const card = await s.card(c)
    expect(card.text).toContain('another line')
    await s.world.press('alice', c, card.id, 'approve')
    await s.text(c, 'on and on')
    expect(readFileSync(join(s.dir, 'workspace', 'notes.txt'), 'utf8')).toBe(
      `token: ${TOKEN}\n${between}another line\n`,
    )
    await s.world.write(c, 'alice', `model ${TOKEN}`, true)
    const told = (): string => [...s.world.private('alice'), ...s.world.texts(c)].join()
    await until(() => told().includes('There is no model'))
    await s.world.command('alice', c, `approvals revoke ${TOKEN}`)
    const db = new Database(join(s.dir, 'turnstone.db'), { readonly: true })
    const tables = db.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[]
    const rows = tables.map(({ name: t }) => JSON.stringify(db.prepare(`select * from "${t}"`).all()))
    db.close()
    const places = {
      rows: rows.join(),
      log: s.gateway.output.join(),
      requests: s.model.completions.map((r) => r.raw).join(),
      posts: s.world.everSaid(c).join(),
      cards: JSON.stringify(s.world.cards(c)),
      private: s.world.private('alice').join(),
    }
    for (const [place, text] of Object.entries(places)) expect(text.includes(TOKEN), place).toBe(false)
  })
})
