import { request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { startHttpServer } from '../../../src/gateway/operations/http-server.ts'
import { createLog } from '../../../src/util/log.ts'
import { createRedactor } from '../../../src/util/redact.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function server(at: { host?: string; publicUrl?: string } = {}) {
  const running = await startHttpServer(
    { host: at.host ?? '127.0.0.1', port: 0, publicUrl: at.publicUrl ?? '' },
    {
      health: async () => ({ ready: false, status: 'starting', reason: 'x' }),
      metrics: async () => 'm',
      slack: () => undefined,
    },
    createLog('silent', createRedactor()),
  )
  ends.push(() => running.close())
  const port = Number(new URL(running.url).port)
  return (path: string, host: string, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers: { host } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      sent.once('error', reject)
      sent.end()
    })
}

describe('the Host header', () => {
  it.each(['/', '/health', '/metrics', '/slack/events', '/nothing'])('A17 is checked on %s', async (path) => {
    const status = await server()
    const method = path === '/slack/events' ? 'POST' : 'GET'
    for (const host of [
      'evil.example',
      'evil.example:8091',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      'localhost.evil.example',
    ]) {
      expect(await status(path, host, method), host).toBe(403)
    }
    for (const host of ['127.0.0.1', 'localhost:8091', '[::1]:8091', 'LOCALHOST']) {
      expect(await status(path, host, method), host).not.toBe(403)
    }
  })

  it('A17 may be the host of public_url, and any address where it listens on all', async () => {
    const status = await server({ publicUrl: 'https://bot.example.com/x' })
    expect(await status('/metrics', 'bot.example.com')).toBe(200)
    expect(await status('/metrics', 'bot.example.com:8091')).toBe(200)
    expect(await status('/metrics', 'www.bot.example.com')).toBe(403)
    const everywhere = await server({ host: '0.0.0.0' })
    expect(await everywhere('/metrics', '10.1.2.3:8091')).toBe(200)
    expect(await everywhere('/metrics', 'evil.example')).toBe(403)
  })
})
