import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
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
    // The folder has another name each time.
    return (error as Error).message.replaceAll(/\/tmp\/config-\w+/g, '')
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

  it('are those of config.example.toml', () => {
    const text = readFileSync('config.example.toml', 'utf8')
    const example = load(text)
    const bare = load('')
    expect({ ...example, file: '', databaseFile: '', workspace: '' }).toEqual({
      ...bare,
      file: '',
      databaseFile: '',
      workspace: '',
    })
  })

  it('of the blocks that stand commented out are what the example says', () => {
    const text = readFileSync('config.example.toml', 'utf8').replace(/^# (?=\[|\w+ += )/gm, '')
    const config = load(text, { OPENAI_API_KEY: 'sk-0123456789abcdef0123' })
    const standard = load('[models.main]\n', { OPENAI_API_KEY: 'sk-0123456789abcdef0123' })
    const { capabilities, ...main } = config.models.byAlias.main ?? {}
    const defaults = { ...standard.models.byAlias.main, api_key_env: 'OPENAI_API_KEY', capabilities: {} }
    expect({ ...main, capabilities: {} }).toEqual(defaults)
    expect(capabilities).toMatchObject({ supports_vision: true })
    expect(config.policy).toHaveLength(1)
    expect(config.users.alice?.role).toBe('admin')
  })
})

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
    expect(fault('[models.main]\n')).toBe(
      '/config.toml: models.main.api_key_env: the environment variable OPENAI_API_KEY is not set',
    )
    expect(load('[models.main]\nbase_url = "http://127.0.0.1:1/v1"\n').secrets.modelKeys).toEqual({})
  })

  it('are chosen by alias', () => {
    const toml = '[models]\ndefault = "a"\n[models.a]\nprovider = "demo"\n[models.b]\nprovider = "demo"\n'
    expect(load(toml).models.default).toBe('a')
    expect(load(toml, {}, { model: 'b' }).models.default).toBe('b')
    expect(fault(toml, {}, { model: 'c' })).toBe('--model: there is no [models.c]; defined: a, b')
  })
})

const OPENAI = { OPENAI_API_KEY: 'sk-0123456789abcdef0123' }
const POLICY = '[[policy]]\nname = "x"\nact = "exec"\nmatch = "*"\n'

describe('a fault in the file is one line that names key, form and cure', () => {
  it.each([
    // Unknown keys.
    ['[http]\nprot = 1\n', 'unknown key http.prot; did you mean http.port?'],
    ['port = 1\n', 'unknown key port; did you mean http.port?'],
    ['[chanels.slack]\n', 'unknown key chanels; did you mean channels?'],
    ['[models.main]\nbase-url = "x"\n', 'unknown key models.main.base-url; did you mean models.main.base_url?'],
    ['[mcp]\nserver = {}\n', 'unknown key mcp.server; did you mean mcp.servers?'],
    ['colour = 1\n', 'unknown key colour; config.example.toml lists every key'],
    [
      '[channels.discord]\nbot_token = "hunter2-pw"\n',
      'unknown key channels.discord.bot_token; secrets come from the environment: TURNSTONE_DISCORD_TOKEN',
    ],
    [
      '[channels.slack]\nbot_token = "hunter2-pw"\n',
      'unknown key channels.slack.bot_token; secrets come from the environment: TURNSTONE_SLACK_TOKEN',
    ],
    [
      '[channels.slack]\napp_token = "hunter2-pw"\n',
      'unknown key channels.slack.app_token; secrets come from the environment: TURNSTONE_SLACK_APP_TOKEN',
    ],
    [
      '[channels.slack]\nsigning_secret = "hunter2-pw"\n',
      'unknown key channels.slack.signing_secret; secrets come from the environment: TURNSTONE_SLACK_SIGNING_SECRET',
    ],
    [
      '[models.main]\napi_key = "hunter2-pw"\n',
      'unknown key models.main.api_key; secrets come from the environment: write the name of the variable in api_key_env',
    ],
    ['password = "hunter2-pw"\n', 'unknown key password; secrets come from the environment, not from this file'],
    // Kinds of value.
    ['[http]\nport = "many"\n', 'http.port: expected a number without quotes, as in port = 1, not text'],
    [
      '[channels.slack]\nchannels = "C024BE91L"\n',
      'channels.slack.channels: expected a list, as in channels = ["…"], not text',
    ],
    [
      '[channels.slack]\nslash_command = ["/t"]\n',
      'channels.slack.slash_command: expected text in quotes, as in slash_command = "…", not a list',
    ],
    [
      '[workspace]\nper_workstream = "yes"\n',
      'workspace.per_workstream: expected true or false without quotes, as in per_workstream = true, not text',
    ],
    ['http = 8091\n', 'http: expected a table with keys of its own, not a number'],
    [
      '[channels.discord]\nguild = 123\n',
      'channels.discord.guild: expected text in quotes, as in guild = "…", not a number',
    ],
    ['[users.a]\ndiscord = [12]\n', 'users.a.discord[1]: expected text in quotes, as in discord = "…", not a number'],
    ['[[policy]]\nname = "x"\neffect = "ask"\nact = "exec"\n', 'policy[1].match: missing; this key has no default'],
    // Ranges and choices.
    ['[tools]\ntimeout = 0\n', 'tools.timeout: expected 1 or more'],
    ['[tools]\ntimeout = 9999\n', 'tools.timeout: expected 3600 or less'],
    ['[tools]\ntimeout = 1.5\n', 'tools.timeout: expected a whole number'],
    ['[http]\nhost = ""\n', 'http.host: expected text that is not empty'],
    [
      '[approvals]\ntimeout = "soon"\n',
      'approvals.timeout: expected a duration such as "1h30m", "90s" or a number of seconds',
    ],
    [
      '[approvals]\ntimeout = true\n',
      'approvals.timeout: expected a duration such as "1h30m", "90s" or a number of seconds',
    ],
    ['[session]\nspeakers = "all"\n', 'session.speakers: expected "owner" or "linked"'],
    ['[channels.discord]\narchive_minutes = 5\n', 'channels.discord.archive_minutes: expected 60, 1440, 4320 or 10080'],
    [`${POLICY}effect = "maybe"\n`, 'policy[1].effect: expected "deny", "ask" or "allow"'],
    // Ids and names.
    [
      '[channels.slack]\nchannels = ["#general"]\n',
      'channels.slack.channels[1]: expected a Slack channel id, such as C024BE91L; it is at the end of the channel details',
    ],
    [
      '[channels.discord]\nguild = "My Server"\n',
      'channels.discord.guild: expected a Discord server id of 17 to 20 digits; turn on Developer Mode and use Copy Server ID',
    ],
    [
      '[users.a]\ndiscord = ["alice"]\n',
      'users.a.discord[1]: expected a Discord user id of 17 to 20 digits; turn on Developer Mode and use Copy User ID',
    ],
    [
      '[users.a]\nslack = ["U00001"]\n[users.b]\nslack = ["U00001"]\n',
      'users.b.slack: U00001 already belongs to users.a',
    ],
    [
      '[users."Alice Smith"]\nrole = "admin"\n',
      'users."Alice Smith": a user name has letters, digits, dots, dashes and underscores only; try "Alice-Smith"',
    ],
    [
      '[channels.slack]\nslash_command = "ask"\n',
      'channels.slack.slash_command: expected a slash and one word, such as "/turnstone"',
    ],
    // Models.
    [
      '[models.main]\nprovider = "ollama"\n',
      'models.main.provider: expected "openai" or "demo"; for Ollama, vLLM or any server with the OpenAI API use "openai" with base_url, such as "http://127.0.0.1:11434/v1"',
    ],
    [
      '[models.main]\nprovider = "anthropic"\n',
      'models.main.provider: this provider is not in this version; use "openai" or "demo"',
    ],
    [
      '[models.main]\nbase_url = "localhost:1"\n',
      'models.main.base_url: expected an address that starts with http:// or https://',
    ],
    [
      '[models.main]\nbase_url = "http://127.0.0.1:1/v1/chat/completions"\n',
      'models.main.base_url: leave off /chat/completions; it is added to this address, as in "https://api.example.com/v1"',
    ],
    [
      '[models.main]\napi_key_env = "MY KEY"\n',
      'models.main.api_key_env: expected the name of an environment variable, such as "OPENAI_API_KEY"',
    ],
    [
      '[models]\ndefault = "x"\n[models.main]\nprovider = "demo"\n',
      'models.default: there is no [models.x]; defined: main',
    ],
    ['[models]\nmain = "gpt-5.4"\n', 'models.main: expected a table with keys of its own, not text'],
    // Not in this version.
    ['[budget]\nuser_daily_tokens = 5\n', 'budget.user_daily_tokens: not in this version; leave it at its default'],
    ['[mcp.servers.x]\ncommand = "y"\n', 'mcp.servers: not in this version; leave it at its default'],
    ['[tools]\nmodules = ["./x.ts"]\n', 'tools.modules: not in this version; leave it at its default'],
    ['[sandbox]\nmode = "bwrap"\n', 'sandbox.mode: not in this version; leave it at its default'],
    ['[models.main]\nprice = { input = 1.0 }\n', 'models.main.price: not in this version; leave it at its default'],
    // Database, secrets.
    [
      '[database]\nurl = "postgres://u:hunter2-pw@h/db"\n',
      'database.url: PostgreSQL is not in this version; use sqlite:FILE',
    ],
    ['[database]\nurl = "mysql://x"\n', 'database.url: expected sqlite:FILE, such as "sqlite:./turnstone.db"'],
    [
      '[database]\nurl = "sqlite://t.db"\n',
      'database.url: sqlite:// needs an absolute path, as in sqlite:///var/lib/turnstone.db; for a relative path write sqlite:FILE',
    ],
    ['[database]\nurl = "sqlite:"\n', 'database.url: sqlite: needs a file name, as in "sqlite:./turnstone.db"'],
    [
      '[auth]\njwt_secret = "hunter2-pw"\n',
      'auth.jwt_secret: expected at least 32 bytes; `openssl rand -hex 32` prints enough',
    ],
    [
      '[http]\npublic_url = "turnstone.example.com"\n',
      'http.public_url: expected an address that starts with http:// or https://',
    ],
    // TOML.
    ['[workspace]\nroot = ./hunter2-pw\n', 'line 2, column 8: text needs straight quotes, as in root = "…"'],
    ['a = “hunter2-pw”\n', 'line 1, column 5: text needs straight quotes, as in a = "…"'],
    [
      '[channels.slack]\nchannels = [general]\n',
      'line 2, column 13: text in a list needs straight quotes, as in channels = ["…"]',
    ],
    [
      '[users.a]\ndiscord = [80351110224678912]\n',
      'line 2, column 12: the number is too large; write ids as text in quotes, as in discord = ["80351110224678912"]',
    ],
    ['[http\nport = 1\n', 'line 1, column 6: not valid TOML: illegal character in key'],
  ])('%j', (toml, said) => {
    expect(fault(toml, OPENAI)).toBe(`/config.toml: ${said}`)
    expect(said).not.toContain('hunter2-pw')
  })

  it.each([
    'sk-0123456789abcdef',
    'sk-short',
    'AIzaSyA0123456789abcdefghijklmnopqrstuv',
    'abcdef0123456789abcdef0123456789',
  ])('api_key_env = %j is a key and is not repeated', (key) => {
    expect(fault(`[models.main]\napi_key_env = "${key}"\n`)).toBe(
      '/config.toml: models.main.api_key_env: expected the name of an environment variable, such as "OPENAI_API_KEY"; this looks like a key, so put it into a variable and revoke it if others can read this file',
    )
  })

  it('leaves the defaults of what is not in this version alone', () => {
    const toml = '[budget]\n[mcp]\nservers = {}\n[channels.web]\nenabled = true\n[tools]\nsearch = "auto"\n'
    expect({ ...load(toml), file: '', databaseFile: '', workspace: '' }).toEqual({
      ...load(''),
      file: '',
      databaseFile: '',
      workspace: '',
    })
  })
})

const BOT = 'use the Bot User OAuth Token (xoxb-…) from the OAuth & Permissions page of the Slack app'
const APP = 'an app-level token (xapp-…) from the Basic Information page of the Slack app'
const SIGNING = 'the Signing Secret from the Basic Information page of the Slack app'
const DISCORD = `${Buffer.from('123456789012345678').toString('base64url')}.abcdef.abcdefghijklmnopqrstuvwxyz0`

describe('a fault in the environment names the variable, what is wanted and where to find it', () => {
  it.each<[Record<string, string>, string]>([
    [
      { TURNSTONE_LOG_LEVEL: 'loud' },
      'TURNSTONE_LOG_LEVEL: expected "trace", "debug", "info", "warn", "error", "fatal" or "silent"',
    ],
    [{ TURNSTONE_LOG_FORMAT: 'xml' }, 'TURNSTONE_LOG_FORMAT: expected "json" or "pretty"'],
    [{ TURNSTONE_CHANNEL_PORT: '99999' }, 'TURNSTONE_CHANNEL_PORT: expected a port from 0 to 65535'],
    [{ TURNSTONE_DB_URL: 'mysql://x' }, 'TURNSTONE_DB_URL: expected sqlite:FILE, such as "sqlite:./turnstone.db"'],
    [
      { TURNSTONE_JWT_SECRET: 'short' },
      'TURNSTONE_JWT_SECRET: expected at least 32 bytes; `openssl rand -hex 32` prints enough',
    ],
    [
      { TURNSTONE_DISCORD_TOKEN: 'xoxb-1' },
      'TURNSTONE_DISCORD_TOKEN: not a Discord bot token; use the token from the Bot page of your application on https://discord.com/developers/applications',
    ],
    [{ TURNSTONE_DISCORD_TOKEN: `"${DISCORD}"` }, 'TURNSTONE_DISCORD_TOKEN: remove the quotes around the value'],
    [{ TURNSTONE_DISCORD_TOKEN: `Bot ${DISCORD}` }, 'TURNSTONE_DISCORD_TOKEN: leave off "Bot "; use the token alone'],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb–1–2', TURNSTONE_SLACK_APP_TOKEN: 'xapp-1' },
      'TURNSTONE_SLACK_TOKEN: it has a space, a line break or a character that no token has; copy it again',
    ],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxp-1', TURNSTONE_SLACK_APP_TOKEN: 'xapp-1' },
      `TURNSTONE_SLACK_TOKEN: this is a user token (xoxp-…); ${BOT}`,
    ],
    [
      { TURNSTONE_SLACK_TOKEN: 'xapp-1', TURNSTONE_SLACK_APP_TOKEN: 'xoxb-1' },
      `TURNSTONE_SLACK_TOKEN: this is an app-level token (xapp-…), which belongs in TURNSTONE_SLACK_APP_TOKEN; ${BOT}`,
    ],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb-1', TURNSTONE_SLACK_APP_TOKEN: 'xoxb-1' },
      `TURNSTONE_SLACK_APP_TOKEN: this is a bot token (xoxb-…), which belongs in TURNSTONE_SLACK_TOKEN; use ${APP}`,
    ],
    [{ TURNSTONE_SLACK_TOKEN: DISCORD }, `TURNSTONE_SLACK_TOKEN: not a bot token; ${BOT}`],
    [{ TURNSTONE_SLACK_TOKEN: 'xoxb-1' }, `TURNSTONE_SLACK_APP_TOKEN: not set; Slack in socket mode also needs ${APP}`],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb-1', TURNSTONE_SLACK_SIGNING_SECRET: 'abc' },
      `TURNSTONE_SLACK_APP_TOKEN: not set; channels.slack.mode is "socket", which needs ${APP}; for TURNSTONE_SLACK_SIGNING_SECRET set mode = "http"`,
    ],
    [{ TURNSTONE_SLACK_APP_TOKEN: 'xapp-1' }, `TURNSTONE_SLACK_TOKEN: not set; Slack needs ${BOT.replace('use ', '')}`],
  ])('%j', (env, said) => {
    expect(fault('', env)).toBe(said)
  })

  it.each<[Record<string, string>, string]>([
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb-1' },
      `TURNSTONE_SLACK_SIGNING_SECRET: not set; channels.slack.mode is "http", which needs ${SIGNING}`,
    ],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb-1', TURNSTONE_SLACK_APP_TOKEN: 'xapp-1' },
      `TURNSTONE_SLACK_SIGNING_SECRET: not set; channels.slack.mode is "http", which needs ${SIGNING}; for TURNSTONE_SLACK_APP_TOKEN set mode = "socket"`,
    ],
    [
      { TURNSTONE_SLACK_TOKEN: 'xoxb-1', TURNSTONE_SLACK_SIGNING_SECRET: 'xapp-1' },
      `TURNSTONE_SLACK_SIGNING_SECRET: not a signing secret; use ${SIGNING}`,
    ],
  ])('%j in http mode', (env, said) => {
    expect(fault('[channels.slack]\nmode = "http"\n', env)).toBe(said)
  })

  it('names files that are not there or not files', () => {
    expect(fault('', {}, { config: 'nowhere.toml' })).toBe('--config: no such file: /nowhere.toml')
    expect(fault('', { TURNSTONE_CONFIG: '/nowhere.toml' })).toBe('$TURNSTONE_CONFIG: no such file: /nowhere.toml')
    expect(fault('', {}, { config: '/usr' })).toBe(
      '--config: /usr is a directory; name the file, such as /usr/config.toml',
    )
  })
})

describe('what is likely wrong is a line in the log', () => {
  it.each<[string, Record<string, string>, string]>([
    [
      '[models.main]\nbase_url = "http://127.0.0.1:11434"\n',
      {},
      'models.main.base_url: http://127.0.0.1:11434 has no path; most servers expect http://127.0.0.1:11434/v1',
    ],
    [
      '[models.main]\nprovider = "demo"\n[channels.slack]\nmode = "http"\n',
      {},
      'channels.slack.mode is "http", but TURNSTONE_SLACK_TOKEN and TURNSTONE_SLACK_SIGNING_SECRET are not set: Slack is off',
    ],
    ['', {}, 'no model is configured; using the demo model; set OPENAI_API_KEY or add a [models.main] block'],
    [
      '',
      { ANTHROPIC_API_KEY: 'x' },
      'ANTHROPIC_API_KEY is set, but this version has no anthropic provider; using the demo model',
    ],
  ])('%j', (toml, env, said) => {
    expect(load(toml, env).notes).toEqual([said])
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

  it('takes ~ as the home directory', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'config-'))
    writeFileSync(join(cwd, 'config.toml'), '[workspace]\nroot = "~/ws"\n[database]\nurl = "sqlite:~/t.db"\n')
    const config = loadConfig({}, { env: {}, cwd, home: '/home/ann' })
    expect(config.workspace.root).toBe('/home/ann/ws')
    expect(config.databaseFile).toBe('/home/ann/t.db')
  })

  it('takes the log format from flag, then environment', () => {
    expect(load('').logFormat).toBeUndefined()
    expect(load('', { TURNSTONE_LOG_FORMAT: 'json' }).logFormat).toBe('json')
    expect(load('', { TURNSTONE_LOG_FORMAT: 'json' }, { logFormat: 'pretty' }).logFormat).toBe('pretty')
  })

  it('reads durations', () => {
    expect(load('[approvals]\ntimeout = "1h30m"\n').approvals.timeout).toBe(5_400_000)
    expect(load('[approvals]\ntimeout = 90\n').approvals.timeout).toBe(90_000)
    expect(load('[approvals]\ntimeout = "250ms"\n').approvals.timeout).toBe(250)
  })

  it('knows every secret’s value', () => {
    const env = {
      TURNSTONE_DISCORD_TOKEN: DISCORD,
      MY_PASSWORD: 'my-password-value',
      OPENAI_API_KEY: 'sk-value-value-1',
    }
    expect(load('', env).secretValues).toEqual(expect.arrayContaining(Object.values(env)))
  })
})
