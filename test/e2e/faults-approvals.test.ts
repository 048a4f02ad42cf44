import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../support/engine.ts'
import { bash, type Stage, said, stage, WORLDS } from '../support/stage.ts'

describe.each(WORLDS)('questions and answers on %s', (name) => {
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
    s.model.script([])
  })

  it('a note beside a typed always reaches the model', async () => {
    s.model.script([bash('echo one'), 'took it'])
    const c = await s.world.mention('alice', 'run it')
    await s.card(c)
    await s.world.write(c, 'alice', 'A, but quietly')
    await s.text(c, 'took it')
    expect(said(s.model, 'tool')).toEqual(['one'])
    expect(said(s.model, 'user')).toEqual(['run it', 'but quietly'])
  })

  it('what was always allowed holds over a restart, is listed, and asks again once revoked', async () => {
    s.model.script([bash('echo 1'), 'one', bash('echo 2'), 'two', bash('echo 3'), 'three'])
    const c = await s.world.mention('alice', 'run 1')
    await s.world.press('alice', c, (await s.card(c)).id, 'always')
    await s.text(c, 'one')
    await s.restart()
    await s.world.write(c, 'alice', 'run 2')
    await s.text(c, 'two', 20_000)
    expect(s.world.cards(c)).toHaveLength(1)
    expect(await s.world.command('alice', c, 'approvals')).toMatch(/Always allowed here: .?bash/)
    expect(await s.world.command('alice', c, 'approvals revoke bash')).toContain('asks for approval again')
    await s.world.write(c, 'alice', 'run 3')
    const again = await until(() => s.world.cards(c).find((x) => x.buttons.length > 0))
    await s.world.press('alice', c, again.id, 'reject')
    await s.text(c, 'three')
  })

  it('two conversations’ cards are apart: each in its place, each with its own decision', async () => {
    s.model.script([bash('echo for-first')])
    const first = await s.world.mention('alice', 'first')
    const one = await s.card(first)
    s.model.script([bash('echo for-second')])
    const second = await s.world.mention('alice', 'second')
    const two = await s.card(second)
    expect(one.text).toContain('for-first')
    expect(two.text).toContain('for-second')
    s.model.script(['second is over'])
    await s.world.write(second, 'alice', 'n')
    await s.text(second, 'second is over')
    expect((await s.card(first)).id).toBe(one.id)
    s.model.script(['first is over'])
    await s.world.press('alice', first, one.id, 'approve')
    await s.text(first, 'first is over')
    expect(said(s.model, 'tool')).toEqual(['for-first'])
  })

  it('of two decisions at once the first counts; the second is told and does not touch the next card', async () => {
    s.model.script([bash('echo 1'), bash('echo 2'), 'over'])
    const c = await s.world.mention('alice', 'run')
    const old = await s.card(c)
    await Promise.all([s.world.press('alice', c, old.id, 'reject'), s.world.press('root', c, old.id, 'approve')])
    const told = (): boolean =>
      (['alice', 'root'] as const).some((who) => s.world.private(who).some((t) => t.includes('Already ')))
    await until(told)
    const next = await until(() => s.world.cards(c).find((x) => x.id !== old.id && x.buttons.length > 0))
    await s.world.press('alice', c, next.id, 'approve')
    await s.text(c, 'over')
    expect(said(s.model, 'tool')).toHaveLength(2)
    expect(said(s.model, 'tool')[1]).toBe('2')
  })

  it('eight calls of a step are one card and run once each; stop while it waits runs none', async () => {
    const calls = Array.from({ length: 8 }, (_, i) => bash(`echo run-${i}`).calls[0]).flatMap((x) => (x ? [x] : []))
    s.model.script([{ calls }, 'all eight'])
    const c = await s.world.mention('alice', 'run all')
    const card = await s.card(c)
    for (let i = 0; i < 8; i++) expect(card.text + card.files.map((f) => f.text).join()).toContain(`echo run-${i}`)
    await s.world.press('alice', c, card.id, 'approve')
    await s.text(c, 'all eight')
    expect(said(s.model, 'tool')).toEqual(calls.map((_, i) => `run-${i}`))
    s.model.script([{ calls }])
    await s.world.write(c, 'alice', 'once more')
    await s.card(c)
    await s.world.write(c, 'alice', 'stop', true)
    await s.text(c, 'Stopped')
    await until(() => s.world.cards(c).every((x) => x.buttons.length === 0))
    s.model.script(['alive'])
    await s.world.write(c, 'alice', 'still there?')
    await s.text(c, 'alive')
    expect(said(s.model, 'tool').slice(8)).toEqual(calls.map(() => 'Stopped by the user. This call was not run.'))
  })

  it('a step too long to be shown is refused whole, and nothing of it is posted before', async () => {
    const call = bash(`echo ${'z'.repeat(300)}`).calls
    s.model.script([{ calls: Array.from({ length: 60 }, () => call).flat() }, 'refused'])
    const c = await s.world.mention('alice', 'many')
    await s.text(c, 'refused')
    expect(said(s.model, 'tool').every((t) => t.includes('because it is too long'))).toBe(true)
    expect(s.world.cards(c)).toEqual([])
    expect(s.world.texts(c).join()).not.toContain('SHA-256')
  })

  it('a refusal in a mixed step still runs what asks nothing', async () => {
    const read = { name: 'read_file', arguments: { path: 'missing.txt' } }
    s.model.script([{ calls: [...bash('echo no').calls, read] }, 'both seen'])
    const c = await s.world.mention('alice', 'do both')
    await s.world.write(c, 'alice', 'hm', false).then(() => s.card(c))
    await s.world.write(c, 'alice', 'N , use another way')
    await s.text(c, 'both seen')
    const [denied, missing] = said(s.model, 'tool')
    expect(denied).toBe('Rejected by alice: use another way. It was not run.')
    expect(missing).toMatch(/missing\.txt/)
  })
})

describe('Slack alone', () => {
  it('a typed answer in another thread of a direct message is an ordinary message', async () => {
    const s = await stage('slack')
    s.model.script([bash('echo here'), 'decided', 'what y?'])
    const c = await s.world.direct('alice', 'run it')
    await s.card(c)
    const other = await s.world.direct('alice', 'something else')
    await s.world.write(other, 'alice', 'y')
    await s.world.write(c, 'alice', 'n')
    await s.text(c, 'decided')
    expect(said(s.model, 'tool')).toEqual(['Rejected by alice. It was not run.'])
    s.model.script(['what y?', 'again'])
    await s.stop()
  })
})

describe.each(WORLDS)('approvers who are not heard on %s', (name) => {
  it('decide by button and by a typed answer, and nothing else of theirs is passed on', async () => {
    const s = await stage(name, { toml: '[approvals]\napprovers = "linked"\n' })
    s.model.script([bash('echo typed'), 'bob has decided'])
    const c = await s.world.mention('alice', 'run it')
    await s.card(c)
    await s.world.write(c, 'bob', 'let me say something')
    await s.world.write(c, 'bob', 'y')
    await s.text(c, 'bob has decided')
    expect(said(s.model, 'user')).toEqual(['run it'])
    expect(said(s.model, 'tool')).toEqual(['typed'])
    await s.stop()
  })
})
