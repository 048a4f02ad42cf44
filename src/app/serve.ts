import { type Flags, loadConfig } from '../config/load-config.ts'
import { LOG } from '../copy/log.ts'
import { createGateway } from './gateway.ts'
import { createProcessLog } from './logging.ts'

/** A stop that takes longer is cut off, ms: service managers kill after 10 s at the latest. */
const STOP_LIMIT_MS = 7500

/** Runs the gateway until SIGTERM or SIGINT, then ends the process. Rejects with TurnstoneError. */
export async function runServe(flags: Flags): Promise<void> {
  const config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  const log = createProcessLog(config, process.env)
  process.on('unhandledRejection', (error) => log.error({ err: error }, LOG.unhandledRejection))
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, LOG.crashed)
    process.exit(1)
  })
  const gateway = createGateway(config, { log })
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    log.info({ signal }, LOG.stopping)
    const exit = (message: string): never => {
      log.info(message)
      process.exit(0)
    }
    setTimeout(() => exit('stopped; some work was cut off and continues at the next start'), STOP_LIMIT_MS).unref()
    void gateway.stop().then(() => exit('stopped'))
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  await gateway.start()
  if (!stopping) log.info({ url: gateway.url }, LOG.ready)
}
