import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Flags, loadConfig } from '../config/load-config.ts'
import { DOCTOR } from '../copy/doctor.ts'
import { forOperator } from '../copy/model.ts'
import { DISCORD, SLACK } from '../copy/platforms.ts'
import { createModelRegistry } from '../model/model-registry.ts'
import { inspectStore } from '../store/store.ts'
import { messageOf } from '../util/errors.ts'
import { createRedactor } from '../util/redact.ts'
import { prepareWorkspace } from '../workspace/workspace.ts'

interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'off' | 'fail'
  /** What was found, and the cure where something is wrong. */
  readonly detail: string
}

/** A model that takes longer for one word fails the check, ms. */
const MODEL_TIMEOUT_MS = 30_000

/** Prints a line for each check, or one JSON object. The exit code: 1 where anything fails, else 0. */
export async function doctor(flags: Flags, json: boolean): Promise<number> {
  const { checks, hide } = await examine(flags)
  const shown = checks.map((c) => ({ ...c, detail: hide(c.detail) }))
  const ok = shown.every((c) => c.status !== 'fail')
  if (json) process.stdout.write(`${JSON.stringify({ ok, checks: shown })}\n`)
  else for (const { name, status, detail } of shown) process.stdout.write(`${status.padEnd(5)}${name}: ${detail}\n`)
  return ok ? 0 : 1
}

async function examine(flags: Flags): Promise<{ checks: readonly Check[]; hide: (text: string) => string }> {
  let config: Config
  try {
    config = loadConfig(flags, { env: process.env, cwd: process.cwd() })
  } catch (error) {
    return { checks: [{ name: 'config', status: 'fail', detail: messageOf(error) }], hide: (text) => text }
  }
  const checks = [
    { name: 'config', status: 'ok', detail: config.file ?? DOCTOR.noFile } as const,
    ...permissions(config),
    database(config),
    ...rightsOf(config),
    workspace(config),
    ...(await channels(config)),
    ...(await models(config)),
    { name: 'mcp', status: 'off', detail: DOCTOR.notInThisVersion } as const,
    { name: 'sandbox', status: 'warn', detail: DOCTOR.sandbox } as const,
  ]
  return { checks, hide: createRedactor(config.secretValues).redact }
}

function permissions({ approvals }: Config): Check[] {
  if (!approvals.skip_permissions) return []
  return [{ name: 'approvals', status: 'warn', detail: DOCTOR.skipPermissions }]
}

/** Looks only: a gateway of another version may be running on it. */
function database({ databaseFile }: Config): Check {
  const name = 'database'
  if (databaseFile === ':memory:') return { name, status: 'ok', detail: databaseFile }
  try {
    inspectStore(databaseFile)
    const detail = existsSync(databaseFile) ? databaseFile : DOCTOR.databaseToCome(databaseFile)
    return { name, status: 'ok', detail }
  } catch (error) {
    return { name, status: 'fail', detail: messageOf(error) }
  }
}

/** Others who may write beside the database can exchange it, or hold its lock. */
function rightsOf({ databaseFile }: Config): Check[] {
  if (databaseFile === ':memory:') return []
  const folder = dirname(databaseFile)
  const mode = modeOf(folder)
  if (mode !== undefined && (mode & 0o022) !== 0) {
    return [{ name: 'database rights', status: 'warn', detail: DOCTOR.openDirectory(folder) }]
  }
  const open = ['', '-wal', '-shm', '-lock']
    .map((end) => databaseFile + end)
    .filter((f) => ((modeOf(f) ?? 0) & 0o077) !== 0)
  return open.length === 0 ? [] : [{ name: 'database rights', status: 'warn', detail: DOCTOR.openFiles(open) }]
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode
}

function workspace(config: Config): Check {
  try {
    const { root, runAs } = prepareWorkspace(config.workspace)
    return { name: 'workspace', status: 'ok', detail: DOCTOR.workspace(root, runAs?.uid) }
  } catch (error) {
    return { name: 'workspace', status: 'fail', detail: messageOf(error) }
  }
}

async function channels(config: Config): Promise<Check[]> {
  const { discordToken, slackToken, slackAppToken, slackSigningSecret } = config.secrets
  const checks: Check[] = []
  if (discordToken === undefined) {
    checks.push({ name: 'discord', status: 'off', detail: DOCTOR.off(DISCORD.turnOn) })
  } else {
    const { checkDiscord } = await import('../../channels/discord/check.ts')
    checks.push(...(await checkDiscord(config.channels.discord, discordToken)))
  }
  if (slackToken === undefined) {
    checks.push({ name: 'slack', status: 'off', detail: DOCTOR.off(SLACK.turnOn(config.channels.slack.mode)) })
  } else {
    const { checkSlack } = await import('../../channels/slack/check.ts')
    const app = slackAppToken === undefined ? {} : { app: slackAppToken }
    const signing = slackSigningSecret === undefined ? {} : { signingSecret: slackSigningSecret }
    checks.push(...(await checkSlack(config.channels.slack, { bot: slackToken, ...app, ...signing })))
  }
  return [...checks, { name: 'web', status: 'off', detail: DOCTOR.notInThisVersion }]
}

/** One small request to each model. */
async function models(config: Config): Promise<Check[]> {
  const registry = createModelRegistry(config.models, config.secrets.modelKeys)
  return Promise.all(
    registry.aliases.map(async (alias): Promise<Check> => {
      const name = `model ${alias}`
      if (config.models.byAlias[alias]?.provider === 'demo') {
        return { name, status: 'warn', detail: DOCTOR.demoModel }
      }
      try {
        const provider = await registry.get(alias)
        const messages = [{ role: 'user', content: [{ type: 'text', text: 'Answer with the word ok.' }] }] as const
        const signal = AbortSignal.timeout(MODEL_TIMEOUT_MS)
        for await (const event of provider.stream({ messages, tools: [], workstream: 'doctor' }, signal)) {
          if (event.type === 'finish') break
        }
        return { name, status: 'ok', detail: DOCTOR.modelAnswers(registry.label(alias)) }
      } catch (error) {
        const { base_url = '' } = config.models.byAlias[alias] ?? {}
        return { name, status: 'fail', detail: DOCTOR.modelFails(forOperator(messageOf(error)), alias, base_url) }
      }
    }),
  )
}
