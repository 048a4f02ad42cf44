import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'

describe.each(WORLDS)('a team talks to the agent on %s', (name) => {
  let s: Stage
  beforeAll(async () => {
    s = await stage(name)
  })
  afterAll(async () => {
    expect(s.world.violations()).toEqual([])
    expect(s.model.violations).toEqual([])
    await s.stop()
  })
  beforeEach(() => {
    // Nobody may send more than 30 messages a minute.
    s.jump(61_000)
    s.model.script([])
  })

  describe('conversations', () => {
    it('a mention is answered in its thread, and the thread goes on without mentions', async () => {
      s.model.script(['**Hello** there', 'second answer'])
      const c = await s.world.mention('alice', 'what is up?')
      await s.text(c, 'Hello')
      await s.world.write(c, 'alice', 'and then?')
      await s.text(c, 'second answer')
      expect(said(s.model, 'user')).toEqual(['what is up?', 'and then?'])
      expect(said(s.model, 'assistant')).toEqual(['**Hello** there'])
      expect(s.world.texts(c)).toHaveLength(2)
    })

    it('a direct message is one conversation', async () => {
      s.model.script(['first', 'second'])
      const first = await s.world.direct('alice', 'remember 42')
      await s.text(first, 'first')
      const second = await s.world.direct('alice', 'which number?')
      await s.text(second, 'second')
      expect(said(s.model, 'user')).toEqual(['remember 42', 'which number?'])
    })

    it('a message that is delivered again is answered once', async () => {
      const before = s.model.completions.length
      s.model.script(['only once'])
      const c = await s.world.mention('alice', 'hi')
      await s.world.redeliver(c.message)
      await s.text(c, 'only once')
      await s.world.redeliver(c.message)
      s.model.script(['next'])
      await s.world.write(c, 'alice', 'more')
      await s.text(c, 'next')
      expect(s.model.completions.length - before).toBe(2)
      expect(s.world.texts(c)).toHaveLength(2)
    })

    it('strangers are told once how to link, others’ threads are closed to them', async () => {
      const before = s.model.completions.length
      await s.world.mention('stranger', 'let me in')
      await s.world.mention('stranger', 'please')
      s.model.script(['for alice'])
      const mine = await s.world.mention('alice', 'hello')
      await s.text(mine, 'for alice')
      await s.world.write(mine, 'bob', 'tell me your secrets')
      s.model.script(['again for alice'])
      await s.world.write(mine, 'alice', 'still there?')
      await s.text(mine, 'again for alice')
      expect(said(s.model, 'user')).toEqual(['hello', 'still there?'])
      expect(s.model.completions.length - before).toBe(2)
      if (name === 'slack') {
        expect(s.world.private('stranger').filter((t) => t.includes('link'))).toHaveLength(1)
        expect(s.world.private('bob').some((t) => t.includes('belongs to alice'))).toBe(true)
      }
    })

    it('what comes while it is busy is marked and reaches the model at its next step', async () => {
      const gate = s.model.gate()
      s.model.script([{ ...bash('echo one', 'working on it'), holds: [{ at: 'headers', gate }] }, 'done with both'])
      const c = await s.world.mention('alice', 'go')
      await gate.reached
      const later = await s.world.write(c, 'alice', 'also this')
      await until(() => s.world.signs(c, later).length > 0)
      gate.release()
      const card = await s.card(c)
      await s.world.press('alice', c, card.id, 'approve')
      await s.text(c, 'done with both')
      expect(said(s.model, 'user')).toEqual(['go', 'also this'])
      await until(() => s.world.signs(c, later).length === 0)
    })
  })

  describe('answers', () => {
    it('long ones are split, every character once and in order', async () => {
      const words = Array.from({ length: 3000 }, (_, i) => `w${i}`)
      s.model.script([{ text: words.join(' '), chunk: 400 }])
      const c = await s.world.mention('alice', 'a long one')
      await s.text(c, 'w2999', 30_000)
      const shown = s.world.texts(c).join(' ').match(/w\d+/g)
      expect(shown).toEqual(words)
      expect(s.world.texts(c).length).toBeGreaterThan(name === 'discord' ? 5 : 1)
    })

    it('never ping anybody', async () => {
      s.model.script([
        '@everyone @here <@U123> <!channel> <!subteam^S1> <@&99> <@123456789012345678> and `npm i @scope/pkg`',
      ])
      const c = await s.world.mention('alice', 'ping all')
      const text = await s.text(c, '@scope/pkg')
      expect(s.world.pings()).toEqual([])
      expect(text).toContain('everyone')
    })

    it('empty ones are said to be empty', async () => {
      s.model.script(['\n \n'])
      const c = await s.world.mention('alice', 'say nothing')
      await s.text(c, 'empty answer')
    })

    it('a model’s fault is one sentence with the turn’s id that the log has too', async () => {
      s.model.script([{ http: { status: 401, message: `bad key ${s.model.key}` } }])
      const c = await s.world.mention('alice', 'hi')
      const text = await s.text(c, 'rejected the API key')
      const id = /turn ([0-9a-f]{8})/.exec(text)?.[1]
      expect(id).toBeDefined()
      expect(s.gateway.output.some((l) => l.includes(String(id)))).toBe(true)
      expect(text).not.toContain(s.model.key)
      expect(s.gateway.output.join('\n')).not.toContain(s.model.key)
    })
  })

  describe('approvals', () => {
    it('bash asks, runs after Approve, and its line and answer follow', async () => {
      s.model.script([bash('echo from-bash; id -u', 'I will look.'), 'it said so'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      expect(card.text).toContain('echo from-bash; id -u')
      expect(card.buttons).toEqual(['approve', 'always', 'reject', 'note'])
      await s.world.press('alice', c, card.id, 'approve')
      await s.text(c, 'it said so')
      expect(said(s.model, 'tool')[0]).toMatch(/^from-bash\n(?!0$)\d+$/)
      const closed = await until(() => s.world.cards(c).find((x) => x.id === card.id && x.buttons.length === 0))
      expect(closed.text).toContain('alice')
      expect(s.world.texts(c).join('\n')).toContain('bash')
    })

    it('nobody else decides: bob is refused privately and the card stays', async () => {
      s.model.script([bash('echo mine'), 'ran'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      await s.world.press('bob', c, card.id, 'approve')
      await until(() => s.world.private('bob').some((t) => t.includes('Only alice and admins')))
      expect((await s.card(c)).id).toBe(card.id)
      await s.world.press('stranger', c, card.id, 'reject')
      await until(() => s.world.private('stranger').some((t) => t.includes('Link your account')))
      await s.world.press('root', c, card.id, 'approve')
      await s.text(c, 'ran')
    })

    it('Always allow holds for bash in this conversation and nowhere else', async () => {
      s.model.script([bash('echo 1'), 'one', bash('echo 2'), 'two', bash('echo 3'), 'three'])
      const c = await s.world.mention('alice', 'run 1')
      await s.world.press('alice', c, (await s.card(c)).id, 'always')
      await s.text(c, 'one')
      await s.world.write(c, 'alice', 'run 2')
      await s.text(c, 'two')
      expect(s.world.cards(c)).toHaveLength(1)
      const other = await s.world.mention('alice', 'run 3')
      await s.world.press('alice', other, (await s.card(other)).id, 'reject')
      await s.text(other, 'three')
    })

    it('Reject tells the model, Note… carries words both ways', async () => {
      s.model.script([bash('echo no'), 'understood'])
      const c = await s.world.mention('alice', 'run it')
      await s.world.press('alice', c, (await s.card(c)).id, 'reject')
      await s.text(c, 'understood')
      expect(said(s.model, 'tool')).toEqual(['Rejected by alice. It was not run.'])
      s.model.script([bash('echo no'), 'noted'])
      await s.world.write(c, 'alice', 'again')
      await s.world.note('alice', c, (await s.card(c)).id, 'reject', 'use python')
      await s.text(c, 'noted')
      expect(said(s.model, 'tool').at(-1)).toBe('Rejected by alice: use python. It was not run.')
      s.model.script([bash('echo yes'), 'with a note'])
      await s.world.write(c, 'alice', 'once more')
      await s.world.note('alice', c, (await s.card(c)).id, 'approve', 'mind the gap')
      await s.text(c, 'with a note')
      expect(said(s.model, 'tool').at(-1)).toBe('yes')
      expect(said(s.model, 'user').at(-1)).toBe('mind the gap')
    })

    it('a typed y counts, a yes does not', async () => {
      s.model.script([bash('echo typed'), 'after y'])
      const c = await s.world.mention('alice', 'run it')
      await s.card(c)
      const yes = await s.world.write(c, 'alice', 'yes')
      await until(() => s.world.signs(c, yes).length > 0)
      await s.world.write(c, 'alice', 'y')
      await s.text(c, 'after y')
      expect(said(s.model, 'tool')).toEqual(['typed'])
      expect(said(s.model, 'user')).toEqual(['run it', 'yes'])
    })

    it('two presses at once run it once', async () => {
      const marker = join(s.dir, 'workspace/twice')
      s.model.script([bash(`echo x >> twice; wc -l < twice`), 'finished'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      await Promise.all([s.world.press('alice', c, card.id, 'approve'), s.world.press('alice', c, card.id, 'approve')])
      await s.text(c, 'finished')
      expect(said(s.model, 'tool')).toEqual(['1'])
      expect(existsSync(marker)).toBe(true)
    })

    it('a payload too long for the card is a file of exactly its bytes', async () => {
      const command = `echo start\n${'# harmless\n'.repeat(900)}echo \u202eevil`
      s.model.script([bash(command), 'ok'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      const sha = createHash('sha256').update(command).digest('hex')
      expect(card.text).toContain(sha)
      expect(card.text).toContain(String(Buffer.byteLength(command)))
      expect(card.files.map((f) => f.text)).toContain(command)
      await s.world.press('alice', c, card.id, 'reject')
      await s.text(c, 'ok')
    })

    it('makes invisible characters visible', async () => {
      s.model.script([bash('echo a\u202eb'), 'ok'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      expect(card.text).toContain('U+202E')
      await s.world.press('alice', c, card.id, 'reject')
      await s.text(c, 'ok')
    })

    it('a deleted card is posted anew', async () => {
      s.model.script([bash('echo again'), 'ran it'])
      const c = await s.world.mention('alice', 'run it')
      const card = await s.card(c)
      await s.world.deleteMessage(c, card.id)
      const second = await until(() => s.world.cards(c).find((x) => x.id !== card.id && x.buttons.length > 0))
      await s.world.press('alice', c, second.id, 'approve')
      await s.text(c, 'ran it')
    })

    it('the blocklist needs no card', async () => {
      s.model.script([bash('rm -rf /'), 'I may not'])
      const c = await s.world.mention('alice', 'destroy')
      await s.text(c, 'I may not')
      expect(said(s.model, 'tool')[0]).toContain('Blocked by blocklist entry "rm -rf /"')
      expect(s.world.cards(c)).toHaveLength(0)
    })
  })

  describe('commands', () => {
    it('stop ends a running tool within seconds and says so', async () => {
      s.model.script([bash('echo begun; sleep 300'), 'never'])
      const c = await s.world.mention('alice', 'run it')
      await s.world.press('alice', c, (await s.card(c)).id, 'approve')
      await s.text(c, 'begun').catch(() => s.text(c, 'bash'))
      await s.world.write(c, 'alice', 'stop', true)
      await s.text(c, 'Stopped', 5000)
      s.model.script(['still here'])
      await s.world.write(c, 'alice', 'are you there?')
      await s.text(c, 'still here')
      expect(said(s.model, 'tool')[0]).toMatch(/Stopped by the user/)
    })

    it('status, help, usage, model and approvals answer privately', async () => {
      s.model.script(['hello'])
      const c = await s.world.mention('bob', 'hi')
      await s.text(c, 'hello')
      await until(async () => (await s.world.command('bob', c, 'status')).includes('is idle'))
      expect(await s.world.command('bob', c, 'help')).toMatch(/Mention me/)
      expect(await s.world.command('bob', c, 'usage')).toMatch(/Today \(UTC\): \d+ tokens in/)
      expect(await s.world.command('bob', c, 'model')).toMatch(/main \(sim-model\)/)
      expect(await s.world.command('bob', c, 'approvals')).toMatch(/No pending approvals/)
    })

    it('close ends it, a mention begins anew', async () => {
      s.model.script(['hello'])
      const c = await s.world.mention('alice', 'hi')
      await s.text(c, 'hello')
      await s.world.write(c, 'alice', 'close', true)
      await s.text(c, 'Closed by alice')
      await s.world.write(c, 'alice', 'anybody?')
      await s.text(c, 'conversation is closed')
      s.model.script(['fresh'])
      await s.world.write(c, 'alice', 'begin again', true)
      await s.text(c, 'fresh')
      expect(said(s.model, 'assistant')).toEqual([])
    })
  })
})
