import { describe, expect, test } from 'vitest'
import { decodeText, type InboundContext, peopleIn, toInbound } from '../../../../channels/slack/inbound.ts'

const context: InboundContext = {
  team: 'T1',
  botUser: 'U0BOT',
  botId: 'B0BOT',
  channels: [],
  bots: ['B0GOOD'],
  name: (id) => ({ U1: 'ada', U2: 'bob' })[id],
}
const event = { type: 'message', channel: 'C1', user: 'U1', ts: '1700000000.000100', text: 'hi' }
const message = (more: object, c = context) => {
  const found = toInbound({ ...event, ...more }, c)
  return found?.kind === 'message' ? found.message : undefined
}

describe('decodeText', () => {
  test.each([
    ['<@U0BOT> hi', 'hi'],
    ['hi <@U0BOT>', 'hi'],
    ['so <@U0BOT|turnstone> hi', 'so hi'],
    ['a\n<@U0BOT> b', 'a\nb'],
    ['a &amp;&amp; b &lt;c&gt; &amp;lt;', 'a && b <c> &lt;'],
    ['<@U2> <@U9> <@U9|zoe>', '@bob @U9 @zoe'],
    ['<#C1|general> <#C2>', '#general #C2'],
    [
      '<!here> <!channel|@channel> <!subteam^S1|@devs> <!subteam^S1> <!date^1^{date}|today>',
      '@here @channel @devs @S1 today',
    ],
    ['<https://x.y/?a=1&amp;b=2>', 'https://x.y/?a=1&b=2'],
    ['<https://x.y|docs> <http://x.y|x.y>', 'docs (https://x.y) x.y'],
    ['<mailto:a@b.c|a@b.c>', 'a@b.c'],
    ['`npm i @scope/pkg` a@b.c', '`npm i @scope/pkg` a@b.c'],
  ])('%s', (raw, text) => expect(decodeText(raw, context)).toBe(text))
})

describe('what is for us', () => {
  test('places', () => {
    expect(message({})).toBeUndefined()
    expect(message({ text: '<@U0BOT> x' })?.location).toEqual({
      kind: 'channel',
      channel: 'C1',
      to: { platform: 'slack', id: `C1:${event.ts}` },
    })
    expect(message({ thread_ts: '1.2', parent_user_id: 'U0BOT' })).toMatchObject({
      addressed: 'thread',
      replyTo: '1.2',
      location: { to: { id: 'C1:1.2' }, startedByPeople: false },
    })
    expect(message({ channel: 'D1', channel_type: 'im' })?.location.to).toEqual({
      platform: 'slack',
      id: 'D1',
      thread: event.ts,
    })
    expect(message({ channel: 'G1', channel_type: 'mpim' })).toBeUndefined()
    expect(message({ type: 'app_mention', text: '<@U0BOT>' })).toMatchObject({ text: '', addressed: 'mention' })
  })

  test('message and app_mention are the same', () => {
    const text = '<@U0BOT> x <@U2>'
    expect(message({ text, channel_type: 'channel' })).toEqual(message({ text, type: 'app_mention' }))
  })

  test.each([
    { subtype: 'channel_join' },
    { subtype: 'message_changed', hidden: true },
    { subtype: 'bot_message', bot_id: 'B0BAD' },
    { bot_id: 'B0BAD' },
    { bot_id: 'B0BOT' },
    { user: 'U0BOT' },
    { user: 'USLACK' },
    { hidden: true },
    { type: 'app_mention', edited: { ts: '1' } },
    { ts: undefined },
    { channel: undefined },
  ])('not %j', (more) => expect(message({ text: '<@U0BOT> x', ...more })).toBeUndefined())

  test.each([
    { subtype: 'file_share' },
    { subtype: 'thread_broadcast' },
    { subtype: 'me_message' },
    { bot_id: 'B0GOOD' },
  ])('but %j', (more) => expect(message({ text: '<@U0BOT> x', ...more })?.text).toBe('x'))

  test('the allow-list of channels', () => {
    const only = { ...context, channels: ['C2'] }
    expect(message({ text: '<@U0BOT> x' }, only)).toBeUndefined()
    expect(message({ text: '<@U0BOT> x', channel: 'C2' }, only)?.text).toBe('x')
    expect(message({ channel: 'D1' }, only)?.text).toBe('hi')
  })

  test('deletions, of ours or of unknown', () => {
    const deleted = { subtype: 'message_deleted', hidden: true, deleted_ts: '1.2' }
    expect(toInbound({ ...event, ...deleted }, context)).toEqual({
      kind: 'deleted',
      ref: { platform: 'slack', channel: 'C1', id: '1.2' },
    })
    expect(toInbound({ ...event, ...deleted, previous_message: { bot_id: 'B0BAD' } }, context)).toBeUndefined()
  })

  test('people to be named', () => {
    expect(peopleIn({ ...event, text: '<@U2> <@U2|x> <@U0BOT>' })).toEqual(['U1', 'U2', 'U0BOT'])
  })
})
