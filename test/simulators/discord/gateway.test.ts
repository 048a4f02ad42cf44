import { Client, Events } from 'discord.js'
import { describe, expect, test } from 'vitest'
import { ann, channel, clock, INTENTS, login, makeClient, sim } from './bare-bot.ts'
import { DiscordSim } from './index.ts'

describe('gateway', () => {
  const shardError = (client: Client): Promise<number> =>
    new Promise((resolve) => client.once(Events.ShardDisconnect, (event) => resolve(event.code)))

  test('a missing switch closes with 4014, a token taken away with 4004', async () => {
    sim.grantMessageContent(false)
    await expect(makeClient().login(sim.token)).rejects.toThrow('disallowed intents')
    sim.grantMessageContent(true)
    const client = await login()
    const gone = shardError(client)
    sim.settings.token = 'another'
    sim.gateway.forgetSessions()
    sim.gateway.close(4000)
    expect(await gone).toBe(4004)
  })

  test('a cut connection is resumed and missed events are replayed once', async () => {
    const client = await login()
    const heard: string[] = []
    client.on(Events.MessageCreate, (m) => heard.push(m.content))
    sim.say(ann, channel, 'before')
    await sim.until(() => heard.length === 1)
    sim.gateway.refuseConnections = true
    sim.gateway.terminate()
    await sim.until(() => sim.gateway.open === 0)
    sim.say(ann, channel, 'between')
    sim.gateway.refuseConnections = false
    await sim.until(() => heard.length === 2, 15_000)
    sim.gateway.reconnect()
    await sim.until(() => sim.gateway.resumes === 2, 15_000)
    sim.say(ann, channel, 'after')
    await sim.until(() => heard.length === 3, 15_000)
    expect(heard).toEqual(['before', 'between', 'after'])
    expect(sim.gateway.identifies).toBe(1)
  })

  test('a dead connection is noticed by its missing acks and resumed', async () => {
    const own = await DiscordSim.start({ clock, heartbeatMs: 150 })
    const client = new Client({ intents: INTENTS, rest: { api: own.apiUrl } })
    const heard: string[] = []
    client.on(Events.MessageCreate, (m) => heard.push(m.content))
    const room = own.channel(own.guild('g'), 'room')
    const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve))
    await client.login(own.token)
    await ready
    own.gateway.stall()
    own.say(own.user('bob'), room, 'into the void')
    await own.until(() => heard.length === 1, 15_000)
    expect([own.gateway.identifies, own.gateway.resumes]).toEqual([1, 1])
    await client.destroy()
    await own.stop()
  })

  test('closed at the connect, then refused at the identify: the client comes through', async () => {
    sim.gateway.closeAt('connect', 4000)
    sim.gateway.invalidateAt('identify', false)
    const client = makeClient()
    const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve))
    await client.login(sim.token)
    await ready
    expect(sim.gateway.sessions.map((s) => s.connected)).toEqual([true])
    expect(sim.gateway.identifies).toBe(2)
  })

  test('a resume that is refused leads to a new session', async () => {
    const client = await login()
    const heard: string[] = []
    client.on(Events.MessageCreate, (m) => heard.push(m.content))
    sim.gateway.forgetSessions()
    sim.gateway.close(4000)
    await sim.until(() => sim.gateway.identifies === 2 && sim.gateway.sessions.at(-1)?.connected, 20_000)
    sim.say(ann, channel, 'new')
    await sim.until(() => heard.length === 1)
    expect(heard).toEqual(['new'])
    expect(sim.gateway.resumes).toBe(1)
  })
})
