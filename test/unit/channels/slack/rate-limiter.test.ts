import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { EditPace } from '../../../../channels/canvas/edit-pace.ts'
import { isSigned } from '../../../../channels/slack/http-receiver.ts'
import { RateLimiter } from '../../../../channels/slack/rate-limiter.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

test('growing text gives way first, then signs; what is final may use all', async () => {
  const clock = new ManualClock()
  const pacer = new RateLimiter(clock)
  const free = (urgency: 'growing' | 'sign' | 'final'): boolean => pacer.delayFor('chat.startStream', urgency) === 0
  for (let i = 0; i < 12; i++) pacer.acquire('chat.startStream')
  expect([free('growing'), free('sign'), free('final')]).toEqual([false, true, true])
  for (let i = 0; i < 4; i++) pacer.acquire('chat.startStream')
  expect([free('sign'), free('final')]).toEqual([false, true])
  for (let i = 0; i < 4; i++) pacer.acquire('chat.startStream')
  expect(pacer.delayFor('chat.startStream', 'final')).toBe(60_000)
  await clock.advance(60_001)
  expect(free('growing')).toBe(true)
})

test('posts of one channel: a short burst, then one a second; blocked methods wait', async () => {
  const clock = new ManualClock()
  const pacer = new RateLimiter(clock)
  for (let i = 0; i < 4; i++) {
    expect(pacer.delayFor('chat.postMessage', 'final', 'C1')).toBe(0)
    pacer.acquire('chat.postMessage', 'C1')
  }
  expect(pacer.delayFor('chat.postMessage', 'final', 'C1')).toBe(1000)
  expect(pacer.delayFor('chat.postMessage', 'final', 'C2')).toBe(0)
  pacer.block('chat.update', 7000)
  expect(pacer.delayFor('chat.update', 'final')).toBe(7000)
})

test('edits of one conversation are 1.5 s apart, whatever the clock does', async () => {
  const clock = new ManualClock()
  const pace = new EditPace(clock, 1500)
  pace.note('C1:1')
  expect([pace.delayMs('C1:1'), pace.delayMs('C1:2')]).toEqual([1500, 0])
  await clock.advance(1500)
  expect(pace.delayMs('C1:1')).toBe(0)
})

test('signatures: only right ones, only within five minutes', () => {
  const now = 1_700_000_000_000
  const sign = (at: number): string => `v0=${createHmac('sha256', 's').update(`v0:${at}:body`).digest('hex')}`
  const at = now / 1000
  const signed = (signingSecret: string, requestTimestampSec: string, body: string, signature: string): boolean =>
    isSigned({ signingSecret, requestTimestampSec, body, signature, nowMs: now })
  expect(signed('s', String(at), 'body', sign(at))).toBe(true)
  expect(signed('s', String(at), 'body2', sign(at))).toBe(false)
  expect(signed('t', String(at), 'body', sign(at))).toBe(false)
  expect(signed('s', String(at), 'body', 'v0=')).toBe(false)
  for (const shift of [-301, 301]) expect(signed('s', String(at + shift), 'body', sign(at + shift))).toBe(false)
  expect(signed('s', 'x', 'body', sign(at))).toBe(false)
})
