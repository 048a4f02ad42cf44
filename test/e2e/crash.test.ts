import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ModelRequest } from '../simulators/model/index.ts'
import { until } from '../support/engine.ts'
import { linesOf, lives, rests, soon } from '../support/recovery.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'
import type { Conversation } from '../support/world.ts'

const APPROVED = '[approvals]\nauto_approve = ["bash"]\n'

const words = (n: number, mark: string): string => Array.from({ length: n }, (_, i) => `${mark}${i}`).join(' ')
const holding = (...parts: string[]): unknown => expect.stringMatching(new RegExp(parts.join('[\\s\\S]*')))
const LONG = { discord: 1200, slack: 6000 } as const

describe.concurrent.each(WORLDS)('on %s', (name) => {
  describe('kill -9', { concurrent: false }, () => {
    let s: Stage
    beforeAll(async () => {
      s = await stage(name, { toml: APPROVED })
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

    it('before the model answers', async () => {
      const gate = s.model.gate()
      s.model.script([{ text: 'never', holds: [{ at: 'headers', gate }] }, 'the answer'])
      const c = await s.world.mention('alice', 'hi')
      await gate.reached
      await s.crash()
      await rests(s, c, ['the answer'])
      expect(said(s.model, 'user')).toEqual(['hi'])
    })

    it('when text is shown already', async () => {
      const gate = s.model.gate()
      s.model.script([{ chunks: ['half of ', 'it'], holds: [{ at: 2, gate }] }, 'another whole answer'])
      const c = await s.world.mention('alice', 'hi')
      await soon(s, () => s.world.texts(c).some((t) => t.includes('half of')))
      await s.crash()
      await rests(s, c, ['another whole answer'])
      expect(said(s.model, 'assistant')).toEqual([])
    })

    it('when a longer text was shown than the answer needs in the end', async () => {
      const gate = s.model.gate()
      const long = words(LONG[name], 'w').match(/[\s\S]{1,1500}/g) ?? []
      s.model.script([{ chunks: [...long, 'x'], holds: [{ at: long.length, gate }] }, 'a short answer'])
      const end = s.world.losePost(1)
      const c = await s.world.mention('alice', 'hi')
      await soon(s, () => s.world.texts(c).length >= 2)
      await s.crash(end)
      await rests(s, c, ['a short answer'])
    })

    it('while a card waits: its buttons work afterwards', async () => {
      const call = { name: 'write_file', arguments: { path: 'card.txt', content: 'written' } }
      s.model.script([{ text: 'I will write it.', calls: [call] }, 'it is written'])
      const c = await s.world.mention('alice', 'write')
      const card = await s.card(c)
      await s.crash()
      await s.world.press('alice', c, card.id, 'approve')
      await rests(s, c, [holding('I will write it'), holding('write_file', 'it is written')])
      expect(s.world.cards(c)).toMatchObject([{ id: card.id, buttons: [] }])
      expect(linesOf(s, 'card.txt')).toEqual(['written'])
    })

    it('while a card is being posted', async () => {
      const call = { name: 'write_file', arguments: { path: 'card2.txt', content: 'written' } }
      s.model.script([{ calls: [call] }, 'it is written'])
      const end = s.world.losePost()
      const c = await s.world.mention('alice', 'write')
      await soon(s, () => s.world.cards(c).length > 0)
      await s.crash(end)
      await soon(s, () => s.model.left === 1)
      await s.world.press('alice', c, (await s.card(c)).id, 'approve')
      await rests(s, c, [holding('write_file', 'it is written')])
      expect(s.world.cards(c)).toHaveLength(1)
    })

    it('while a decided card is being redrawn', async () => {
      const gate = s.model.gate()
      const call = { name: 'write_file', arguments: { path: 'card3.txt', content: 'x' } }
      s.model.script([{ calls: [call] }, { text: 'never', holds: [{ at: 'headers', gate }] }, 'understood'])
      const c = await s.world.mention('alice', 'write')
      const card = await s.card(c)
      const end = s.world.hangEdits()
      await s.world.press('alice', c, card.id, 'reject')
      await gate.reached
      await s.crash(end)
      await soon(s, () => s.world.cards(c).every((x) => x.buttons.length === 0))
      await rests(s, c, [holding('write_file', 'understood')])
      expect(s.world.cards(c)).toHaveLength(1)
    })

    it('while a tool runs: it is reported as interrupted and not run again', async () => {
      s.model.script([bash('echo ran >> four; sleep 8', 'working'), 'I have heard'])
      const c = await s.world.mention('alice', 'run')
      await until(() => linesOf(s, 'four').length > 0)
      await s.crash()
      await rests(s, c, [holding('working', 'bash', 'Interrupted by a restart: bash', 'I have heard')])
      expect(said(s.model, 'tool')).toEqual([expect.stringContaining('Its outcome is unknown')])
      expect(
        s.world
          .texts(c)
          .join()
          .match(/Interrupted by a restart/g),
      ).toHaveLength(1)
      expect(linesOf(s, 'four')).toEqual(['ran'])
    })

    it('when a tool has ended and its result is not stored', async () => {
      s.model.script([bash('echo $$ >> five; while [ ! -e go ]; do sleep 0.02; done'), 'I have heard'])
      const c = await s.world.mention('alice', 'run')
      const pid = Number(await until(() => linesOf(s, 'five')[0]))
      const lock = new Database(join(s.dir, 'turnstone.db'))
      lock.exec('begin immediate')
      writeFileSync(join(s.dir, 'workspace/go'), '')
      await until(() => !lives(pid))
      await s.crash(() => {
        lock.close()
      })
      await rests(s, c, [holding('bash', 'Interrupted by a restart: bash', 'I have heard')])
      expect(said(s.model, 'tool')).toEqual([expect.stringContaining('Its outcome is unknown')])
      expect(linesOf(s, 'five')).toHaveLength(1)
    })

    it('when a result is stored and the model has not got it', async () => {
      const gate = s.model.gate()
      s.model.script([
        bash('echo ran >> six; echo result-of-six'),
        { text: 'no', holds: [{ at: 'headers', gate }] },
        'got it',
      ])
      const c = await s.world.mention('alice', 'run')
      await gate.reached
      await s.crash()
      await rests(s, c, [holding('bash', 'got it')])
      expect(said(s.model, 'tool')).toEqual(['result-of-six'])
      expect(linesOf(s, 'six')).toEqual(['ran'])
      expect(s.world.texts(c).join()).not.toContain('Interrupted')
    })

    it('while the answer is being posted', async () => {
      s.model.script(['posted once'])
      const end = s.world.losePost()
      const c = await s.world.mention('alice', 'hi')
      await until(() => s.world.texts(c).length === 1)
      await s.crash(end)
      await rests(s, c, ['posted once'])
    })

    it('between the parts of a long answer', async () => {
      const text = words(LONG[name], 'p')
      s.model.script([{ text, chunk: 3000 }])
      const end = s.world.losePost(1)
      const c = await s.world.mention('alice', 'long')
      await soon(s, () => s.world.texts(c).length >= 2)
      await s.crash(end)
      const shown = (): string[] | null => s.world.texts(c).join(' ').match(/p\d+/g)
      await soon(s, () => shown()?.length === LONG[name])
      await rests(s, c, s.world.texts(c))
      expect(shown()?.join(' ')).toBe(text)
    })

    it('with messages that wait: the model gets each once', async () => {
      const gate = s.model.gate()
      s.model.script([{ text: 'never', holds: [{ at: 'headers', gate }] }, 'to all three'])
      const c = await s.world.mention('alice', 'one')
      await gate.reached
      const more = [await s.world.write(c, 'alice', 'two'), await s.world.write(c, 'alice', 'three')]
      await until(() => more.every((id) => s.world.signs(c, id).length > 0))
      await s.crash()
      await rests(s, c, ['to all three'], more)
      expect(said(s.model, 'user')).toEqual(['one', 'two', 'three'])
    })

    it('while 👀 is being taken off', async () => {
      const gate = s.model.gate()
      s.model.script([{ ...bash('true', 'first'), holds: [{ at: 'headers', gate }] }, 'to both', 'to both'])
      const c = await s.world.mention('alice', 'one')
      await gate.reached
      const two = await s.world.write(c, 'alice', 'two')
      await until(() => s.world.signs(c, two).length > 0)
      const end = s.world.hangUnmark()
      const before = s.gateway.output.length
      gate.release()
      await until(
        () => s.world.texts(c).some((t) => t.includes('✅')) || s.gateway.output.length > before + 200,
        15_000,
      )
      await s.crash(end)
      await rests(s, c, [holding('first', 'to both')], [two])
      expect(said(s.model, 'user')).toEqual(['one', 'two'])
    })

    it('SIGTERM in a turn is no failed start, however often', async () => {
      const c = await heldStarts(s, 3, async () => {
        let code: number | null | undefined
        void s.gateway.stop().then((ended) => {
          code = ended.code
        })
        await soon(s, () => code !== undefined)
        expect(code).toBe(0)
      })
      s.model.add('after all')
      await s.restart()
      await rests(s, c, ['after all'])
    })

    it('three starts without progress are the message’s last', async () => {
      const c = await heldStarts(s, 3, () => s.gateway.kill())
      const before = s.model.completions.length
      await s.crash()
      await rests(s, c, [holding('gave up after three attempts', 'turn [0-9a-f]{8}')])
      expect(s.model.completions.length).toBe(before)
      s.model.script(['still here'])
      await s.world.write(c, 'alice', 'and this?')
      await rests(s, c, [holding('gave up after three attempts'), 'still here'])
    })

    it('three starts that died before the message was taken in are its last too', async () => {
      const c = await heldStarts(s, 1, () => s.gateway.kill())
      const before = s.model.completions.length
      await s.crash(() => {
        const db = new Database(join(s.dir, 'turnstone.db'))
        const { id } = db.prepare("select id from turns where state = 'running' order by created_at desc").get() as {
          id: string
        }
        db.prepare('update turns set tries = 3 where id = ?').run(id)
        db.prepare('delete from journal where turn_id = ?').run(id)
        db.prepare("update inbox set state = 'queued', turn_id = null where turn_id = ?").run(id)
        db.close()
      })
      await rests(s, c, [holding('gave up after three attempts')])
      expect(s.model.completions.length).toBe(before)
    })

    it('after a stop while the card was being posted: it has no live buttons', async () => {
      s.model.script([{ calls: [{ name: 'write_file', arguments: { path: 'never.txt', content: 'x' } }] }])
      const end = s.world.losePost()
      const c = await s.world.mention('alice', 'write')
      await soon(s, () => s.world.cards(c).length > 0)
      await s.world.write(c, 'alice', 'stop', true)
      await soon(s, () => s.gateway.output.some((l) => l.includes('command in words')))
      await s.crash(end)
      await soon(s, () => s.world.texts(c).some((t) => t.includes('Stopped.')))
      await soon(s, () => s.world.cards(c).every((card) => card.buttons.length === 0))
      expect(s.world.cards(c)).toHaveLength(1)
      expect(existsSync(join(s.dir, 'workspace/never.txt'))).toBe(false)
    })

    it('with a turn that fails while its card waits: the card is closed', async () => {
      s.model.script([{ calls: [{ name: 'write_file', arguments: { path: 'never.txt', content: 'x' } }] }])
      const c = await s.world.mention('alice', 'write')
      await s.card(c)
      await s.crash(() => {
        const db = new Database(join(s.dir, 'turnstone.db'))
        const { id } = db.prepare("select id from turns where state = 'parked'").get() as { id: string }
        db.prepare('update turns set tries = 3 where id = ?').run(id)
        db.prepare('update approvals set card_up_to_date = 0 where turn_id = ?').run(id)
        db.close()
      })
      await soon(s, () => s.world.texts(c).some((t) => t.includes('gave up after three attempts')))
      s.jump(61_000)
      await soon(s, () => s.world.cards(c).every((card) => card.buttons.length === 0))
      s.model.script(['goes on'])
      await s.world.write(c, 'alice', 'and now?')
      await soon(s, () => s.world.texts(c).some((t) => t.includes('goes on')))
    })

    it('while a long payload’s file is being posted', async () => {
      const content = 'x'.repeat(9000)
      s.model.script([{ calls: [{ name: 'write_file', arguments: { path: 'long.txt', content } }] }, 'understood'])
      const end = s.world.losePost()
      const c = await s.world.mention('alice', 'write')
      await soon(s, () => s.model.left === 1)
      await soon(s, () => (name === 'discord' ? s.world.cards(c).length : s.world.filesIn(c)) > 0)
      await s.crash(end)
      const card = await soon(s, () => s.world.cards(c).find((x) => x.buttons.length > 0))
      expect(s.world.filesIn(c)).toBe(1)
      await s.world.press('alice', c, card.id, 'reject')
      await rests(s, c, [...(name === 'slack' ? [holding('SHA-256')] : []), holding('understood')])
      expect(s.world.cards(c)).toHaveLength(1)
    })

    it('while the line of a question by command is being posted', async () => {
      s.model.script(['to the command'])
      const room = s.world.channel
      const lines = (): string[] => s.world.texts({ room, message: '' }).filter((t) => t.includes('alice asks: what'))
      const end = s.world.losePost()
      void s.world.command('alice', undefined, name === 'discord' ? 'ask what' : 'what').catch(() => undefined)
      await soon(s, () => lines().length > 0)
      await s.crash(end)
      await soon(s, () => s.model.left === 0)
      expect(lines()).toHaveLength(1)
    })

    it('at random moments of a conversation: every message has one answer', async () => {
      s.model.script(answerEach)
      const c = await s.world.mention('alice', 'q0')
      const asked = ['q0']
      let seed = 7
      for (let kill = 0; kill < 8; kill++) {
        seed = (seed * 16807) % 2147483647
        const at = Date.now() + 50 + (seed % 500)
        if (kill % 2 === 0) {
          asked.push(`q${asked.length}`)
          await s.world.write(c, 'alice', asked.at(-1) ?? '')
        }
        await soon(s, () => Date.now() > at)
        await s.crash()
      }
      const answered = (): string[] =>
        s.world
          .texts(c)
          .join('\n')
          .match(/(?<=answer-)q\d+/g) ?? []
      await soon(s, () => answered().length >= asked.length, 20_000)
      await rests(s, c, s.world.texts(c))
      expect(answered().toSorted()).toEqual(asked.toSorted())
      const ran = linesOf(s, 'random')
      expect(new Set(ran).size).toBe(ran.length)
    }, 150_000)
  })
})

/** Begins a turn whose model never answers and ends the process so often; it is down afterwards. */
async function heldStarts(s: Stage, times: number, end: () => Promise<void>): Promise<Conversation> {
  const gates = Array.from({ length: times }, () => s.model.gate())
  s.model.script(gates.map((gate) => ({ text: 'never', holds: [{ at: 'headers', gate }] })))
  const c = await s.world.mention('alice', 'hi')
  for (const [i, gate] of gates.entries()) {
    if (i > 0) await s.crash()
    await gate.reached
    await end()
  }
  return c
}

/** Runs a tool for what was asked, then names every question that has no answer yet. */
async function answerEach({ messages }: ModelRequest) {
  const last = messages.findLastIndex((m) => m.role === 'assistant' && m.tool_calls === undefined)
  const open = messages.slice(last + 1).filter((m) => m.role === 'user')
  const ids = open.map((m) => (typeof m.content === 'string' ? m.content : JSON.stringify(m.content)))
  if (messages.at(-1)?.role === 'tool') return { text: ids.map((q) => `answer-${q} `).join(''), chunk: 3, delayMs: 10 }
  return { ...bash(`sleep 0.1; echo ${ids.at(-1)} >> random`, 'let me see '), delayMs: 10 }
}

describe.each(WORLDS)('the shipped entry on %s', (name) => {
  let s: Stage
  beforeAll(async () => {
    s = await stage(name, { shipped: true, toml: APPROVED })
  })
  afterAll(async () => {
    expect(s.model.violations).toEqual([])
    await s.stop()
  })

  it('goes on after kill -9 in a growing answer', async () => {
    const gate = s.model.gate()
    s.model.script([{ chunks: ['half of ', 'it'], holds: [{ at: 2, gate }] }, 'the whole answer'])
    const c = await s.world.mention('alice', 'hi')
    await s.text(c, 'half of')
    await s.crash()
    await s.text(c, 'the whole answer')
    expect(s.world.texts(c)).toEqual(['the whole answer'])
  })

  it('ends at SIGTERM with its tools, within 8 s, and goes on after the start', async () => {
    s.model.script([bash('echo $$ >> term; sleep 60; echo late'), 'I have heard'])
    const c = await s.world.mention('alice', 'run')
    const pid = Number(await until(() => linesOf(s, 'term')[0]))
    const { code, ms } = await s.gateway.stop()
    expect(code).toBe(0)
    expect(ms).toBeLessThan(8000)
    expect(lives(pid)).toBe(false)
    expect(existsSync(`/proc/${s.gateway.child.pid}`)).toBe(false)
    await s.restart()
    await s.text(c, 'I have heard')
    expect(s.world.texts(c)).toEqual([holding('bash', 'Interrupted by a restart: bash', 'I have heard')])
    expect(linesOf(s, 'term')).toHaveLength(1)
  })
})
