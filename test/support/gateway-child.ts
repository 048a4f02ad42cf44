import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import { createGateway } from '../../src/app/gateway.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { messageOf, TurnstoneError } from '../../src/util/errors.ts'
import { SkewedClock } from './skewed-clock.ts'
import { StatementKiller } from './statement-killer.ts'

/** The product as a child process whose clock the test drives; all else is as `serve` does it. */
const clock = new SkewedClock(Number(process.env.CLOCK_SKEW ?? 0))
const killer = new StatementKiller()

/** Questions from the test, answered with a number. */
const ANSWERS: Readonly<Record<string, (value: number) => number>> = {
  arm: (before) => {
    killer.arm(before)
    return 0
  },
  statements: () => killer.seen,
  diskFull(ms) {
    const end = Date.now() + ms
    killer.onStatement = (source) => {
      if (Date.now() > end) killer.onStatement = () => undefined
      else if (/^(?:insert|update|commit)/i.test(source)) throw new Database.SqliteError('disk is full', 'SQLITE_FULL')
    }
    return 0
  },
  memory() {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    gc()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
  rss: () => process.memoryUsage().rss,
}

process.on('message', (message: { jump?: number; ask?: string; value?: number; id?: number }) => {
  if (message.jump !== undefined) clock.jump(message.jump)
  const answer = ANSWERS[message.ask ?? '']
  if (answer) process.send?.({ id: message.id, answer: answer(message.value ?? Number.POSITIVE_INFINITY) })
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
