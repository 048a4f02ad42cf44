import {
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  Events,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  type ModalSubmitInteraction,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js'
import { describe, expect, test } from 'vitest'
import {
  allowViolations,
  ann,
  button,
  channel,
  clock,
  code,
  guild,
  login,
  nextInteraction,
  sim,
  textChannel,
} from './bare-bot.ts'

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

  test('subcommands and commands of one server', async () => {
    const client = await login()
    const sub = {
      type: 1,
      name: 'cancel',
      description: 'Cancel',
      options: [{ type: 4, name: 'id', description: 'Which' }],
    }
    await client.application.commands.set([{ name: 'watches', description: 'Watches', options: [sub] }], guild.id)
    const got = nextInteraction<ChatInputCommandInteraction>(client)
    sim.command(ann, channel, 'watches cancel', { id: 7 })
    const i = await got
    expect([i.options.getSubcommand(), i.options.getInteger('id')]).toEqual(['cancel', 7])
    expect(() => sim.command(ann, sim.dm(ann), 'watches cancel')).toThrow('no command')
  })

  test('before a response the webhook is unknown, and a followup fills a deferred answer', async () => {
    const client = await login()
    await client.application.commands.set([{ name: 'go', description: 'Go' }])
    const got = nextInteraction<ChatInputCommandInteraction>(client)
    const it = sim.command(ann, channel, 'go')
    const i = await got
    const hook = `/webhooks/${sim.bot.id}/${i.token}` as const
    expect(await code(client.rest.post(hook, { body: { content: 'early' }, auth: false }))).toBe(10015)
    await i.deferReply()
    expect(sim.messages(channel.id).map((m) => m.flags)).toEqual([128])
    await client.rest.post(hook, { body: { content: 'filled @everyone', flags: 64 }, auth: false })
    expect(it.shown).toMatchObject({ content: 'filled @everyone', flags: 0 })
    expect(sim.messages(channel.id)).toHaveLength(1)
    await i.deleteReply()
    expect(sim.messages(channel.id)).toEqual([])
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
    allowViolations()
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
    allowViolations()
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
