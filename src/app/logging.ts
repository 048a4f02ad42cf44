import type { Config } from '../config/config.ts'
import { createLog, type Log } from '../util/log.ts'
import { prettyLine } from '../util/pretty-log.ts'
import { createRedactor } from '../util/redact.ts'

/** The log of a command on standard output: as configured, else readable on a terminal and JSON elsewhere. */
export function createProcessLog(config: Config, env: Readonly<Record<string, string | undefined>>): Log {
  const out = process.stdout
  const format = config.logFormat ?? (out.isTTY ? 'pretty' : 'json')
  const colours = out.isTTY === true && out.hasColors() && !env.NO_COLOR
  const render = format === 'pretty' ? (json: string) => prettyLine(json, colours) : undefined
  return createLog(config.logLevel, createRedactor(config.secretValues), undefined, render)
}
