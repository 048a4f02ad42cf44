import {
  ActionRowBuilder,
  ButtonBuilder,
  type ButtonInteraction,
  ButtonStyle,
  type ChatInputCommandInteraction,
  Client,
  type ClientOptions,
  DiscordAPIError,
  Events,
  GatewayIntentBits,
  type Interaction,
  LabelBuilder,
  type Message,
  MessageFlags,
  ModalBuilder,
  type ModalSubmitInteraction,
  Options,
  Partials,
  type TextChannel,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { DiscordSim, type SimChannel, type SimGuild, type SimUser } from './index.ts'

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.MessageContent,
]

let clock: ManualClock
let sim: DiscordSim
let guild: SimGuild
let channel: SimChannel
let ann: SimUser
let clients: Client[]
let expectViolations = false

beforeEach(async () => {
  clock = new ManualClock()
  clients = []
  expectViolations = false
  sim = await DiscordSim.start({ clock })
  sim.rateLimits.enabled = false
  guild = sim.guild('acme')
  channel = sim.channel(guild, 'general')
  ann = sim.user('ann', guild)
})

afterEach(async () => {
  await Promise.all(clients.map((c) => c.destroy()))
  if (!expectViolations) expect(sim.specViolations).toEqual([])
  await sim.stop()
})

function makeClient(options: Partial<ClientOptions> = {}): Client {
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel],
    ...options,
    rest: { api: sim.apiUrl, offset: 0, ...options.rest },
  })
  client.on('error', () => {})
  clients.push(client)
  return client
}

async function login(options: Partial<ClientOptions> = {}): Promise<Client<true>> {
  const client = makeClient(options)
  const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve))
  await client.login(sim.token)
  return ready
}

const textChannel = async (client: Client): Promise<TextChannel> =>
  (await client.channels.fetch(channel.id)) as TextChannel

function nextMessage(client: Client): Promise<Message> {
  return new Promise((resolve) => client.once(Events.MessageCreate, resolve))
}

function nextInteraction<T extends Interaction>(client: Client): Promise<T> {
  return new Promise((resolve) => client.once(Events.InteractionCreate, (i) => resolve(i as unknown as T)))
}

/** The API's code of a refused call. */
async function code(call: Promise<unknown>): Promise<number | string> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  )
  if (error instanceof DiscordAPIError) return error.code
  throw new Error(`not refused by the API: ${error}`)
}

const button = (id: string, label = 'Go'): ActionRowBuilder<ButtonBuilder> =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId(id).setLabel(label).setStyle(ButtonStyle.Primary),
  )

/** A body as JSON, past what builders check. */
const post = (client: Client, body: object, where = channel.id): Promise<unknown> =>
  client.rest.post(`/channels/${where}/messages`, { body })

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

describe('interactions', () => {
  const command = {
    name: 'ask',
    description: 'Ask',
    options: [{ type: 3, name: 'prompt', description: 'What', required: true, autocomplete: true }],
  }

  test('a registered command is deferred, edited and followed up', async () => {
    const client = await login()
    expect(() => sim.command(ann, channel, 'ask')).toThrow('no command')
    await client.application.commands.set([command])
    expect(sim.requestsTo('PUT', /\/commands$/)).toHaveLength(1)
    const got = nextInteraction<ChatInputCommandInteraction>(client)
    const it = sim.command(ann, channel, 'ask', { prompt: 'why' })
    const i = await got
    expect(i.options.getString('prompt')).toBe('why')
    await i.deferReply({ flags: MessageFlags.Ephemeral })
    expect(await it.outcome).toEqual({ kind: 'deferred', ephemeral: true })
    expect(it.shown).toBeUndefined()
    await i.editReply('because')
    expect(it.shown?.content).toBe('because')
    await i.followUp({ content: 'all may see', flags: [] })
    expect(sim.ephemerals(ann.id).map((m) => m.content)).toEqual(['because'])
    expect(sim.messages(channel.id).map((m) => m.content)).toEqual(['all may see'])
    await clock.advance(16 * 60_000)
    expect(await code(i.editReply('late'))).toBe(50027)
  })

  test('autocomplete', async () => {
    const client = await login()
    await client.application.commands.set([command])
    client.once(Events.InteractionCreate, (i) => {
      if (i.isAutocomplete()) void i.respond([{ name: `${i.options.getFocused()}?`, value: 'w' }])
    })
    const it = sim.autocomplete(ann, channel, 'ask', 'prompt', 'wh')
    expect(await it.outcome).toEqual({ kind: 'choices', choices: [{ name: 'wh?', value: 'w' }] })
  })

  test('a button is acknowledged once; a second response is 40060, a late one 10062', async () => {
    const client = await login()
    const card = await (await textChannel(client)).send({ content: 'ok?', components: [button('yes')] })
    expect(() => sim.press(ann, card.id, 'no')).toThrow('no component')
    let got = nextInteraction<ButtonInteraction>(client)
    const it = sim.press(ann, card.id, 'yes')
    let i = await got
    await i.update({ content: 'done', components: [] })
    expect(await it.outcome).toMatchObject({ kind: 'update' })
    expect(sim.messages(channel.id)[0]).toMatchObject({ content: 'done', components: [] })
    const callback = `/interactions/${i.id}/${i.token}/callback` as const
    expect(await code(client.rest.post(callback, { body: { type: 6 }, auth: false }))).toBe(40060)
    await card.edit({ components: [button('yes')] })
    got = nextInteraction(client)
    const late = sim.press(ann, card.id, 'yes')
    i = await got
    await clock.advance(3001)
    expect(await late.outcome).toEqual({ kind: 'failed' })
    expect(await code(i.deferUpdate())).toBe(10062)
  })

  test('a modal with a label opens, is filled in and answered', async () => {
    const client = await login()
    const card = await (await textChannel(client)).send({ content: 'ok?', components: [button('note')] })
    const input = new TextInputBuilder().setCustomId('why').setStyle(TextInputStyle.Paragraph).setMinLength(1)
    const modal = new ModalBuilder()
      .setCustomId('m1')
      .setTitle('Note')
      .addLabelComponents(
        new LabelBuilder()
          .setLabel('Choice')
          .setRadioGroupComponent((r) =>
            r.setCustomId('choice').addOptions({ label: 'Approve', value: 'y' }, { label: 'Reject', value: 'n' }),
          ),
        new LabelBuilder().setLabel('Reason').setTextInputComponent(input),
      )
    const pressed = nextInteraction<ButtonInteraction>(client)
    const it = sim.press(ann, card.id, 'note')
    await (await pressed).showModal(modal)
    expect((await it.outcome).kind).toBe('modal')
    expect(() => sim.submitModal(it, { choice: 'maybe', why: 'x' })).toThrow('does not offer')
    expect(() => sim.submitModal(it, { choice: 'y' })).toThrow('required')
    const submitted = nextInteraction<ModalSubmitInteraction>(client)
    const sent = sim.submitModal(it, { choice: 'y', why: 'because' })
    const i = await submitted
    expect(i.fields.getTextInputValue('why')).toBe('because')
    expect(i.fields.getRadioGroup('choice')).toBe('y')
    await i.reply({ content: 'noted', flags: MessageFlags.Ephemeral })
    expect(await sent.outcome).toMatchObject({ kind: 'message', ephemeral: true })
    expect(sim.ephemerals(ann.id).map((m) => m.content)).toEqual(['noted'])
    expect(sim.messages(channel.id)).toHaveLength(1)
  })

  test('modal limits', async () => {
    expectViolations = true
    const client = await login()
    const card = await (await textChannel(client)).send({ content: '?', components: [button('b')] })
    const open = async (data: object): Promise<number | string> => {
      const got = nextInteraction<ButtonInteraction>(client)
      sim.press(ann, card.id, 'b')
      const i = await got
      return code(
        client.rest.post(`/interactions/${i.id}/${i.token}/callback`, { body: { type: 9, data }, auth: false }),
      )
    }
    const label = (text: string): object => ({
      type: 18,
      label: text,
      component: { type: 4, custom_id: text, style: 1 },
    })
    const fits = { custom_id: 'm', title: 't', components: [label('a')] }
    expect(await open({ ...fits, title: 'x'.repeat(46) })).toBe(50035)
    expect(await open({ ...fits, components: [label('x'.repeat(46))] })).toBe(50035)
    expect(await open({ ...fits, components: ['a', 'b', 'c', 'd', 'e', 'f'].map(label) })).toBe(50035)
    expect(await open({ ...fits, components: [] })).toBe(50035)
  })

  test('command limits', async () => {
    expectViolations = true
    const client = await login()
    const put = (list: object[]): Promise<unknown> =>
      client.rest.put(`/applications/${sim.bot.id}/commands`, { body: list })
    const named = (n: number): object[] => Array.from({ length: n }, (_, i) => ({ name: `c${i}`, description: 'd' }))
    expect(await code(put([{ name: 'Upper', description: 'd' }]))).toBe(50035)
    expect(await code(put([{ name: 'x', description: 'd'.repeat(101) }]))).toBe(50035)
    expect(await code(put([...named(1), ...named(1)]))).toBe(50035)
    expect(await code(put(named(101)))).toBe(30032)
    await put(named(100))
    await put([])
    await put(named(100))
    await put([])
    expect(await code(put(named(1)))).toBe(30034)
  })
})

describe('limits of messages', () => {
  const row = (...components: object[]): object => ({ type: 1, components })
  const press = (id: string, label = 'l'): object => ({ type: 2, style: 1, custom_id: id, label })
  const text = (content: string): object => ({ type: 10, content })
  const V2 = 1 << 15
  const cases: [string, object, number][] = [
    ['content over 2000', { content: 'x'.repeat(2001) }, 50035],
    ['empty', { content: ' \n ' }, 50006],
    ['11 embeds', { embeds: Array(11).fill({ title: 't' }) }, 50035],
    ['embeds over 6000', { embeds: [{ description: 'x'.repeat(4000) }, { description: 'x'.repeat(2001) }] }, 50035],
    ['field value over 1024', { embeds: [{ fields: [{ name: 'n', value: 'x'.repeat(1025) }] }] }, 50035],
    ['6 rows', { content: 'c', components: Array.from({ length: 6 }, (_, i) => row(press(`${i}`))) }, 50035],
    ['6 buttons', { content: 'c', components: [row(...Array.from({ length: 6 }, (_, i) => press(`${i}`)))] }, 50035],
    ['label over 80', { content: 'c', components: [row(press('a', 'x'.repeat(81)))] }, 50035],
    ['custom_id over 100', { content: 'c', components: [row(press('x'.repeat(101)))] }, 50035],
    ['custom_id twice', { content: 'c', components: [row(press('a'), press('a'))] }, 50035],
    ['V2 with content', { content: 'c', flags: V2, components: [text('t')] }, 50035],
    ['V2 text over 4000', { flags: V2, components: [text('x'.repeat(2500)), text('x'.repeat(1501))] }, 50035],
    ['41 V2 components', { flags: V2, components: Array.from({ length: 41 }, (_, i) => text(`${i}`)) }, 50035],
    ['V2 without its flag', { components: [text('t')] }, 50035],
    ['nonce over 25', { content: 'c', nonce: 'x'.repeat(26) }, 50035],
    ['parse and users', { content: 'c', allowed_mentions: { parse: ['users'], users: ['1'] } }, 50035],
    ['unknown reply target', { content: 'c', message_reference: { message_id: '100000000000000000' } }, 50035],
  ]
  test.each(cases)('%s', async (_, body, expected) => {
    expectViolations = true
    const client = makeClient()
    client.rest.setToken(sim.token)
    expect(await code(post(client, body))).toBe(expected)
    expect(sim.messages(channel.id)).toEqual([])
  })

  test('what fits is taken', async () => {
    const client = makeClient()
    client.rest.setToken(sim.token)
    await post(client, { content: 'x'.repeat(2000) })
    await post(client, {
      flags: V2,
      components: [{ type: 17, components: [text('x'.repeat(4000)), row(press('x'.repeat(100), 'x'.repeat(80)))] }],
    })
    await post(client, {
      content: 'c',
      message_reference: { message_id: '100000000000000000', fail_if_not_exists: false },
    })
    expect(sim.messages(channel.id)).toHaveLength(3)
  })

  test('files: ten, and ten MiB each', async () => {
    expectViolations = true
    const client = makeClient()
    client.rest.setToken(sim.token)
    const send = (n: number, size: number): Promise<unknown> =>
      client.rest.post(`/channels/${channel.id}/messages`, {
        body: { attachments: Array.from({ length: n }, (_, id) => ({ id, filename: `${id}` })) },
        files: Array.from({ length: n }, (_, id) => ({ name: `${id}`, data: Buffer.alloc(size) })),
      })
    expect(await code(send(11, 1))).toBe(50035)
    expect(await code(send(1, 10 * 1024 * 1024 + 1))).toBe(40005)
    sim.deny(channel, 'ATTACH_FILES')
    expect(await code(send(1, 1))).toBe(50013)
  })

  test('other codes', async () => {
    const client = makeClient()
    client.rest.setToken(sim.token)
    const theirs = sim.say(ann, channel, 'x')
    const path = `/channels/${channel.id}/messages` as const
    expect(await code(client.rest.patch(`${path}/${theirs.id}`, { body: { content: 'y' } }))).toBe(50005)
    expect(await code(client.rest.delete(`${path}/${theirs.id}`))).toBe(50013)
    expect(await code(client.rest.get(`${path}/100000000000000000`))).toBe(10008)
    expect(await code(client.rest.get('/channels/100000000000000000'))).toBe(10003)
    sim.deleteChannel(channel)
    expect(await code(post(client, { content: 'x' }))).toBe(10003)
  })
})

describe('faults and rate limits', () => {
  test('the budget of a channel gives 429 with headers, and the client waits for it', async () => {
    const client = await login()
    sim.rateLimits.enabled = true
    sim.rateLimits.set('POST /channels/:id/messages', { limit: 2, windowMs: 300 })
    const raw = (): Promise<Response> =>
      fetch(`${sim.apiUrl}/v10/channels/${channel.id}/messages`, {
        method: 'POST',
        headers: { authorization: `Bot ${sim.token}`, 'content-type': 'application/json' },
        body: '{"content":"raw"}',
      })
    const [a, , c] = [await raw(), await raw(), await raw()]
    expect([a.headers.get('x-ratelimit-limit'), a.headers.get('x-ratelimit-remaining')]).toEqual(['2', '1'])
    expect(c.status).toBe(429)
    expect(await c.json()).toMatchObject({ global: false, message: 'You are being rate limited.' })
    expect(sim.rateLimits.invalidRequests).toBe(1)
    await post(client, { content: 'waits' })
    expect(sim.messages(channel.id).at(-1)?.content).toBe('waits')
  })

  test('an injected 429 and a 5xx are tried again', async () => {
    const client = await login()
    const limited = sim.faults.on({ method: 'POST', path: /\/messages$/, rateLimit: { retryAfter: 0.05 } })
    await post(client, { content: 'a' })
    const broken = sim.faults.on({ method: 'POST', path: /\/messages$/, status: 502, times: 2 })
    await post(client, { content: 'b' })
    expect([limited.hits, broken.hits]).toEqual([1, 2])
    expect(sim.messages(channel.id).map((m) => m.content)).toEqual(['a', 'b'])
    expect(sim.requestsTo('POST', /\/messages$/).map((r) => r.status)).toEqual([429, 200, 502, 502, 200])
  })

  test('an answer that is lost after the work leaves the message, and a nonce makes the repeat harmless', async () => {
    const client = await login({ rest: { retries: 0 } })
    const send = (nonce?: string): Promise<unknown> =>
      post(client, { content: nonce ?? 'plain', ...(nonce ? { nonce, enforce_nonce: true } : {}) })
    sim.faults.on({ method: 'POST', path: /\/messages$/, afterWork: true, drop: true, times: 2 })
    await expect(send('k')).rejects.toThrow()
    await expect(send()).rejects.toThrow()
    await send('k')
    await send()
    expect(sim.messages(channel.id).map((m) => m.content)).toEqual(['k', 'plain', 'plain'])
  })

  test('a held answer is repeated by the client after its timeout', async () => {
    const client = await login({ rest: { timeout: 80 } })
    sim.faults.on({ method: 'POST', path: /\/messages$/, afterWork: true, delay: 300 })
    await post(client, { content: 'n', nonce: 'n', enforce_nonce: true })
    expect(sim.requestsTo('POST', /\/messages$/)).toHaveLength(2)
    expect(sim.messages(channel.id)).toHaveLength(1)
  })

  test('a wrong token is 401', async () => {
    const client = makeClient()
    client.rest.setToken('wrong')
    expect(await code(client.rest.get('/users/@me')).catch((e: Error) => e.message)).toBe(0)
    expect(sim.rateLimits.invalidRequests).toBe(1)
  })
})

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

describe('the check against the API description', () => {
  test('finds unknown fields, wrong values and unknown paths', async () => {
    expectViolations = true
    const client = makeClient()
    client.rest.setToken(sim.token)
    await post(client, { content: 'x', colour: 1, embeds: [{ title: 't', text: 'no' }] })
    await code(client.rest.post(`/channels/${channel.id}/nothing`))
    await code(post(client, { content: 'x', embeds: [{ title: 'x'.repeat(257) }] }))
    expect(sim.specViolations.map((v) => v.problems)).toEqual([
      expect.arrayContaining(['unknown field colour', 'unknown field embeds.0.text']),
      ['no such operation'],
      [expect.stringContaining('embeds.0.title')],
    ])
  })

  test('what the simulator sends fits it too', async () => {
    const client = await login()
    const m = sim.say(ann, channel, `<@${sim.bot.id}>`, {
      files: [{ name: 'a', bytes: 'x' }],
      embeds: [{ type: 'rich', title: 't' }],
    })
    await (await textChannel(client)).messages.react(m.id, '👀')
    await post(client, { content: 'r', message_reference: { message_id: m.id }, components: [row()] })
    const list = (await client.rest.get(`/channels/${channel.id}/messages`)) as unknown[]
    const thread = await client.rest.post(`/channels/${channel.id}/messages/${m.id}/threads`, { body: { name: 't' } })
    const app = await client.rest.get('/applications/@me')
    const dm = await client.rest.post('/users/@me/channels', { body: { recipient_id: ann.id } })
    // The package's schemas take times with a Z only; Discord sends an offset.
    const faults = (name: string, x: unknown): string[] =>
      sim.spec.against(name, x).filter((p) => !/timestamp: /.test(p))
    expect(list.flatMap((x) => faults('MessageResponse', x))).toEqual([])
    expect(faults('ThreadResponse', thread)).toEqual([])
    expect(faults('PrivateApplicationResponse', app)).toEqual([])
    expect(faults('PrivateChannelResponse', dm)).toEqual([])
    expect(faults('GuildChannelResponse', await client.rest.get(`/channels/${channel.id}`))).toEqual([])
    expect(faults('UserResponse', await client.rest.get(`/users/${ann.id}`))).toEqual([])
  })

  const row = (): object => ({ type: 1, components: [{ type: 2, style: 1, custom_id: 'a', label: 'l' }] })
})
