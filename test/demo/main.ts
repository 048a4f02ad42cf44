import { Checks } from './checks.ts'
import { play } from './play.ts'

/**
 * One conversation on each platform: simulators on loopback, the real client libraries, the shipped entry, the demo
 * model. Exits 0 only if every check held. `--sabotage` presses Reject where Approve is due: a check must then fail.
 * `--only=discord` plays one platform.
 */
const sabotage = process.argv.includes('--sabotage')
const only = process.argv.find((a) => a.startsWith('--only='))?.slice('--only='.length)
const print = (line: string): boolean => process.stdout.write(`${line}\n`)
const checks = new Checks(print)
print(
  'This demo plays a conversation on simulated Discord and Slack: questions, approvals, a restart with an open card.',
)
try {
  for (const platform of ['discord', 'slack'] as const) {
    if (only === undefined || only === platform) await play(platform, checks, { sabotage })
  }
} catch (error) {
  checks.check('the conversation goes on', false, error instanceof Error ? error.message : String(error))
}
const passed = checks.report()
print(
  passed
    ? 'Next: connect your own server or workspace; "Connect it" in README.md has the steps, `npm run turnstone -- doctor` checks them.'
    : 'Some checks failed; the lines marked FAIL say which.',
)
process.exitCode = passed ? 0 : 1
