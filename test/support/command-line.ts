import { spawn } from 'node:child_process'
import { resolve } from 'node:path'

const MAIN = resolve(import.meta.dirname, '../../src/app/main.ts')

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the shipped command line to its end. */
export function turnstone(
  args: readonly string[],
  at: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: at.cwd,
      env: { PATH: process.env.PATH ?? '', HOME: at.cwd, ...at.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.once('close', (code) => done({ code, out, err }))
  })
}
