import { describe, expect, it } from 'vitest'
import { success } from '../../../src/tool/run-plan.ts'
import { append, type JournalEntry } from '../../../src/turn/journal.ts'
import { redactEntry } from '../../../src/turn/redact-entry.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { message, until } from '../../support/engine.ts'
import { type Engine, engine } from '../../support/engines.ts'
import { probeTool } from '../../support/probe-tool.ts'
import { ScriptedModel } from '../../support/scripted-model.ts'

/** Everything of a conversation that the database holds. */
async function stored(e: Engine): Promise<string> {
  const tables = ['inbox', 'workstreams', 'journal', 'posts', 'approvals', 'audit'] as const
  const rows = await Promise.all(tables.map((table) => e.store.db.selectFrom(table).selectAll().execute()))
  return JSON.stringify(rows)
}

const GITHUB = `ghp_${'a1B2'.repeat(8)}`

describe('secrets that people write', () => {
  it('are stored nowhere and sent nowhere', async () => {
    const model = new ScriptedModel('fine')
    const e = await engine({ model, secrets: ['hunter2-secret'] })
    await e.inbox.message(message('alice', `use hunter2-secret and ${GITHUB}`, { id: 'm-19' }))
    await until(() => e.platform.texts('m-19').length === 1)
    expect(await stored(e)).not.toMatch(/hunter2|ghp_/)
    expect(JSON.stringify(model.requests)).toContain('use [redacted] and [redacted]')
  })

  it('E7c are not stored in the names of files, nor where a text is cut', async () => {
    const model = new ScriptedModel('fine')
    const e = await engine({ model })
    const file = { name: `backup-${GITHUB}.txt`, size: 5, url: 'https://files.example/1' }
    const text = `${'word '.repeat(13_104)}abc ${GITHUB}`
    expect(text.slice(0, 65_536)).toMatch(/ghp_a1B2a1B2$/)
    await e.inbox.message({ ...message('alice', text, { id: 'm-20' }), attachments: [file] })
    await until(() => e.platform.texts('m-20').length > 0)
    expect(await stored(e)).not.toContain('a1B2')
    expect(JSON.stringify(model.requests)).not.toContain('a1B2')
  })
})

describe('secrets that tools print', () => {
  it('E7c lose no part where the result is cut', async () => {
    // Eleven results, each cut at another place of the token.
    const line = `${GITHUB} ${'x'.repeat(20)} `
    const tool = probeTool('probe', {
      run: async ({ text = '' }) => success(' '.repeat(Number(text)) + line.repeat(4000)),
    })
    const calls = Array.from({ length: 11 }, (_, i) => ({ name: 'probe', args: { text: String(i * 5) } }))
    const model = new ScriptedModel({ calls }, 'done')
    const e = await engine({ model, tools: [tool] })
    await e.inbox.message(message('alice', 'go', { id: 'm-21' }))
    await until(() => e.platform.texts('m-21').some((t) => t.includes('done')))
    const rows = await stored(e)
    expect(rows.includes('characters omitted')).toBe(true)
    expect(/a1B2a1B/.test(rows)).toBe(false)
  })
})

describe('secrets that a model writes', () => {
  it('E7b, A6 a private key of any length shows no part, in chat or in the journal', async () => {
    const body = Array.from({ length: 200 }, (_, i) => `MIIE${String(i).padStart(60, '0')}`).join('\n')
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`
    const text = `here: ${key} and -----BEGIN ${'x'.repeat(5000)} ${GITHUB} end`
    const model = new ScriptedModel(async function* () {
      for (let at = 0; at < text.length; at += 50) yield { type: 'text', text: text.slice(at, at + 50) }
      yield { type: 'finish', reason: 'stop' }
    })
    const e = await engine({ model })
    await e.inbox.message(message('alice', 'go', { id: 'm-22' }))
    await until(() => e.platform.texts('m-22').some((t) => t.includes('end')))
    expect((await stored(e)) + e.platform.texts('m-22').join()).not.toMatch(/MIIE|a1B2/)
  })
})

describe('the journal', () => {
  const secret = 'k9x2m4q8w1z7p3v6'
  const part = [{ type: 'text', text: `a ${secret}` }] as const
  const call = { id: 'c', name: secret, arguments: `{"a":"${secret}"}` }
  const entries: readonly JournalEntry[] = [
    { kind: 'user', items: [{ inbox: 1, author: 'alice', content: part }] },
    { kind: 'context', text: secret },
    { kind: 'assistant', text: secret, calls: [call] },
    { kind: 'started', callId: 'c', tool: secret, header: secret },
    { kind: 'result', callId: 'c', tool: secret, header: secret, state: 'done', content: part, isError: false },
    { kind: 'note', approval: 'a', text: secret },
    { kind: 'notice', text: secret, tone: 'info' },
  ]

  it.each(entries.map((entry) => [entry.kind, entry] as const))('E7b is redacted again: %s', (_, entry) => {
    expect(JSON.stringify(redactEntry(entry, createRedactor([secret])))).not.toContain(secret)
  })

  it('E7b takes nothing else, which the compiler proves', () => {
    const plain: readonly JournalEntry[] = entries
    // @ts-expect-error: text that no redactor gave
    const add = (...[tx, claim, turn]: Parameters<typeof append>) => append(tx, claim, turn, plain, 0)
    expect(add).toBeTypeOf('function')
  })
})
