import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Flags, loadConfig } from '../../../src/config/load-config.ts'
import { TOOL_LABELS } from '../../../src/config/tool-labels.ts'
import type { TurnstoneError } from '../../../src/util/errors.ts'
import { createRedactor } from '../../../src/util/redact.ts'
import { toolBench } from '../../support/tool-bench.ts'

const newFolder = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'trust-')))

function load(toml: string, env: Record<string, string> = {}, flags: Flags = {}, cwd = newFolder()) {
  writeFileSync(join(cwd, 'config.toml'), toml)
  return loadConfig(flags, { env, cwd, home: '/home/ann' })
}

function fault(toml: string, env: Record<string, string> = {}, flags: Flags = {}, cwd?: string): string {
  try {
    load(toml, env, flags, cwd)
  } catch (error) {
    expect((error as TurnstoneError).exit).toBe(2)
    return (error as Error).message.replaceAll(/\/tmp\/trust-\w+/g, '')
  }
  throw new Error('nothing was wrong with it')
}

const rule = (act: string, match: string): string =>
  `[[policy]]\nname = "x"\neffect = "deny"\nact = "${act}"\nmatch = "${match}"\n`

describe('paths of rules', () => {
  it.each([
    ['secrets/**', 'ROOT/secrets/**'],
    ['./a/../secrets/*.txt', 'ROOT/secrets/*.txt'],
    ['**/plans/**', 'ROOT/**/plans/**'],
    ['~/x', '/home/ann/x'],
    ['~', '/home/ann'],
    ['~/.config/**', '/home/ann/.config/**'],
    ['/etc//ssl/./*', '/etc/ssl/*'],
    ['/**', '/**'],
  ])('E6d %s is %s', (match, means) => {
    const cwd = newFolder()
    expect(load(rule('read', match), {}, {}, cwd).policy[0]?.match).toBe(means.replace('ROOT', join(cwd, 'workspace')))
  })

  it('E6d a relative path lies in the folder of every conversation', () => {
    const cwd = newFolder()
    const toml = `[workspace]\nper_workstream = true\n${rule('write', 'secrets/**')}`
    expect(load(toml, {}, {}, cwd).policy[0]?.match).toBe(join(cwd, 'workspace/*/secrets/**'))
  })

  it('E6d a path through a symlink is where it leads, as calls are judged', () => {
    const cwd = newFolder()
    mkdirSync(join(cwd, 'real'))
    symlinkSync(join(cwd, 'real'), join(cwd, 'link'))
    expect(load(rule('read', `${cwd}/link/a/**`), {}, {}, cwd).policy[0]?.match).toBe(join(cwd, 'real/a/**'))
  })

  it.each([
    ['read', 'secrets/', 'a path never ends with a slash; for all files below a directory write "directory/**"'],
    ['write', 'a/**/../b', 'leave off the ".." after a "*"; write the path that is meant'],
    ['read', '~bob/x', '"~" stands for the home directory only alone or before a slash, as in "~/secrets/**"'],
    ['net', 'https://example.com', 'expected a host name alone, without scheme, port or path, such as "*.example.com"'],
    ['net', 'example.com:443', 'expected a host name alone, without scheme, port or path, such as "*.example.com"'],
    [
      'exec',
      'shell',
      'matches no tool; the labels and names are "bash", "read_file", "write_file", "overwrite_file", "append_file", "edit_file", "diff_file", "search"',
    ],
  ])('E6d, N4 %s %s can never match', (act, match, said) => {
    expect(fault(rule(act, match))).toBe(`/config.toml: policy[1].match: ${said}`)
  })

  it.each(['bash', '*', '*_file', 'mcp__github__delete_*'])('N4 exec %s can', (match) => {
    expect(load(rule('exec', match)).policy).toHaveLength(1)
  })
})

describe('labels', () => {
  it('N4 auto_approve takes only labels that a tool has', () => {
    expect(fault('[approvals]\nauto_approve = ["bash", "shell"]\n')).toBe(
      '/config.toml: approvals.auto_approve[2]: no tool has this approval label; the labels are "bash", "read_file", "write_file", "overwrite_file", "append_file", "edit_file", "diff_file", "search"',
    )
  })

  it('are those of the tools', async () => {
    const b = toolBench()
    const path = 'a.txt'
    const labels = [
      await b.ready('bash', { command: 'ls' }),
      await b.ready('write_file', { path, content: 'x', mode: 'append' }),
      await b.ready('search', { query: 'x' }),
    ].map((plan) => plan.label)
    writeFileSync(join(b.root, path), 'x')
    labels.push((await b.ready('write_file', { path, content: 'y' })).label)
    expect(TOOL_LABELS).toEqual(expect.arrayContaining([...labels, ...b.all.map((tool) => tool.spec.name)]))
    expect(new Set(TOOL_LABELS).size).toBe(b.all.length + 2)
  })
})

describe('the workspace', () => {
  it.each([
    ['.', '', '/config.toml'],
    ['./data', '[database]\nurl = "sqlite:./data/t.db"\n', '/data/t.db'],
    ['..', '', '/config.toml'],
  ])('A10 %s holds or lies above our own files', (root, more, file) => {
    const cwd = join(newFolder(), 'etc')
    mkdirSync(cwd)
    mkdirSync(join(cwd, 'data'))
    expect(fault(`[workspace]\nroot = "${root}"\n${more}`, {}, {}, cwd)).toContain(
      `/etc${file}, one of the gateway's own`,
    )
  })

  it('A10 sees through symlinks, and above the program itself', () => {
    const cwd = newFolder()
    symlinkSync(cwd, join(cwd, 'link'))
    expect(fault('[workspace]\nroot = "./link"\n', {}, {}, cwd)).toContain("one of the gateway's own files")
    expect(fault(`[workspace]\nroot = "${process.cwd()}"\n`)).toContain("one of the gateway's own files")
  })
})

const KEY = 'k9x2m4q8w1z7p3v6'
const SERVER = '[models.main]\nbase_url = "http://127.0.0.1:1/v1"\n'

describe('keys', () => {
  it('A18 go to another server only if its block names them', () => {
    const env = { OPENAI_API_KEY: 'sk-0123456789abcdef0123' }
    const config = load(SERVER, env)
    expect(config.secrets.modelKeys).toEqual({})
    expect(config.notes).toEqual([
      'models.main.base_url: no key is sent to this server; to send the one in OPENAI_API_KEY, write api_key_env = "OPENAI_API_KEY"',
    ])
    expect(load(`${SERVER}api_key_env = "OPENAI_API_KEY"\n`, env).secrets.modelKeys).toEqual({
      main: env.OPENAI_API_KEY,
    })
    expect(load('[models.main]\nmodel = "x"\n', env).secrets.modelKeys).toEqual({ main: env.OPENAI_API_KEY })
  })

  it.each([KEY, 'hunter2Hunter3hunter4', 'AKIAABCDEFGHIJKLMNOP', 'sk_live_abcdefghijklmnop1234'])(
    'A18 %s in place of a name is not repeated',
    (key) => {
      expect(fault(`[models.main]\napi_key_env = "${key}"\n`)).not.toContain(key)
    },
  )

  it('A18 one that stands anywhere else is not repeated either', () => {
    const key = 'sk-proj-abcdefghijklmnop1234'
    expect(fault(`[models]\ndefault = "${key}"\n[models.main]\nprovider = "demo"\n`)).not.toContain(key)
    expect(fault(`["${key}"]\na = 1\n`)).not.toContain(key)
    expect(fault('', {}, { model: key })).not.toContain(key)
    expect(fault('', {}, { config: key })).not.toContain(key)
  })

  it('E6f names of what every object has are no models and no keys', () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      expect(fault('', {}, { model: name })).toBe(`--model: there is no [models.${name}]; defined: main`)
      expect(fault(`[models.main]\napi_key_env = "${name}"\n`)).toContain('models.main.api_key_env')
    }
    expect(fault('[users.__proto__]\nrole = "admin"\n')).toContain('users.__proto__')
  })
})

describe('what counts as a secret', () => {
  it('E7d a word or a path does not, whatever its variable is called', () => {
    const env = {
      CACHE_KEY: 'workspace',
      SORT_KEY: 'created_at-desc',
      SSH_KEY: '/home/ann/.ssh/id_ed25519',
      ACCESS_TOKEN: 'production',
      DB_PASSWORD: 'postgres',
      CACHE_DIR_KEY: './build/cache/v2',
      GITHUB_TOKEN_PATH: 'a8f5f167f44f4964e6c998dee827110c',
    }
    expect(load('', env).secretValues).toEqual([])
  })

  it('E7d a placeholder for a server without keys does not', () => {
    const config = load(`${SERVER}api_key_env = "OPENAI_API_KEY"\n`, { OPENAI_API_KEY: 'ollama' })
    expect(config.secrets.modelKeys).toEqual({ main: 'ollama' })
    expect(createRedactor(config.secretValues).redact('ollama serve')).toBe('ollama serve')
  })

  it('E7a what looks like one does, under all the usual names', () => {
    const values = Object.fromEntries(
      ['TOKEN', 'PASSWORD', 'PGPASSWORD', 'MYSQL_PWD', 'DEPLOY_KEY', 'APP_SECRET', 'BASIC_AUTH'].map((name, i) => [
        name,
        `${KEY}${i}`,
      ]),
    )
    const env = { ...values, PASSPHRASE: 'correct horse battery staple', OPENAI_API_KEY: 'plain-words-only' }
    expect(load('', env).secretValues).toEqual(expect.arrayContaining(Object.values(env)))
  })
})
