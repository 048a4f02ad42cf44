import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { DISCORD_NEEDS, inviteUrl } from '../../channels/discord/needs.ts'
import { SLACK_NEEDS, slackManifest } from '../../channels/slack/needs.ts'
import { PERMISSION, type PermissionName } from '../simulators/discord/permissions.ts'
import { turnstone } from '../support/command-line.ts'
import type { DiscordWorld } from '../support/discord-world.ts'
import { newDir } from '../support/gateway-process.ts'
import type { SlackWorld } from '../support/slack-world.ts'
import { bash, type Stage, stage } from '../support/stage.ts'

/** What each scope is for, from Slack's reference of methods and events. */
const SLACK_SCOPES: Readonly<Record<string, readonly string[]>> = {
  'app_mentions:read': ['app_mention'],
  'channels:history': ['message.channels', 'conversations.history', 'conversations.replies'],
  'groups:history': ['message.groups'],
  'im:history': ['message.im'],
  'mpim:history': ['message.mpim'],
  'chat:write': [
    'assistant.threads.setStatus',
    'chat.appendStream',
    'chat.delete',
    'chat.postEphemeral',
    'chat.postMessage',
    'chat.startStream',
    'chat.stopStream',
    'chat.update',
  ],
  commands: ['slash_command'],
  'files:read': ['files.info'],
  'files:write': ['files.completeUploadExternal', 'files.delete', 'files.getUploadURLExternal'],
  'im:write': ['conversations.open'],
  'reactions:write': ['reactions.add', 'reactions.remove'],
  'users:read': ['users.info'],
}
/** Methods for which any token is enough, and events that need no scope. */
const SCOPELESS = new Set(['auth.test', 'views.open', 'apps.connections.open', 'app_uninstalled', 'tokens_revoked'])

function sourcesOf(folder: string): string {
  const files = readdirSync(folder).filter((f) => f.endsWith('.ts') && f !== 'manifest.ts')
  return files.map((f) => readFileSync(join(folder, f), 'utf8')).join('\n')
}

let s: Stage | undefined
afterEach(async () => {
  await s?.stop()
  s = undefined
})

/** A conversation that uses what there is: stream, card, file, sign, private line, direct message. */
async function tour(t: Stage): Promise<void> {
  t.model.script(['hello', bash(`echo x\n${'# long\n'.repeat(900)}`), 'ran it', 'in private'])
  const c = await t.world.mention('alice', 'hi')
  await t.text(c, 'hello')
  await t.world.write(c, 'alice', 'run')
  const card = await t.card(c)
  await t.world.press('bob', c, card.id, 'approve')
  await t.world.write(c, 'alice', 'meanwhile')
  await t.world.press('alice', c, card.id, 'approve')
  await t.text(c, 'ran it')
  const dm = await t.world.direct('alice', 'psst')
  await t.text(dm, 'in private')
}

describe('the Slack manifest', () => {
  it('asks for what the code uses, and for nothing else', () => {
    const code = sourcesOf('channels/slack')
    const called = new Set(
      [...code.matchAll(/'((?:chat|conversations|users|reactions|files|views|assistant|auth|apps)\.[a-zA-Z.]+)'/g)].map(
        (m) => m[1] ?? '',
      ),
    )
    const events: readonly string[] = SLACK_NEEDS.botEvents
    const used = new Set([...called, ...events, 'slash_command'])
    const granted = new Set([...SLACK_NEEDS.botScopes].flatMap((scope) => SLACK_SCOPES[scope] ?? []))
    expect([...used].filter((u) => !granted.has(u) && !SCOPELESS.has(u))).toEqual([])
    const idle = SLACK_NEEDS.botScopes.filter((scope) => !(SLACK_SCOPES[scope] ?? []).some((u) => used.has(u)))
    expect(idle).toEqual([])
    expect(SLACK_NEEDS.appScopes).toEqual(['connections:write'])
  })

  it('is enough for a whole conversation', async () => {
    s = await stage('slack')
    const { sim } = s.world as SlackWorld
    sim.setScopes([...SLACK_NEEDS.botScopes])
    sim.subscriptions.clear()
    for (const event of SLACK_NEEDS.botEvents) sim.subscriptions.add(event)
    await tour(s)
    expect(s.gateway.output.filter((l) => l.includes('missing_scope'))).toEqual([])
  })

  it('is what the command prints, for both modes', async () => {
    const cwd = newDir()
    const socket = JSON.parse((await turnstone(['slack', 'manifest'], { cwd })).out)
    expect(socket).toEqual(
      JSON.parse(
        JSON.stringify(
          slackManifest({ mode: 'socket', channels: [], bots: [], slash_command: '/turnstone', api_url: '' }, ''),
        ),
      ),
    )
    expect(socket).toMatchObject({ settings: { socket_mode_enabled: true, interactivity: { is_enabled: true } } })
    expect(socket.features.slash_commands[0].command).toBe('/turnstone')
    expect(socket.features.agent_view).toBeDefined()
    writeFileSync(join(cwd, 'config.toml'), '[channels.slack]\nmode = "http"\n')
    const lacking = await turnstone(['slack', 'manifest'], { cwd })
    expect(lacking).toMatchObject({ code: 2, out: '' })
    expect(lacking.err).toBe(
      `turnstone: ${join(cwd, 'config.toml')}: http.public_url: not set; the manifest for Slack in http mode needs the address at which Slack reaches this gateway, such as "https://turnstone.example.com"\n`,
    )
    const address = '[http]\npublic_url = "https://turnstone.example.com/"\n'
    writeFileSync(join(cwd, 'config.toml'), `${address}[channels.slack]\nmode = "http"\n`)
    const http = JSON.parse((await turnstone(['slack', 'manifest'], { cwd })).out)
    expect(http.settings.interactivity.request_url).toBe('https://turnstone.example.com/slack/events')
  })
})

describe('the Discord invite', () => {
  it('is enough for a whole conversation, with every other permission denied', async () => {
    s = await stage('discord')
    const { sim, channel } = s.world as DiscordWorld
    const room = sim.world.channels.get(channel)
    if (!room) throw new Error('no channel')
    const needed = DISCORD_NEEDS.permissions.reduce((sum, { bit }) => sum | bit, 0n)
    const others = Object.entries(PERMISSION).filter(([, bit]) => (needed & bit) === 0n)
    sim.deny(room, ...(others.map(([name]) => name) as PermissionName[]))
    await tour(s)
    expect(s.gateway.output.filter((l) => /50013|Missing Permissions/.test(l))).toEqual([])
  })

  it.each(DISCORD_NEEDS.permissions.map((p) => p.name))(
    'asks for %s because something would fail without it',
    (name) => {
      const code = sourcesOf('channels/discord')
      /** A request or a text of the code that needs the permission, from Discord's reference. */
      const uses: Readonly<Record<string, RegExp>> = {
        'View Channels': /\/channels\/\$\{/,
        'Send Messages': /\/messages/,
        'Create Public Threads': /\/threads/,
        'Send Messages in Threads': /\/messages/,
        'Attach Files': /files/,
        'Read Message History': /messages\?|message_reference/,
        'Add Reactions': /\/reactions\//,
      }
      expect(code).toMatch(uses[name] ?? /^$/)
    },
  )

  it('is what the command prints', async () => {
    const token = `${Buffer.from('123456789012345678').toString('base64')}.abc.def`
    const ran = await turnstone(['discord', 'invite'], { cwd: newDir(), env: { TURNSTONE_DISCORD_TOKEN: token } })
    expect(ran.out.trim()).toBe(inviteUrl('123456789012345678'))
    expect((await turnstone(['discord', 'invite'], { cwd: newDir() })).code).toBe(2)
  })
})
