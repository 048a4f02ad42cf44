import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** A folder imports its own files and lower ranks only. */
const RANKS: Readonly<Record<string, number>> = {
  'src/util': 0,
  'src/copy': 0.2,
  'src/store': 0.5,
  'src/config': 1,
  'src/approval': 1,
  'src/jobs': 1,
  'src/workspace': 1,
  'src/channel': 2,
  'src/model': 2,
  'channels/markdown': 2,
  'channels/support': 2,
  'src/identity': 3,
  'src/workstream': 3,
  'channels/discord': 3,
  'channels/slack': 3,
  'src/tool': 4,
  'src/policy': 5,
  'src/turn': 5,
  'src/agent': 6,
  'src/gateway': 6,
  tools: 7,
  'channels/index.ts': 7,
  'src/app': 8,
}

/** Each SDK has one home. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  'discord.js': ['channels/discord/'],
  '@slack/bolt': ['channels/slack/'],
  '@slack/web-api': ['channels/slack/'],
  openai: ['src/model/openai-chat/'],
  'better-sqlite3': ['src/store/'],
  hono: ['src/gateway/operations/http-server.ts'],
  'prom-client': ['src/gateway/operations/metrics.ts'],
  commander: ['src/app/cli.ts'],
  zod: ['src/config/'],
}

const CODE = ['src', 'channels', 'tools']

function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesUnder(path, ending)
    return path.endsWith(ending) ? [path] : []
  })
}

const sources = CODE.flatMap((folder) => filesUnder(folder, '.ts'))

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found = text.matchAll(/(?:^|\n)(?:import|export)[^;'"]*?from '([^']+)'|import\('([^']+)'\)|\nimport '([^']+)'/g)
  return [...found].map((m) => m[1] ?? m[2] ?? m[3] ?? '')
}

function localImports(file: string): string[] {
  return importsOf(file)
    .filter((i) => i.startsWith('.'))
    .map((i) => relative(ROOT, resolve(ROOT, dirname(file), i)))
}

function folderOf(file: string): string {
  const known = Object.keys(RANKS).filter((f) => file === f || file.startsWith(`${f}/`))
  return known.sort((a, b) => b.length - a.length)[0] ?? ''
}

describe('imports', () => {
  it('covers every source file with a rank', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.filter((f) => folderOf(f) === '')).toEqual([])
  })

  it('go to lower ranks only', () => {
    const wrong = sources.flatMap((file) =>
      localImports(file)
        .filter((to) => to.endsWith('.ts') && folderOf(to) !== folderOf(file))
        .filter((to) => (RANKS[folderOf(to)] ?? 99) >= (RANKS[folderOf(file)] ?? -1))
        .map((to) => `${file} imports ${to}`),
    )
    expect(wrong).toEqual([])
  })

  it('make no cycle, types included', () => {
    const state = new Map<string, 'open' | 'done'>()
    const cycles: string[] = []
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
        return
      }
      state.set(file, 'open')
      for (const to of localImports(file)) if (to.endsWith('.ts')) visit(to, [...path, file])
      state.set(file, 'done')
    }
    for (const file of sources) visit(file, [])
    expect(cycles).toEqual([])
  })

  it('keep each SDK in its one home', () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file).flatMap((i) => {
        const home = Object.keys(HOMES).find((name) => i === name || i.startsWith(`${name}/`))
        const allowed = home === undefined || (HOMES[home] ?? []).some((place) => file.startsWith(place))
        return allowed ? [] : [`${file} imports ${i}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('never reach into tests', () => {
    const wrong = sources.filter((file) => localImports(file).some((to) => to.startsWith('test/')))
    expect(wrong).toEqual([])
  })
})

describe('the tree', () => {
  it('has a TypeScript file beside each tool’s JSON and the other way round', () => {
    const names = (ending: string) =>
      readdirSync(join(ROOT, 'tools'))
        .filter((f) => f.endsWith(ending) && f !== 'index.ts')
        .map((f) => f.slice(0, -ending.length))
        .sort()
    expect(names('.json').length).toBeGreaterThan(0)
    expect(names('.ts')).toEqual(names('.json'))
  })

  it('has no source file over 400 lines', () => {
    const long = sources
      .map((file) => ({ file, lines: readFileSync(join(ROOT, file), 'utf8').split('\n').length }))
      .filter(({ lines }) => lines > 401)
    expect(long).toEqual([])
  })

  it('has every path that the documents name', () => {
    const documents = ['README.md', 'CONTRIBUTING.md', 'Dockerfile', ...filesUnder('docs', '.md')]
    const missing = documents.flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      const named = text.matchAll(/`((?:src|channels|tools|test|docs|\.ci)\/[\w./-]*)`/g)
      return [...named].flatMap(([, path = '']) => (existsSync(join(ROOT, path)) ? [] : [`${file}: ${path}`]))
    })
    expect(missing).toEqual([])
  })

  it('keeps .ci/run executable', () => {
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).not.toBe(0)
  })
})
