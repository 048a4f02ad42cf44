import { type Flags, loadConfig } from '../config/load-config.ts'
import { createLog } from '../util/log.ts'
import { createRedactor } from '../util/redact.ts'
import { createGateway } from './gateway.ts'

/** A stop that takes longer is ended, ms: whoever stops us kills after 10 s at the latest. */
const STOP_LIMIT_MS = 7500

/** Runs the gateway until SIGTERM or SIGINT; then the process ends by itself. Rejects with TurnstoneError. */
export async function runServe(flags: Flags): Promise<void> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  const log = createLog(config.logLevel, createRedactor(config.secretValues))
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'))
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the gateway has failed')
    process.exit(1)
  })
  const gateway = createGateway(config, { log })
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(0), STOP_LIMIT_MS).unref()
    void gateway.stop().then(() => {
      log.info('stopped')
      process.exit(0)
    })
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  await gateway.start()
  if (!stopping) log.info({ url: gateway.url }, 'ready')
}
