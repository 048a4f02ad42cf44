import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { configSchema } from '../../../src/config/config.ts'
import { type Flags, loadConfig } from '../../../src/config/load-config.ts'
import { TurnstoneError } from '../../../src/util/errors.ts'

function load(toml: string | undefined, env: Record<string, string> = {}, flags: Flags = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'config-'))
  if (toml !== undefined) writeFileSync(join(cwd, 'config.toml'), toml)
  return loadConfig(flags, { env, cwd, home: '/nonexistent' })
}

function fault(toml: string | undefined, env: Record<string, string> = {}, flags: Flags = {}): string {
  try {
    load(toml, env, flags)
  } catch (error) {
    expect(error).toBeInstanceOf(TurnstoneError)
    expect((error as TurnstoneError).exit).toBe(2)
    expect((error as Error).message).not.toContain('\n')
    return (error as Error).message
  }
  throw new Error('nothing was wrong with it')
}

describe('defaults', () => {
  it('need no file: the demo model, SQLite beside the working directory', () => {
    const config = load(undefined)
    expect(config.models.byAlias.main).toMatchObject({ provider: 'demo' })
    expect(config.databaseFile).toMatch(/config-[^/]+\/turnstone\.db$/)
    expect(config.http).toMatchObject({ host: '127.0.0.1', port: 8091 })
    expect(config.notes.join()).toContain('demo model')
  })

  it('are those of config.example.toml, which also names every key', () => {
    const text = readFileSync('config.example.toml', 'utf8')
    const example = load(text)
    const bare = load('')
    expect({ ...example, file: '', databaseFile: '', workspace: '' }).toEqual({
      ...bare,
      file: '',
      databaseFile: '',
      workspace: '',
    })
    for (const key of keysOf(configSchema))
      expect(text, key).toMatch(new RegExp(`(^|\\n)#? ?${key} ?=|[{,] ?${key} ?=`))
  })

  it('of the blocks that stand commented out are what the example says', () => {
    const text = readFileSync('config.example.toml', 'utf8').replace(/^# (?=\[|\w+ = )/gm, '')
    const config = load(text, { OPENAI_API_KEY: 'sk-0123456789abcdef0123' })
    const standard = load('[models.main]\n', { OPENAI_API_KEY: 'sk-0123456789abcdef0123' })
    const { capabilities, ...main } = config.models.byAlias.main ?? {}
    expect({ ...main, capabilities: {} }).toEqual({ ...standard.models.byAlias.main, capabilities: {} })
    expect(capabilities).toMatchObject({ supports_vision: true })
    expect(config.policy).toHaveLength(1)
    expect(config.users.alice?.role).toBe('admin')
  })
})

/** The names of all keys below a schema. */
function keysOf(schema: z.ZodType): string[] {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const keys: string[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties, ...rest } = node as { properties?: Record<string, { properties?: unknown; type?: string }> }
    for (const [name, child] of Object.entries(properties ?? {})) {
      const table = child.properties !== undefined || name === 'users' || name === 'policy'
      if (!table) keys.push(name)
      walk(child)
    }
    for (const child of Object.values(rest)) walk(child)
  }
  walk(json)
  return [...new Set(keys)]
}

describe('models', () => {
  it('follow the environment where no block is written', () => {
    const openai = load('', { OPENAI_API_KEY: 'sk-0123456789abcdef0123' })
    expect(openai.models.byAlias.main).toMatchObject({ provider: 'openai', model: 'gpt-5.4', reasoning_effort: 'none' })
    const anthropic = load('', { ANTHROPIC_API_KEY: 'sk-ant-0123456789abcdef' })
    expect(anthropic.models.byAlias.main).toMatchObject({ provider: 'demo' })
    expect(anthropic.notes).toHaveLength(1)
    expect(anthropic.notes[0]).toContain('ANTHROPIC_API_KEY')
  })

  it('need their key unless base_url is set', () => {
    expect(fault('[models.main]\n')).toContain('models.main.api_key_env: the variable OPENAI_API_KEY is not set')
    expect(load('[models.main]\nbase_url = "http://127.0.0.1:1/v1"\n').secrets.modelKeys).toEqual({})
  })

  it('are chosen by alias', () => {
    const toml = '[models]\ndefault = "a"\n[models.a]\nprovider = "demo"\n[models.b]\nprovider = "demo"\n'
    expect(load(toml).models.default).toBe('a')
    expect(load(toml, {}, { model: 'b' }).models.default).toBe('b')
    expect(fault(toml, {}, { model: 'c' })).toContain('--model: there is no [models.c]; there are: a, b')
  })
})

describe('faults are one line that names key and file', () => {
  it.each([
    ['[http]\nprot = 1\n', 'unknown key http.prot'],
    ['colour = 1\n', 'unknown key colour'],
    ['[http]\nport = "many"\n', 'http.port: expected number'],
    ['[tools]\ntimeout = 0\n', 'tools.timeout'],
    ['[approvals]\ntimeout = "soon"\n', 'approvals.timeout'],
    ['[models.main]\nprovider = "anthropic"\n', 'models.main.provider: this provider is not in this version'],
    ['[budget]\nuser_daily_tokens = 5\n', 'budget.user_daily_tokens: not in this version'],
    ['[mcp.servers.x]\ncommand = "y"\n', 'mcp.servers: not in this version'],
    ['[tools]\nmodules = ["./x.ts"]\n', 'tools.modules: not in this version'],
    ['[sandbox]\nmode = "bwrap"\n', 'sandbox.mode: not in this version'],
    ['[database]\nurl = "postgres://u:hunter2-pw@h/db"\n', 'PostgreSQL is not in this version'],
    ['[database]\nurl = "mysql://x"\n', 'expected sqlite:FILE'],
    ['[auth]\njwt_secret = "short-secret"\n', 'at least 32 bytes'],
    ['[channels.discord]\narchive_minutes = 5\n', 'archive_minutes'],
    ['[[policy]]\nname = "x"\neffect = "maybe"\nact = "exec"\nmatch = "*"\n', 'policy.0.effect'],
    [
      '[users.a]\nslack = ["U00001"]\n[users.b]\nslack = ["U00001"]\n',
      'users.b.slack: U00001 belongs to users.a already',
    ],
    ['[users.a]\ndiscord = [80351110224678912]\n', 'write ids in quotes'],
    ['[users.a]\ndiscord = ["alice"]\n', 'users.a.discord.0: a Discord user id has 17 to 20 digits'],
    ['[models.main]\nbase_url = "localhost:1"\n', 'begins with http:// or https://'],
    ['[http\nport = 1\n', 'not valid TOML'],
  ])('%j', (toml, said) => {
    const message = fault(toml)
    expect(message).toContain(said)
    expect(message).toContain('config.toml')
    expect(message).not.toContain('hunter2-pw')
    expect(message).not.toContain('short-secret')
  })

  it('also for the environment and files that do not exist', () => {
    expect(fault('', { TURNSTONE_LOG_LEVEL: 'loud' })).toContain('TURNSTONE_LOG_LEVEL')
    expect(fault('', { TURNSTONE_CHANNEL_PORT: '99999' })).toContain('TURNSTONE_CHANNEL_PORT')
    expect(fault('', {}, { config: 'nowhere.toml' })).toContain('--config: no such file')
    expect(fault('', { TURNSTONE_CONFIG: '/nowhere.toml' })).toContain('$TURNSTONE_CONFIG: no such file: /nowhere.toml')
    expect(fault('', { TURNSTONE_SLACK_TOKEN: 'xoxb-1' })).toContain('TURNSTONE_SLACK_APP_TOKEN is not set')
    expect(fault('', { TURNSTONE_SLACK_APP_TOKEN: 'xapp-1' })).toContain('TURNSTONE_SLACK_TOKEN is not set')
    const http = '[channels.slack]\nmode = "http"\n'
    expect(fault(http, { TURNSTONE_SLACK_TOKEN: 'xoxb-1' })).toContain('TURNSTONE_SLACK_SIGNING_SECRET is not set')
  })
})

describe('precedence and places', () => {
  it('is flag, environment, file, default', () => {
    const toml = '[http]\nport = 1111\n[database]\nurl = "sqlite:./a.db"\n'
    expect(load(toml).http.port).toBe(1111)
    const config = load(toml, { TURNSTONE_CHANNEL_PORT: '2222', TURNSTONE_DB_URL: 'sqlite:/x/b.db' })
    expect(config.http.port).toBe(2222)
    expect(config.databaseFile).toBe('/x/b.db')
    expect(load('', {}, { skipPermissions: true }).approvals.skip_permissions).toBe(true)
  })

  it('takes relative paths from the file’s folder', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'config-'))
    mkdirSync(join(cwd, 'etc'))
    writeFileSync(join(cwd, 'etc/t.toml'), '[workspace]\nroot = "w"\n')
    const config = loadConfig({ config: 'etc/t.toml' }, { env: {}, cwd, home: '/nonexistent' })
    expect(config.workspace.root).toBe(join(cwd, 'etc/w'))
    expect(config.databaseFile).toBe(join(cwd, 'etc/turnstone.db'))
  })

  it('reads durations', () => {
    expect(load('[approvals]\ntimeout = "1h30m"\n').approvals.timeout).toBe(5_400_000)
    expect(load('[approvals]\ntimeout = 90\n').approvals.timeout).toBe(90_000)
    expect(load('[approvals]\ntimeout = "250ms"\n').approvals.timeout).toBe(250)
  })

  it('knows every secret’s value', () => {
    const env = {
      TURNSTONE_DISCORD_TOKEN: 'discord-token-value',
      MY_PASSWORD: 'my-password-value',
      OPENAI_API_KEY: 'sk-value-value-1',
    }
    expect(load('', env).secretValues).toEqual(expect.arrayContaining(Object.values(env)))
  })
})
