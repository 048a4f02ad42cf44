import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { ModelSim } from '../simulators/model/index.ts'
import { turnstone } from '../support/command-line.ts'
import { discordWorld } from '../support/discord-world.ts'
import { until } from '../support/engine.ts'
import { GatewayProcess, newDir } from '../support/gateway-process.ts'
import { slackWorld } from '../support/slack-world.ts'

const serve = (toml: string, dir = newDir(), env: Record<string, string> = {}) =>
  GatewayProcess.spawn({ dir, toml, env, shipped: true })

/** Ends it and gives what it said on one line. */
async function fails(process: GatewayProcess, code: number): Promise<string> {
  expect(await process.exited()).toEqual({ code, signal: null })
  const lines = process.output.filter((l) => l.startsWith('turnstone: '))
  expect(lines).toHaveLength(1)
  expect(process.output.join('\n')).not.toMatch(/\n\s+at /)
  return lines[0] ?? ''
}

async function taken(): Promise<{ server: Server; port: number }> {
  const server = createServer()
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  return { server, port: typeof address === 'object' && address ? address.port : 0 }
}

describe('serve', () => {
  it('starts without tokens, says what is off and how to try it, and stops with 0', async () => {
    const g = await GatewayProcess.start({ toml: '[http]\nport = 0\n', shipped: true })
    const { status, body } = await g.health()
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'ok', channels: { discord: 'off', slack: 'off' }, workstreams: 0, watches: 0 })
    expect(JSON.stringify(body.reasons)).toContain('no sandbox')
    const off = g.output.filter((l) => l.includes('channels off'))
    expect(off).toHaveLength(1)
    expect(off[0]).toMatch(/TURNSTONE_DISCORD_TOKEN.*TURNSTONE_SLACK_TOKEN.*npm run demo/)
    const front = await (await fetch(`${g.url}/`)).text()
    expect(front).toContain('GET /health reports channel status')
    const metrics = await (await fetch(`${g.url}/metrics`)).text()
    expect(metrics).toContain('turnstone_events_total')
    expect(metrics).toMatch(/^turnstone_workstreams_open 0$/m)
    expect(metrics).toMatch(/^turnstone_channels_ready 0$/m)
    expect((await fetch(`${g.url}/nowhere`)).status).toBe(404)
    expect((await fetch(`${g.url}/slack/events`, { method: 'POST', body: '{}' })).status).toBe(404)
    const stopped = await g.stop()
    expect(stopped).toMatchObject({ code: 0, signal: null })
    expect(stopped.ms).toBeLessThan(8000)
    expect(g.output.at(-2)).toContain('"msg":"stopping"')
    expect(g.output.at(-1)).toContain('"msg":"stopped"')
  })

  it('writes lines for people where it is told to; the flag wins', async () => {
    const dir = newDir()
    writeFileSync(join(dir, 'config.toml'), '[http]\nport = 0\n')
    const env = { PATH: process.env.PATH ?? '', HOME: dir, TURNSTONE_LOG_FORMAT: 'json' }
    const args = ['src/app/main.ts', 'serve', '--log-format=pretty', `--config=${join(dir, 'config.toml')}`]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    const ended = new Promise<number | null>((done) => child.once('exit', done))
    await until(() => /^\d\d:\d\d:\d\d INFO {2}ready url=http:\S+$/m.exec(out), 20_000)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(out).toMatch(/^[\d:]+ INFO {2}stopping signal=SIGTERM\n[\d:]+ INFO {2}stopped\n$/m)
    expect(out).not.toMatch(/[{}\u001b]/)
    const bad = await turnstone(['serve'], { cwd: dir, env: { TURNSTONE_LOG_FORMAT: 'xml' } })
    expect(bad).toMatchObject({ code: 2, err: 'turnstone: TURNSTONE_LOG_FORMAT: expected "json" or "pretty"\n' })
    expect((await turnstone(['serve', '--log-format=xml'], { cwd: dir })).code).toBe(2)
  })

  it('leaves nothing in a clone that git would show', async () => {
    const dir = newDir()
    const git = (...args: string[]): string => spawnSync('git', args, { cwd: dir, encoding: 'utf8' }).stdout
    git('init', '-q')
    copyFileSync('.gitignore', join(dir, '.gitignore'))
    const g = await GatewayProcess.start({ dir, toml: '[http]\nport = 0\n', shipped: true })
    const during = git('status', '--porcelain', '--untracked-files=all')
    await g.kill()
    const again = await GatewayProcess.start({ dir, toml: '[http]\nport = 0\n', shipped: true })
    await again.stop()
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(['turnstone.db', 'turnstone.db-lock', 'workspace']))
    expect([during, git('status', '--porcelain', '--untracked-files=all')]).toEqual([
      '?? .gitignore\n',
      '?? .gitignore\n',
    ])
  })

  it('ends with npm, when whoever started `npm start` ends that', async () => {
    const dir = newDir()
    writeFileSync(join(dir, 'config.toml'), '[http]\nport = 0\n')
    const env = { PATH: process.env.PATH ?? '', HOME: dir, TURNSTONE_CONFIG: join(dir, 'config.toml') }
    const npm = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    const ended = new Promise<number | null>((done) => npm.once('exit', done))
    const url = await until(() => /"url":"([^"]+)","msg":"ready"/.exec(out)?.[1], 20_000)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    npm.kill('SIGTERM')
    expect(await ended).toBe(0)
    await expect(fetch(`${url}/health`)).rejects.toThrow()
  })

  it('keeps its database from other users', async () => {
    const g = await GatewayProcess.start({ toml: '[http]\nport = 0\n', shipped: true })
    expect(statSync(join(g.dir, 'turnstone.db')).mode & 0o077).toBe(0)
    await g.stop()
  })

  it.each([
    ['[http]\nprot = 1\n', 'unknown key http.prot'],
    ['[tools]\ntimeout = "long"\n', 'tools.timeout'],
    ['[models.main]\n', 'OPENAI_API_KEY is not set'],
    ['[database]\nurl = "postgres://u:secret-pw@h/d"\n', 'PostgreSQL is not in this version'],
    ['[workspace]\nroot = "/"\n', '/ is a system directory; name a directory of its own, such as /workspace'],
  ])('ends with 2 for %j', async (toml, said) => {
    const line = await fails(serve(toml), 2)
    expect(line).toContain(said)
    expect(line).not.toContain('secret-pw')
  })

  it('ends with 2 for flags it does not know or does not have yet', async () => {
    for (const flag of ['--nope', '--tool-search=on', '--mcp-config=x.json']) {
      const ran = await turnstone(['serve', flag], { cwd: newDir() })
      expect(ran.code).toBe(2)
      expect(ran.err.trim().split('\n')).toHaveLength(1)
    }
  })

  it('ends with 1 where it cannot listen, and names the key', async () => {
    expect(await fails(serve('[http]\nhost = "192.0.2.1"\nport = 0\n'), 1)).toBe(
      'turnstone: http.host: this machine has no address 192.0.2.1; use "127.0.0.1", "0.0.0.0" or one of its own addresses',
    )
  })

  it.each([
    [
      'sqlite:/etc/passwd/t.db',
      "cannot use the database /etc/passwd/t.db: the gateway's user cannot write to /etc/passwd (EEXIST); change its permissions, or name another file in database.url",
    ],
    ['sqlite:/usr', 'cannot use the database /usr: it is a directory; name a file in database.url'],
  ])('ends with 1 where the database cannot be made: %s', async (url, said) => {
    expect(await fails(serve(`[http]\nport = 0\n[database]\nurl = "${url}"\n`), 1)).toBe(`turnstone: ${said}`)
  })

  it('ends with 1 where the port is taken', async () => {
    const { server, port } = await taken()
    expect(await fails(serve(`[http]\nport = ${port}\n`), 1)).toContain('the port is taken')
    server.close()
  })

  it('ends with 1 for a newer or damaged database, and leaves it as it is', async () => {
    const dir = newDir()
    const g = await GatewayProcess.start({ dir, toml: '[http]\nport = 0\n', shipped: true })
    await g.stop()
    const file = join(dir, 'turnstone.db')
    const handle = new Database(file)
    handle.exec('update schema_version set version = 99')
    handle.close()
    const before = readFileSync(file)
    expect(await fails(serve('[http]\nport = 0\n', dir), 1)).toContain('newer version (schema 99')
    expect(readFileSync(file).equals(before)).toBe(true)
    writeFileSync(file, 'no database '.repeat(1000))
    expect(await fails(serve('[http]\nport = 0\n', dir), 1)).toContain('damaged')
    expect(readFileSync(file, 'utf8')).toBe('no database '.repeat(1000))
  })

  it('stands by while another one serves the database, and takes over', async () => {
    const dir = newDir()
    const toml = '[http]\nport = 0\n'
    const first = await GatewayProcess.start({ dir, toml, shipped: true })
    const second = GatewayProcess.spawn({ dir, toml, shipped: true })
    const listening = await until(() => second.output.find((l) => l.includes('"listening"')), 10_000)
    second.url = (JSON.parse(listening) as { url: string }).url
    await until(async () => (await second.health()).body.status === 'standby', 10_000)
    expect((await second.health()).status).toBe(503)
    await first.kill()
    await until(async () => (await second.health()).status === 200, 10_000)
    expect((await second.stop()).code).toBe(0)
  })

  it('goes on with one channel where the other’s token is wrong, and shows no token', async () => {
    const discord = await discordWorld()
    const slack = await slackWorld()
    const env = {
      ...discord.env,
      ...slack.env,
      TURNSTONE_DISCORD_TOKEN: 'MTIzNDU2Nzg5MDEyMzQ1Njc4.Gwrong.wrong-token-wrong-token-wrong-token-xx',
    }
    const toml = `[http]\nport = 0\n[channels.discord]\napi_url = "${discord.sim.apiUrl}"\n${slack.toml}`
    const g = await GatewayProcess.start({ toml, env })
    const { body } = await g.health()
    expect(body).toMatchObject({ status: 'degraded', channels: { discord: 'failed', slack: 'ready' } })
    const c = await slack.mention('alice', 'hello')
    await until(() => slack.texts(c).find((t) => t.includes('demo model')), 10_000)
    expect(g.output.join('\n')).not.toContain('wrong-token')
    expect(JSON.stringify(body)).not.toContain('wrong-token')
    await g.stop()
    await discord.stop()
    await slack.stop()
  })
})

describe('help', () => {
  it('lists every command, one a line', async () => {
    const { out, code } = await turnstone(['--help'], { cwd: newDir() })
    expect(code).toBe(0)
    const commands = out.split('\n').filter((line) => line.startsWith('  '))
    expect(commands).toHaveLength(12)
    for (const line of commands) expect(line).toMatch(/^ {2}\S.*\S {2,}\S/)
    expect(commands[0]).toBe('  serve                          run the gateway (npm start)')
  })
})

describe('admin', () => {
  it('adds people, makes and revokes tokens, links and unlinks', async () => {
    const cwd = newDir()
    const run = async (...args: string[]) => turnstone(['admin', ...args], { cwd })
    expect(await run('user', 'add', 'ann', '--role', 'admin')).toMatchObject({ code: 0, out: 'Added ann (admin).\n' })
    expect(await run('user', 'add', 'ann')).toMatchObject({ code: 1, err: 'turnstone: user ann already exists\n' })
    expect((await run('user', 'add', 'not a name')).code).toBe(1)
    const token = await run('token', 'create', 'ann')
    expect(token.out).toMatch(/^ts_[0-9a-f]{64}\n$/)
    expect(readFileSync(join(cwd, 'turnstone.db')).includes(token.out.trim())).toBe(false)
    expect((await run('token', 'create', 'nobody')).code).toBe(1)
    expect((await run('link', 'ann', 'discord', '80351110224678912')).code).toBe(0)
    expect((await run('link', 'ann', 'discord', 'ann')).err).toContain('a Discord user id has 17 to 20 digits')
    expect((await run('link', 'ann', 'discord', '80351110224678912')).code).toBe(1)
    expect((await run('link', 'ann', 'irc', '42')).err).toContain('irc is not a platform; use discord or slack')
    expect((await run('user', 'list')).out).toBe('ann\tadmin\tdatabase\tdiscord:80351110224678912\n')
    expect((await run('unlink', 'ann', 'discord', '80351110224678912')).code).toBe(0)
    expect((await run('unlink', 'ann', 'discord', '80351110224678912')).code).toBe(1)
    expect((await run('token', 'revoke', 'ann')).out).toBe('Revoked 1 token.\n')
    expect((await run('token', 'revoke', 'ann')).code).toBe(1)
    expect((await run('user', 'remove', 'ann')).code).toBe(0)
    expect((await run('user', 'remove', 'ann')).code).toBe(1)
  })

  it('works beside a running gateway, which knows at once', async () => {
    const world = await discordWorld()
    const toml = `[http]\nport = 0\n[channels.discord]\napi_url = "${world.sim.apiUrl}"\n`
    const g = await GatewayProcess.start({ toml, env: world.env })
    const at = { cwd: g.dir, env: world.env }
    await turnstone(['admin', 'user', 'add', 'ann'], at)
    const { out } = await turnstone(['admin', 'token', 'create', 'ann'], at)
    expect(out).toMatch(/^ts_/)
    const alice = [...world.sim.world.users.values()].find((u) => u.username === 'alice')
    await turnstone(['admin', 'link', 'ann', 'discord', alice?.id ?? ''], at)
    const c = await world.mention('alice', 'hello')
    await until(() => world.texts(c).find((t) => t.includes('demo model')), 10_000)
    await world.write(c, 'alice', 'run echo hi')
    const card = await until(() => world.cards(c).find((x) => x.buttons.length > 0), 10_000)
    await turnstone(['admin', 'user', 'remove', 'ann'], at)
    const closed = await until(() => world.cards(c).find((x) => x.id === card.id && x.buttons.length === 0), 10_000)
    expect(closed.text).toContain('ann was removed')
    await g.stop()
    await world.stop()
  })
})

describe('doctor', () => {
  it('says what is off and what is to be done, and ends with 0', async () => {
    const ran = await turnstone(['doctor', '--json'], { cwd: newDir() })
    const { ok, checks } = JSON.parse(ran.out) as {
      ok: boolean
      checks: { name: string; status: string; detail: string }[]
    }
    expect(ran.code).toBe(0)
    expect(ok).toBe(true)
    expect(checks.find((c) => c.name === 'discord')).toMatchObject({
      status: 'off',
      detail: expect.stringContaining('TURNSTONE_DISCORD_TOKEN'),
    })
    expect(checks.find((c) => c.name === 'sandbox')?.status).toBe('warn')
    expect(new Set(checks.map((c) => c.status)).has('fail')).toBe(false)
  })

  it('asks both platforms and the model', async () => {
    const discord = await discordWorld()
    const slack = await slackWorld()
    const model = await ModelSim.start()
    model.script('ok')
    const cwd = newDir()
    writeFileSync(
      join(cwd, 'config.toml'),
      `[models.main]\nbase_url = "${model.baseUrl}"\napi_key_env = "OPENAI_API_KEY"\nmodel = "sim-model"\n[channels.discord]\napi_url = "${discord.sim.apiUrl}"\n[channels.slack]\napi_url = "${slack.sim.apiUrl}"\n`,
    )
    const env = { ...discord.env, ...slack.env, OPENAI_API_KEY: model.key }
    const good = await turnstone(['doctor'], { cwd, env })
    expect(good.out).toMatch(/^ok {3}discord token/m)
    expect(good.out).toMatch(/^ok {3}slack token/m)
    expect(good.out).toMatch(/^ok {3}model main: main \(sim-model\) answers/m)
    expect(good.code).toBe(0)
    discord.sim.grantMessageContent(false)
    slack.sim.setScopes(['chat:write'])
    model.script([{ http: { status: 401, message: `wrong key ${model.key}` } }])
    const bad = await turnstone(['doctor'], { cwd, env })
    expect(bad.code).toBe(1)
    expect(bad.out).toMatch(/^fail discord message content: .*Message Content Intent/m)
    expect(bad.out).toMatch(/^fail slack scopes: missing /m)
    expect(bad.out).toMatch(/^fail model main: .*rejected the API key/m)
    for (const secret of Object.values(env)) expect(bad.out + bad.err).not.toContain(secret)
    await Promise.all([discord.stop(), slack.stop(), model.stop()])
  })

  it('looks at the database and leaves it as it is', async () => {
    const cwd = newDir()
    const file = join(cwd, 'turnstone.db')
    expect((await turnstone(['doctor'], { cwd })).out).toContain(
      `ok   database: ${file} will be created at the first start`,
    )
    expect(existsSync(file)).toBe(false)
    const g = await GatewayProcess.start({ dir: cwd, toml: '[http]\nport = 0\n', shipped: true })
    await g.stop()
    const handle = new Database(file)
    handle.exec('update schema_version set version = 0')
    handle.close()
    const before = readFileSync(file)
    expect((await turnstone(['doctor'], { cwd })).out).toContain(`ok   database: ${file}\n`)
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it.skipIf(process.getuid?.() !== 0)(
    'fails where the gateway’s user may not write to the workspace or beside the database',
    async () => {
      const cwd = newDir()
      chmodSync(cwd, 0o777)
      const made = spawnSync('mkdir', ['-m', '555', join(cwd, 'workspace'), join(cwd, 'data')])
      expect(made.status).toBe(0)
      writeFileSync(join(cwd, 'config.toml'), '[database]\nurl = "sqlite:data/t.db"\n')
      const ran = spawnSync(process.execPath, [resolve('src/app/main.ts'), 'doctor'], {
        cwd,
        uid: 65534,
        gid: 65534,
        encoding: 'utf8',
        env: { PATH: process.env.PATH ?? '', HOME: cwd, NODE_DISABLE_COMPILE_CACHE: '1' },
      })
      expect(ran.stdout).toContain(
        `fail workspace: workspace.root: the gateway's user cannot write to ${join(cwd, 'workspace')}; change its owner or mode, or name another directory`,
      )
      expect(ran.stdout).toContain(
        `the gateway's user cannot write to ${join(cwd, 'data')} (EACCES); change its permissions, or name another file in database.url`,
      )
      expect(ran.status).toBe(1)
    },
  )

  it('A15 warns where others may write beside the database, or open it', async () => {
    const cwd = newDir()
    chmodSync(cwd, 0o700)
    const doctor = async () => (await turnstone(['doctor'], { cwd })).out
    expect(await doctor()).not.toContain('database rights')
    writeFileSync(join(cwd, 'turnstone.db-lock'), '', { mode: 0o644 })
    expect(await doctor()).toContain(
      `warn database rights: other users of this machine can open ${cwd}/turnstone.db-lock;`,
    )
    chmodSync(cwd, 0o777)
    expect(await doctor()).toContain(`warn database rights: other users of this machine can write to ${cwd},`)
  })

  it('A18 repeats no key that stands where its variable belongs', async () => {
    const cwd = newDir()
    for (const key of ['sk-proj-abcdefghijklmnop1234', 'k9x2m4q8w1z7p3v6']) {
      writeFileSync(join(cwd, 'config.toml'), `[models.main]\napi_key_env = "${key}"\n`)
      for (const command of ['doctor', 'serve']) {
        const ran = await turnstone([command], { cwd })
        expect(ran.code).toBe(command === 'serve' ? 2 : 1)
        expect(ran.out + ran.err).toContain('api_key_env')
        expect(ran.out + ran.err).not.toContain(key)
      }
    }
  })

  it('ends with 1 for a wrong configuration', async () => {
    const cwd = newDir()
    writeFileSync(join(cwd, 'config.toml'), 'nope = 1\n')
    const ran = await turnstone(['doctor'], { cwd })
    expect(ran.code).toBe(1)
    expect(ran.out).toMatch(/^fail config: .*unknown key nope/)
  })
})

describe('the container file', () => {
  it('copies and starts what exists', () => {
    const lines = readFileSync('Dockerfile', 'utf8').split('\n')
    const copied = lines.flatMap((l) => /^COPY (.+) \S+$/.exec(l)?.[1]?.split(' ') ?? [])
    expect(copied.length).toBeGreaterThan(5)
    for (const path of copied) expect(existsSync(path), path).toBe(true)
    const started = /"\/app\/(src\/[\w./]+)"/.exec(lines.find((l) => l.startsWith('ENTRYPOINT')) ?? '')?.[1]
    expect(started && existsSync(started)).toBe(true)
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
    for (const path of copied) expect(ignored).not.toContain(path)
  })

  it('has every package that the shipped code imports among its production dependencies', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
      dependencies: Record<string, string>
      engines: { node: string }
    }
    expect(manifest.engines.node).toBe('>=22.19')
    expect(Object.keys(manifest.dependencies)).toEqual(
      expect.arrayContaining(['discord.js', '@slack/bolt', 'better-sqlite3']),
    )
  })
})

describe('the demo', () => {
  it('ends with 1 as soon as one check does not hold', async () => {
    const ran = spawnSync(process.execPath, ['test/demo/main.ts', '--sabotage', '--only=discord'], {
      encoding: 'utf8',
      timeout: 120_000,
    })
    expect(ran.stdout).toMatch(/FAIL the approved command has run/)
    expect(ran.status).toBe(1)
  }, 120_000)
})
