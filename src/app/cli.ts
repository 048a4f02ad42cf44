import { Command, CommanderError, Option } from 'commander'
import type { Flags } from '../config/load-config.ts'
import { FLAGS_NOT_IN_THIS_VERSION } from '../config/not-in-this-version.ts'
import { HELP, OPTIONS, overview } from '../copy/cli.ts'
import { FLAG_NOT_IN_THIS_VERSION } from '../copy/config.ts'
import { messageOf, TurnstoneError } from '../util/errors.ts'
import { LOG_FORMATS } from '../util/log.ts'
import { VERSION } from '../util/version.ts'

/** Runs a command line and sets the exit code: 0, 2 for configuration, 1 for anything else. Errors are one line. */
export async function main(argv: readonly string[]): Promise<void> {
  // The reader may stop early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const program = build()
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    process.exitCode = exitOf(error)
  }
}

function exitOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const known = error instanceof TurnstoneError
  process.stderr.write(`turnstone: ${messageOf(error)}\n`)
  return known ? error.exit : 1
}

function build(): Command {
  const program = new Command('turnstone')
    .description(HELP.program)
    .version(VERSION, '-V, --version', OPTIONS.version)
    .helpOption('-h, --help', OPTIONS.help)
    .helpCommand('help [command]', HELP.help)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(`${text.replace(/^error: /, 'turnstone: ').trimEnd()}; ${HELP.after}\n`),
    })
  addServe(program)
  withConfig(program.command('doctor').description(HELP.doctor))
    .option('--json', OPTIONS.json)
    .action(async (flags: Flags & { json?: boolean }) => {
      const { doctor } = await import('./doctor.ts')
      process.exitCode = await doctor(flags, flags.json === true)
    })
  addPlatforms(program)
  addAdmin(program)
  program.configureHelp({ formatHelp: (command, helper) => helpOf(program, command, helper) })
  return program
}

/** The program's own help lists every command; a command's help is commander's. */
function helpOf(program: Command, command: Command, helper: ReturnType<Command['createHelp']>): string {
  if (command !== program) return Object.getPrototypeOf(helper).formatHelp.call(helper, command, helper)
  return overview([...commandsBelow(program), ['help [command]', HELP.help]])
}

function commandsBelow(command: Command, path = ''): (readonly [string, string])[] {
  return command.commands.flatMap((c) => {
    const name = `${path}${c.name()}`
    const args = c.registeredArguments.map((a) => a.name().toUpperCase())
    return c.commands.length > 0
      ? commandsBelow(c, `${name} `)
      : [[[name, ...args].join(' '), c.description()] as const]
  })
}

function withConfig(command: Command): Command {
  return command.option('--config <file>', OPTIONS.config)
}

function addServe(program: Command): void {
  const serve = withConfig(program.command('serve').description(HELP.serve))
    .option('--model <alias>', OPTIONS.model)
    .option('--skip-permissions', OPTIONS.skipPermissions)
    .addOption(new Option('--log-format <format>', OPTIONS.logFormat).choices([...LOG_FORMATS]))
  for (const flag of FLAGS_NOT_IN_THIS_VERSION) {
    serve.addOption(
      new Option(flag).hideHelp().argParser(() => {
        throw new TurnstoneError('config', FLAG_NOT_IN_THIS_VERSION(flag.split(' ')[0] ?? flag))
      }),
    )
  }
  serve.action(async (flags: Flags) => {
    const { runServe } = await import('./serve.ts')
    await runServe(flags)
  })
}

function addPlatforms(program: Command): void {
  const slack = program.command('slack').description('Slack')
  withConfig(slack.command('manifest').description(HELP.slackManifest)).action(async (flags: Flags) => {
    const { slackManifestText } = await import('./slack-manifest.ts')
    process.stdout.write(`${await slackManifestText(flags)}\n`)
  })
  const discord = program.command('discord').description('Discord')
  withConfig(discord.command('invite').description(HELP.discordInvite))
    .option('--client-id <id>', OPTIONS.clientId)
    .action(async (flags: Flags & { clientId?: string }) => {
      const { discordInvite } = await import('./discord-invite.ts')
      process.stdout.write(`${await discordInvite(flags, flags.clientId)}\n`)
    })
}

type Admin = typeof import('./admin.ts')

function addAdmin(program: Command): void {
  const admin = program.command('admin').description(HELP.admin)
  const run = (work: (a: Admin, flags: Flags) => Promise<void>, flags: Flags): Promise<void> =>
    import('./admin.ts').then((a) => work(a, flags))
  const user = admin.command('user').description(HELP.user)
  withConfig(user.command('add <name>').description(HELP.userAdd))
    .addOption(new Option('--role <role>', OPTIONS.role).choices(['admin', 'member']).default('member'))
    .action((name: string, flags: Flags & { role: 'admin' | 'member' }) =>
      run((a, f) => a.userAdd(f, name, flags.role), flags),
    )
  withConfig(user.command('list').description(HELP.userList)).action((flags: Flags) =>
    run((a, f) => a.userList(f), flags),
  )
  withConfig(user.command('remove <name>').description(HELP.userRemove)).action((name: string, flags: Flags) =>
    run((a, f) => a.userRemove(f, name), flags),
  )
  const token = admin.command('token').description(HELP.token)
  withConfig(token.command('create <name>').description(HELP.tokenCreate)).action((name: string, flags: Flags) =>
    run((a, f) => a.tokenCreate(f, name), flags),
  )
  withConfig(token.command('revoke <name-or-id>').description(HELP.tokenRevoke)).action(
    (nameOrId: string, flags: Flags) => run((a, f) => a.tokenRevoke(f, nameOrId), flags),
  )
  withConfig(admin.command('link <name> <platform> <id>').description(HELP.link)).action(
    (name: string, platform: string, id: string, flags: Flags) => run((a, f) => a.link(f, name, platform, id), flags),
  )
  withConfig(admin.command('unlink <name> <platform> <id>').description(HELP.unlink)).action(
    (name: string, platform: string, id: string, flags: Flags) => run((a, f) => a.unlink(f, name, platform, id), flags),
  )
}
