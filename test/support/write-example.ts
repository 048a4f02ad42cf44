import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { exampleConfig } from './example-config.ts'

writeFileSync(resolve(import.meta.dirname, '../../config.example.toml'), exampleConfig())
