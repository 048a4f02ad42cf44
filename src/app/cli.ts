import { Command, CommanderError, Option } from 'commander'
import type { Flags } from '../config/load-config.ts'
import { messageOf, TurnstoneError } from '../util/errors.ts'
import { VERSION } from '../util/version.ts'

/** Flags of parts that this version does not have. */
const LATER = [
  '--mcp-config <file>',
  '--tool-search <mode>',
  '--tool-search-threshold <n>',
  '--tool-search-max-results <n>',
]

/** Runs a command line and sets the exit code: 0, 2 for configuration, 1 for anything else. Errors are one line. */
export async function main(argv: readonly string[]): Promise<void> {
  // Whoever reads us may stop early, as `head` does.
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
    .description('A gateway between a team’s chat and a tool-using AI agent')
    .version(VERSION)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'turnstone: ')) })
  addServe(program)
  addAdmin(program)
  withConfig(program.command('doctor').description('check configuration, store, tokens and model'))
    .option('--json', 'machine-readable')
    .action(async (flags: Flags & { json?: boolean }) => {
      const { doctor } = await import('./doctor.ts')
      process.exitCode = await doctor(flags, flags.json === true)
    })
  const slack = program.command('slack').description('Slack')
  withConfig(slack.command('manifest').description('print the app manifest')).action(async (flags: Flags) => {
    const { slackManifestText } = await import('./slack-manifest.ts')
    process.stdout.write(`${await slackManifestText(flags)}\n`)
  })
  const discord = program.command('discord').description('Discord')
  withConfig(discord.command('invite').description('print the invite URL'))
    .option('--client-id <id>', 'the application’s id; otherwise it is read from the token')
    .action(async (flags: Flags & { clientId?: string }) => {
      const { discordInvite } = await import('./discord-invite.ts')
      process.stdout.write(`${await discordInvite(flags, flags.clientId)}\n`)
    })
  return program
}

function withConfig(command: Command): Command {
  return command.option('--config <file>', 'the configuration file')
}

function addServe(program: Command): void {
  const serve = withConfig(program.command('serve').description('run the gateway'))
    .option('--model <alias>', 'the model of new conversations')
    .option('--skip-permissions', 'tools run without asking')
  for (const flag of LATER) {
    serve.addOption(
      new Option(flag).hideHelp().argParser(() => {
        throw new TurnstoneError('config', `${flag.split(' ')[0]}: not in this version`)
      }),
    )
  }
  serve.action(async (flags: Flags) => {
    const { runServe } = await import('./serve.ts')
    await runServe(flags)
  })
}

type Admin = typeof import('./admin.ts')

function addAdmin(program: Command): void {
  const admin = program.command('admin').description('people, tokens and links')
  const run = (work: (a: Admin, flags: Flags) => Promise<void>, flags: Flags): Promise<void> =>
    import('./admin.ts').then((a) => work(a, flags))
  const user = admin.command('user').description('people')
  withConfig(user.command('add <name>').description('add a person'))
    .addOption(new Option('--role <role>', 'what the person may do').choices(['admin', 'member']).default('member'))
    .action((name: string, flags: Flags & { role: 'admin' | 'member' }) =>
      run((a, f) => a.userAdd(f, name, flags.role), flags),
    )
  withConfig(user.command('list').description('list people with their links')).action((flags: Flags) =>
    run((a, f) => a.userList(f), flags),
  )
  withConfig(user.command('remove <name>').description('remove a person, their links and tokens')).action(
    (name: string, flags: Flags) => run((a, f) => a.userRemove(f, name), flags),
  )
  const token = admin.command('token').description('tokens for /link')
  withConfig(token.command('create <name>').description('make a token; it is shown once')).action(
    (name: string, flags: Flags) => run((a, f) => a.tokenCreate(f, name), flags),
  )
  withConfig(token.command('revoke <name-or-id>').description('revoke one token, or all of a person')).action(
    (nameOrId: string, flags: Flags) => run((a, f) => a.tokenRevoke(f, nameOrId), flags),
  )
  withConfig(admin.command('link <name> <channel> <id>').description('link a platform account')).action(
    (name: string, channel: string, id: string, flags: Flags) => run((a, f) => a.link(f, name, channel, id), flags),
  )
  withConfig(admin.command('unlink <name> <channel> <id>').description('take a link off')).action(
    (name: string, channel: string, id: string, flags: Flags) => run((a, f) => a.unlink(f, name, channel, id), flags),
  )
}
