import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PolicyRule } from '../../../src/config/config.ts'
import { decide, type JudgedCall, type Layers } from '../../../src/policy/decide.ts'
import { ArgumentChecker, parseArguments } from '../../../src/tool/arguments.ts'
import { cutMiddle, limitedContent, resultLimit } from '../../../src/tool/limit-result.ts'

describe('arguments', () => {
  const args = (text: string, key: string | undefined = 'command', whole = true): unknown => {
    const parsed = parseArguments(text, key, whole)
    return parsed.ok ? parsed.args : parsed.error
  }

  it.each([
    ['{"a": 1}', { a: 1 }],
    ['', {}],
    ['  ', {}],
    ['null', {}],
    ['"ls -la"', { command: 'ls -la' }],
    ['ls -la', { command: 'ls -la' }],
    ['echo "a" > {b}', { command: 'echo "a" > {b}' }],
  ])('takes %j', (text, value) => expect(args(text)).toEqual(value))

  it.each([
    ['{"command": "ls"', { command: 'ls' }],
    ['{"command": "ls",}', { command: 'ls' }],
    ["{'command': 'ls'}", { command: 'ls' }],
    ['{"command": "a\nb"}', { command: 'a\nb' }],
    ['```json\n{"command": "ls"}\n```', { command: 'ls' }],
    ['{"a": {"b": [1, 2', { a: { b: [1, 2] } }],
  ])('repairs %j, which changes no value', (text, value) => expect(args(text)).toEqual(value))

  it.each([
    '{"command": "rm -rf',
    '{"command": ',
    '{"a": tru',
    '{command: ls}',
    '{"a": "b" + "c"}',
    '[1, 2]',
    '[1, ',
    '5',
    'true',
    '{"a": 1.',
  ])('refuses %j and says what was expected', (text) =>
    expect(args(text)).toMatch(/^Nothing was run: .*\. Expected a JSON object such as \{"command":"…"\}/),
  )

  it('repairs nothing of an answer that was cut off, and passes no bare text without a primary key', () => {
    expect(args('{"command": "ls"', 'command', false)).toMatch(/cut off/)
    expect(args('ls', 'command', false)).toMatch(/cut off/)
    expect(args('{"command": "ls"}', 'command', false)).toEqual({ command: 'ls' })
    expect(parseArguments('ls', undefined, true).ok).toBe(false)
  })

  it('never gives a value that the text does not hold', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), fc.nat(), (value, cut) => {
        const text = JSON.stringify(value)
        const got = parseArguments(text.slice(0, cut % (text.length + 1)), undefined, true)
        if (got.ok) for (const s of stringsIn(got.args)) expect(stringsIn(value)).toContain(s)
      }),
    )
  })

  const probe = {
    spec: { name: 'probe', description: '', parameters: {} },
    origin: 'built-in',
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        limit: { type: 'integer', minimum: 1, maximum: 50, clamp: true },
        timeout: { type: 'integer', minimum: 1, maximum: 600 },
        deep: { type: 'boolean' },
        mode: { type: 'string', enum: ['a', 'b'] },
        edits: { type: 'array', items: { type: 'object', properties: { near_line: { type: 'integer' } } } },
      },
      required: ['path'],
    },
  }
  const check = (value: Record<string, unknown>, origin = 'built-in'): unknown => {
    const parsed = new ArgumentChecker().check({ ...probe, origin }, value)
    return parsed.ok ? parsed.args : parsed.error
  }

  it('fit the schema: numeric strings, booleans, clamped limits, no unknown fields', () => {
    expect(check({ path: 'p', limit: '999', deep: 'true', other: 1 })).toEqual({ path: 'p', limit: 50, deep: true })
    expect(check({ path: 'p', edits: [{ near_line: '7', x: 1 }] })).toEqual({ path: 'p', edits: [{ near_line: 7 }] })
    expect(check({ path: 'p', limit: -3 })).toEqual({ path: 'p', limit: 1 })
  })

  it('keep unknown fields where the tool is not built in', () => {
    expect(check({ path: 'p', other: 1 }, 'somewhere')).toEqual({ path: 'p', other: 1 })
  })

  it.each([
    [{}, 'path is missing'],
    [{ path: 5 }, 'path must be string'],
    [{ path: 'p', timeout: 601 }, 'timeout must be <= 600'],
    [{ path: 'p', mode: 'c' }, 'mode must be one of a, b'],
    [{ path: 'p', limit: 'many' }, 'limit must be integer'],
    [{ path: 'p', edits: [{ near_line: 'x' }] }, 'edits.0.near_line must be integer'],
  ])('name the wrong field of %j', (value, said) => expect(check(value)).toContain(said))
})

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, v]) => [key, ...stringsIn(v)])
}

describe('a result’s limit', () => {
  it('is the least of 256 KiB, half the window and what is left, never under 2,048', () => {
    expect(resultLimit(1_000_000, 0)).toBe(262_144)
    expect(resultLimit(8000, 0)).toBe(16_000)
    expect(resultLimit(8000, 6000)).toBe(8000)
    expect(resultLimit(8000, 9000)).toBe(2048)
  })

  it('keeps head and tail, the notice inside it, and whole characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 400 }),
        fc.integer({ min: 150, max: 400 }),
        (text, limit) => {
          const long = text.repeat(10)
          const cut = cutMiddle(long, limit)
          expect(cut.length).toBeLessThanOrEqual(Math.max(limit, 0))
          if (long.length <= limit) expect(cut).toBe(long)
          else expect(cut).toContain('did run')
          if (long.isWellFormed()) expect(cut.isWellFormed()).toBe(true)
        },
      ),
    )
  })

  it('keeps the trailer outside the cut', () => {
    const [part] = limitedContent(
      { content: [{ type: 'text', text: 'x'.repeat(10_000) }], isError: true, trailer: '[exit code: 3]' },
      3000,
    )
    expect(part?.type === 'text' && part.text.endsWith('\n[exit code: 3]')).toBe(true)
  })
})

describe('the one decision', () => {
  const exec: JudgedCall = { acts: [{ act: 'exec', label: 'bash', name: 'bash' }], needsApproval: true }
  const rule = (effect: PolicyRule['effect'], act: PolicyRule['act'], match: string): PolicyRule => ({
    name: `${effect}-${match}`,
    effect,
    act,
    match,
  })
  const layers = (part: Partial<Layers> = {}): Layers => ({
    rules: [],
    skipPermissions: false,
    autoApprove: new Set(),
    grants: new Set(),
    ...part,
  })
  const write = (path: string, zone: 'workspace' | 'outside' | 'secret' | 'own'): JudgedCall => ({
    acts: [...exec.acts, { act: 'write', path, zone }],
    needsApproval: false,
  })
  const effect = (call: JudgedCall, l: Partial<Layers> = {}): string => decide(call, layers(l)).effect

  it('asks for what asks, until a grant, auto_approve, an allow rule or skip_permissions', () => {
    expect(decide(exec, layers())).toMatchObject({ effect: 'ask', grantable: true })
    expect(effect(exec, { grants: new Set(['bash']) })).toBe('allow')
    expect(effect(exec, { autoApprove: new Set(['bash']) })).toBe('allow')
    expect(effect(exec, { rules: [rule('allow', 'exec', 'ba*')] })).toBe('allow')
    expect(effect(exec, { skipPermissions: true })).toBe('allow')
    expect(effect({ ...exec, needsApproval: false })).toBe('allow')
  })

  it('lets deny beat everything, whatever the order, and names the rule', () => {
    const all = { skipPermissions: true, grants: new Set(['bash']), autoApprove: new Set(['bash']) }
    const rules = [rule('allow', 'exec', '*'), rule('ask', 'exec', '*'), rule('deny', 'exec', 'bash')]
    for (const r of [rules, [...rules].reverse()]) {
      expect(decide(exec, layers({ ...all, rules: r }))).toMatchObject({
        effect: 'deny',
        because: 'policy rule "deny-bash"',
      })
    }
  })

  it('blocks what the blocklist names, under skip_permissions and an allow rule too', () => {
    const blocked = { ...exec, blocked: 'rm -rf /' }
    expect(effect(blocked, { skipPermissions: true })).toBe('deny')
    expect(effect(blocked, { rules: [rule('allow', 'exec', '*')] })).toBe('deny')
    expect(effect(blocked, { rules: [rule('ask', 'exec', '*')] })).toBe('deny')
  })

  it('lets an ask rule win over grants and skip_permissions, without *Always allow*', () => {
    const ask = { rules: [rule('ask', 'exec', 'bash')], grants: new Set(['bash']), skipPermissions: true }
    expect(decide(exec, layers(ask))).toMatchObject({
      effect: 'ask',
      grantable: false,
      because: 'policy rule "ask-bash"',
    })
  })

  it('asks each time outside the workspace, for secrets and own files, whatever is granted', () => {
    for (const zone of ['outside', 'secret', 'own'] as const) {
      const call = write('/etc/x', zone)
      const granted = { grants: new Set(['bash']), autoApprove: new Set(['bash']) }
      expect(decide(call, layers(granted))).toMatchObject({ effect: 'ask', grantable: false })
      expect(effect(call, { skipPermissions: true })).toBe('allow')
      expect(effect(call, { rules: [rule('allow', 'write', '/etc/*')] })).toBe('allow')
      expect(effect({ ...call, needsApproval: true }, { rules: [rule('allow', 'write', '/etc/*')] })).toBe('ask')
    }
    expect(effect(write('/w/a', 'workspace'))).toBe('allow')
  })

  it('judges a host by its rules alone, and the call by its strictest act', () => {
    const host = (name: string): JudgedCall => ({ acts: [{ act: 'net', host: name }], needsApproval: false })
    const hit = (match: string, name: string): boolean =>
      effect(host(name), { rules: [rule('deny', 'net', match)] }) === 'deny'
    expect(decide(host('example.com'), layers())).toMatchObject({ effect: 'allow', because: 'no rule on this host' })
    expect(hit('example.com', 'example.com')).toBe(true)
    expect(hit('Example.COM', 'example.com')).toBe(true)
    expect(hit('*.example.com', 'a.b.example.com')).toBe(true)
    expect(hit('*.example.com', 'example.com')).toBe(false)
    expect(hit('*.example.com', 'example.com.evil.net')).toBe(false)
    expect(hit('example.com', 'exampleXcom')).toBe(false)
    expect(hit('*', 'anything.example')).toBe(true)
    expect(effect(host('a.example'), { rules: [rule('deny', 'exec', '*'), rule('deny', 'read', '**')] })).toBe('allow')
    const asks = { rules: [rule('ask', 'net', '*')], skipPermissions: true, grants: new Set(['bash']) }
    expect(decide(host('a.example'), layers(asks))).toMatchObject({ effect: 'ask', grantable: false })
    const both: JudgedCall = { acts: [...exec.acts, { act: 'net', host: 'a.example' }], needsApproval: true }
    expect(effect(both, { rules: [rule('allow', 'net', '*')] })).toBe('ask')
    expect(effect(both, { rules: [rule('deny', 'net', 'a.*')], grants: new Set(['bash']) })).toBe('deny')
  })

  it('matches * within a segment and ** across, exactly', () => {
    const hit = (match: string, path: string): boolean =>
      effect(write(path, 'workspace'), { rules: [rule('deny', 'write', match)] }) === 'deny'
    expect(hit('/w/*.ts', '/w/a.ts')).toBe(true)
    expect(hit('/w/*.ts', '/w/d/a.ts')).toBe(false)
    expect(hit('/w/**', '/w/d/a.ts')).toBe(true)
    expect(hit('/w/**', '/w')).toBe(false)
    expect(hit('/w/a.ts', '/w/aXts')).toBe(false)
    expect(hit('*', '/w/a')).toBe(false)
  })
})
