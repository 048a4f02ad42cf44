import { Events, GatewayIntentBits, Options } from 'discord.js'
import { describe, expect, test } from 'vitest'
import {
  allowViolations,
  ann,
  channel,
  clock,
  code,
  guild,
  login,
  nextMessage,
  post,
  sim,
  textChannel,
} from './bare-bot.ts'
import type { SimChannel } from './index.ts'

describe('login and messages', () => {
  test('logs in and has the guild with its channels', async () => {
    const client = await login()
    expect(client.user.id).toBe(sim.bot.id)
    expect(client.guilds.cache.get(guild.id)?.name).toBe('acme')
    expect(client.channels.cache.has(channel.id)).toBe(true)
    expect(sim.gateway.identifies).toBe(1)
    const app = await client.application.fetch()
    expect(app.flags.has('GatewayMessageContentLimited')).toBe(true)
  })

  test('a mention is answered by a reply', async () => {
    const client = await login()
    const got = nextMessage(client)
    const asked = sim.say(ann, channel, `<@${sim.bot.id}> hello`)
    const message = await got
    expect(message.mentions.users.has(sim.bot.id)).toBe(true)
    expect(message.member?.id).toBe(ann.id)
    const reply = await message.reply({ content: 'hi', allowedMentions: { parse: [], repliedUser: true } })
    const [seen] = sim.botMessages(channel.id)
    expect(seen).toMatchObject({ id: reply.id, content: 'hi', type: 19, reference: { message_id: asked.id } })
    expect(seen?.pinged).toEqual({ everyone: false, users: [ann.id], roles: [] })
  })

  test('pings follow allowed_mentions and permissions', async () => {
    const client = await login()
    const role = sim.role(guild, 'ops', { mentionable: true })
    const text = `@everyone <@${ann.id}> <@&${role.id}> \`<@1>\``
    await post(client, { content: text })
    await post(client, { content: text, allowed_mentions: { parse: [] } })
    await post(client, { content: text, allowed_mentions: { users: [ann.id] } })
    sim.deny(channel, 'MENTION_EVERYONE')
    await post(client, { content: text })
    expect(sim.messages(channel.id).map((m) => m.pinged)).toEqual([
      { everyone: true, users: [ann.id], roles: [role.id] },
      { everyone: false, users: [], roles: [] },
      { everyone: false, users: [ann.id], roles: [] },
      { everyone: false, users: [ann.id], roles: [role.id] },
    ])
  })

  test('a DM arrives with its channel and is answered', async () => {
    const client = await login()
    const got = nextMessage(client)
    const dm = sim.dm(ann)
    sim.say(ann, dm, 'psst')
    const message = await got
    expect(message.channel.isDMBased()).toBe(true)
    await message.reply('yes?')
    expect(sim.messages(dm.id).map((m) => m.content)).toEqual(['psst', 'yes?'])
    ann.closedDms = true
    expect(await code(client.users.send(ann.id, 'again'))).toBe(50007)
  })

  test('without the message-content intent texts are blank except where they concern the bot', async () => {
    const client = await login({ intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages] })
    const texts: string[] = []
    client.on(Events.MessageCreate, (m) => texts.push(m.content))
    sim.say(ann, channel, 'secret')
    sim.say(ann, channel, `<@${sim.bot.id}> open`)
    await sim.until(() => texts.length === 2)
    expect(texts).toEqual(['', `<@${sim.bot.id}> open`])
  })

  test('edits keep id and history; a change and a deletion are announced', async () => {
    const client = await login()
    const sent = await (await textChannel(client)).send('one')
    await clock.advance(1000)
    await sent.edit('two')
    const seen = sim.messages(channel.id)[0]
    expect(seen?.versions.map((v) => v.content)).toEqual(['one', 'two'])
    expect((seen?.versions[1]?.at ?? 0) - (seen?.versions[0]?.at ?? 0)).toBe(1000)
    const gone = new Promise((resolve) => client.once(Events.MessageDelete, (m) => resolve(m.id)))
    const theirs = sim.say(ann, channel, 'oops')
    sim.deleteMessage(theirs)
    expect(await gone).toBe(theirs.id)
    expect(sim.deletedMessages(channel.id).map((m) => m.content)).toEqual(['oops'])
  })

  test('redelivery dispatches the same message again', async () => {
    // With its cache discord.js itself drops a message that it has already.
    const client = await login({ makeCache: Options.cacheWithLimits({ MessageManager: 0 }) })
    const ids: string[] = []
    client.on(Events.MessageCreate, (m) => ids.push(m.id))
    const m = sim.say(ann, channel, 'once')
    sim.redeliver(m.id)
    await sim.until(() => ids.length === 2)
    expect(ids).toEqual([m.id, m.id])
  })

  test('files go both ways and their links expire', async () => {
    const client = await login()
    const got = nextMessage(client)
    sim.say(ann, channel, 'see', { files: [{ name: 'a b.txt', bytes: 'hello', contentType: 'text/plain' }] })
    const url = (await got).attachments.first()?.url ?? ''
    expect(url.startsWith(sim.cdnUrl)).toBe(true)
    expect(await (await fetch(url)).text()).toBe('hello')
    const sent = await (await textChannel(client)).send({
      files: [{ attachment: Buffer.from('data'), name: 'out.bin' }],
    })
    await sent.edit({
      content: 'more',
      attachments: [...sent.attachments.values()],
      files: [{ attachment: Buffer.from('data2'), name: 'two.bin' }],
    })
    const mine = sim.botMessages(channel.id)[0]
    expect(mine?.attachments.map((a) => [a.filename, Buffer.from(a.bytes).toString()])).toEqual([
      ['out.bin', 'data'],
      ['two.bin', 'data2'],
    ])
    await clock.advance(25 * 3_600_000)
    expect((await fetch(url)).status).toBe(404)
  })

  test('nonce: the same one within the window gives the first message', async () => {
    const client = await login()
    const send = async (): Promise<string> =>
      (await (await textChannel(client)).send({ content: 'x', nonce: 'k1', enforceNonce: true })).id
    const first = await send()
    expect(await send()).toBe(first)
    const read = (await client.rest.get(`/channels/${channel.id}/messages/${first}`)) as { nonce?: string }
    expect(read.nonce).toBeUndefined()
    sim.settings.historyShowsNonce = true
    expect(await client.rest.get(`/channels/${channel.id}/messages/${first}`)).toMatchObject({ nonce: 'k1' })
    await clock.advance(6 * 60_000)
    expect(await send()).not.toBe(first)
    expect(sim.messages(channel.id)).toHaveLength(2)
  })

  test('history pages newest first', async () => {
    const client = await login()
    const ids = ['a', 'b', 'c', 'd', 'e'].map((t) => sim.say(ann, channel, t).id)
    const read = async (query: object): Promise<string[]> =>
      [...(await (await textChannel(client)).messages.fetch({ cache: false, ...query })).values()].map((m) => m.content)
    expect(await read({ limit: 2 })).toEqual(['e', 'd'])
    expect(await read({ before: ids[2], limit: 10 })).toEqual(['b', 'a'])
    expect(await read({ after: ids[1], limit: 2 })).toEqual(['d', 'c'])
    expect(await read({ around: ids[2], limit: 3 })).toEqual(['d', 'c', 'b'])
    expect(await code(client.rest.get(`/channels/${channel.id}/messages?limit=101`))).toBe(50035)
    sim.deny(channel, 'READ_MESSAGE_HISTORY')
    expect(await read({ limit: 2 })).toEqual([])
  })

  test('reactions and typing', async () => {
    const client = await login()
    const m = sim.say(ann, channel, 'look')
    const seen = await (await textChannel(client)).messages.fetch(m.id)
    await seen.react('👀')
    expect([...(m.reactions.get('👀') ?? [])]).toEqual([sim.bot.id])
    await seen.reactions.cache.get('👀')?.users.remove(client.user.id)
    expect(m.reactions.size).toBe(0)
    await (await textChannel(client)).sendTyping()
    expect(sim.typing(channel.id)).toEqual([clock.now()])
    expect(await code(client.rest.put(`/channels/${channel.id}/messages/${m.id}/reactions/word/@me`))).toBe(10014)
  })
})

describe('threads', () => {
  test('a thread from a message has its id, its events come first, and there is one only', async () => {
    const client = await login()
    const got = nextMessage(client)
    sim.say(ann, channel, 'start')
    const message = await got
    const thread = await message.startThread({ name: 'talk', autoArchiveDuration: 60 })
    expect(thread.id).toBe(message.id)
    const path = `/channels/${channel.id}/messages/${message.id}/threads` as const
    expect(await code(client.rest.post(path, { body: { name: 'again' } }))).toBe(160004)
    await thread.send('inside')
    expect(sim.messages(thread.id).map((m) => m.content)).toEqual(['inside'])
    const next = nextMessage(client)
    sim.say(ann, sim.threadsOf(channel.id)[0] as SimChannel, 'and I')
    expect((await next).channel.isThread()).toBe(true)
  })

  test('archived threads open at a send, refuse edits and reactions; locked ones refuse', async () => {
    const client = await login()
    const thread = sim.startThread(ann, channel, 'old')
    const sent = (await post(client, { content: 'mine' }, thread.id)) as { id: string }
    sim.archive(thread)
    const path = `/channels/${thread.id}/messages/${sent.id}` as const
    expect(await code(client.rest.patch(path, { body: { content: 'no' } }))).toBe(50083)
    expect(await code(client.rest.put(`${path}/reactions/${encodeURIComponent('👀')}/@me`))).toBe(50083)
    await post(client, { content: 'awake' }, thread.id)
    expect(thread.thread?.archived).toBe(false)
    sim.archive(thread, true)
    expect(await code(post(client, { content: 'no' }, thread.id))).toBe(160005)
    sim.settings.archivedRefusesSends = true
    sim.archive(thread)
    expect(await code(post(client, { content: 'no' }, thread.id))).toBe(50083)
    await client.rest.patch(`/channels/${thread.id}`, { body: { archived: false } })
    await post(client, { content: 'yes' }, thread.id)
  })

  test('threads without a message, of announcements, private ones, and bad bodies', async () => {
    allowViolations()
    const client = await login()
    const start = (where: string, body: object): Promise<unknown> =>
      client.rest.post(`/channels/${where}/threads`, { body })
    expect(await start(channel.id, { name: 'loose', type: 11 })).toMatchObject({ type: 11, owner_id: sim.bot.id })
    expect(await start(channel.id, { name: 'closed' })).toMatchObject({ type: 12 })
    expect(await code(start(channel.id, { name: '' }))).toBe(50035)
    expect(await code(start(channel.id, { name: 'x'.repeat(101) }))).toBe(50035)
    expect(await code(start(channel.id, { name: 'x', auto_archive_duration: 61 }))).toBe(50035)
    const news = sim.channel(guild, 'news', 'announcement')
    const m = sim.say(ann, news, 'read all about it')
    const made = await client.rest.post(`/channels/${news.id}/messages/${m.id}/threads`, { body: { name: 'talk' } })
    expect(made).toMatchObject({ id: m.id, type: 10, parent_id: news.id })
    const secret = sim.startThread(ann, channel, 'secret', { private: true })
    expect(await code(post(client, { content: 'in?' }, secret.id))).toBe(50001)
    expect(await code(client.rest.post(`/channels/${sim.dm(ann).id}/threads`, { body: { name: 'x' } }))).toBe(50003)
  })

  test('forum posts, both ways', async () => {
    const client = await login()
    const forum = sim.channel(guild, 'questions', 'forum')
    expect(await code(post(client, { content: 'no' }, forum.id))).toBe(50008)
    const got = nextMessage(client)
    const asked = sim.startThread(ann, forum, 'how?', { text: 'tell me' })
    expect(await got).toMatchObject({ id: asked.id, channelId: asked.id, content: 'tell me' })
    const made = (await client.rest.post(`/channels/${forum.id}/threads`, {
      body: { name: 'news', message: { content: 'first' } },
    })) as { id: string }
    expect(sim.messages(made.id).map((m) => m.content)).toEqual(['first'])
  })

  test('permissions', async () => {
    const client = await login()
    const m = sim.say(ann, channel, 'x')
    const threads = `/channels/${channel.id}/messages/${m.id}/threads` as const
    sim.deny(channel, 'CREATE_PUBLIC_THREADS', 'SEND_MESSAGES_IN_THREADS')
    expect(await code(client.rest.post(threads, { body: { name: 't' } }))).toBe(50013)
    const thread = sim.startThread(ann, channel, 'people')
    expect(await code(post(client, { content: 'a' }, thread.id))).toBe(50013)
    sim.deny(channel, 'SEND_MESSAGES')
    expect(await code(post(client, { content: 'a' }))).toBe(50013)
    sim.allow(channel, 'CREATE_PUBLIC_THREADS', 'SEND_MESSAGES', 'SEND_MESSAGES_IN_THREADS')
    await client.rest.post(threads, { body: { name: 't' } })
    sim.deny(channel, 'READ_MESSAGE_HISTORY')
    expect(await code(post(client, { content: 'a', message_reference: { message_id: m.id } }))).toBe(160002)
    sim.deny(channel, 'ADD_REACTIONS', 'VIEW_CHANNEL')
    expect(await code(post(client, { content: 'a' }))).toBe(50001)
    const heard: string[] = []
    client.on(Events.MessageCreate, (x) => heard.push(x.content))
    sim.say(ann, channel, 'unseen')
    const open = sim.channel(guild, 'open')
    sim.say(ann, open, 'seen')
    await sim.until(() => heard.length > 0)
    expect(heard).toEqual(['seen'])
  })
})
