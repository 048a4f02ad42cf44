#!/usr/bin/env -S node --max-semi-space-size=2
import * as nodeModule from 'node:module'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 22) {
  const { NODE_TOO_OLD } = await import('../copy/cli.ts')
  process.stderr.write(`${NODE_TOO_OLD(process.versions.node)}\n`)
  process.exit(1)
}
// Static imports of this file would not be cached: everything else is behind the import.
nodeModule.enableCompileCache()
const { main } = await import('./cli.ts')
await main(process.argv.slice(2))
