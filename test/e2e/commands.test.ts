import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createCommands } from '../../src/gateway/commands/list.ts'
import { usageOf } from '../../src/gateway/commands/words.ts'
import { until } from '../support/engine.ts'
import { type Stage, stage, WORLDS } from '../support/stage.ts'
import type { Conversation } from '../support/world.ts'

const COMMANDS = createCommands(() => Promise.reject(new Error('not asked')), { acquire: () => true })

/** What a linked person gets from each command in a conversation of their own. A new command needs a line here. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  status: /is (?:idle|working)/,
  stop: /Nothing is running|Stopped by alice/,
  close: /Closed by alice/,
  model: /The model is main/,
  approvals: /No pending approvals/,
  usage: /Today \(UTC\): \d+ tokens in/,
  link: /already linked|token/i,
  unlink: /cannot be removed here/,
  help: /Mention me with a question/,
}

describe.each(WORLDS)('every command on %s', (name) => {
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
    s.jump(61_000)
  })

  async function begun(): Promise<Conversation> {
    s.model.script(['hello'])
    const c = await s.world.mention('alice', 'hi')
    await s.text(c, 'hello')
    return c
  }

  const written = COMMANDS.filter((c) => c.words.length > 0)

  it.each(written.map((c) => c.name))('%s is reached by slash command', async (command) => {
    const c = await begun()
    if (command === 'close') {
      // Its answer is for everybody.
      void s.world.command('alice', c, command).catch(() => undefined)
      await until(() => [...s.world.texts(c), ...s.world.lines()].find((t) => ANSWERS.close?.test(t)), 10_000)
      return
    }
    const answer = await (command === 'link' ? s.world.link('alice', 'ts_none') : s.world.command('alice', c, command))
    expect(answer).toMatch(ANSWERS[command] ?? /no line for this command/)
  })

  it.each(written.map((c) => c.name))('%s is reached by a word', async (command) => {
    const c = await begun()
    const seen = (): string[] => [...s.world.texts(c), ...s.world.private('alice'), ...s.world.lines()]
    const before = seen().length
    await s.world.write(c, 'alice', command, true)
    const answer = await until(() => seen().length > before && seen().find((t) => ANSWERS[command]?.test(t)), 10_000)
    expect(answer).toMatch(ANSWERS[command] ?? /no line for this command/)
  })

  it('ask begins a conversation', async () => {
    s.model.script(['the answer'])
    const c = await s.world.askByCommand('alice', 'what is it?')
    await s.text(c, 'the answer')
    expect(COMMANDS.filter((k) => k.words.length === 0).map((k) => k.name)).toEqual(['ask'])
  })

  it('help lists each, a line a command, as it is written here', async () => {
    const help = await s.world.command('alice', await begun(), 'help')
    const prefix = name === 'discord' ? '/' : '/turnstone '
    for (const command of written) {
      for (const form of command.words) expect(help).toContain(`${prefix}${usageOf(command, form)}`)
    }
  })
})
