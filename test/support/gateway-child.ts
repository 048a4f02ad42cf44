import { createGateway } from '../../src/app/gateway.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { messageOf, TurnstoneError } from '../../src/util/errors.ts'
import { SkewedClock } from './skewed-clock.ts'

/** The product as a child process whose clock the test drives; all else is as `serve` does it. */
const clock = new SkewedClock(Number(process.env.CLOCK_SKEW ?? 0))

process.on('message', (message: { jump?: number }) => {
  if (message.jump !== undefined) clock.jump(message.jump)
})
process.on('disconnect', () => process.exit(1))

try {
  const gateway = createGateway(loadConfig({}, { env: process.env, cwd: process.cwd() }), { clock })
  process.on('SIGTERM', () => void gateway.stop().then(() => process.exit(0)))
  await gateway.start()
  process.send?.({ ready: gateway.url })
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exit(error instanceof TurnstoneError ? error.exit : 1)
}
