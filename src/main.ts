#!/usr/bin/env -S node --max-semi-space-size=2
import { enableCompileCache } from 'node:module'

// Static imports of this file would not be cached: everything else is behind the import.
enableCompileCache()
const { main } = await import('./cli/main.ts')
await main(process.argv.slice(2))
