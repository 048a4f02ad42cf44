import { describe, expect, test } from 'vitest'
import { allowViolations, ann, channel, code, login, makeClient, post, sim, textChannel } from './bare-bot.ts'

describe('the check against the API description', () => {
  test('finds unknown fields, wrong values and unknown paths', async () => {
    allowViolations()
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
