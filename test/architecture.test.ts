import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesUnder, ROOT, RULES, readSources, type Sources } from './support/architecture.ts'

const sources = readSources()

/** The sources with one file changed or added. */
const withFile = (file: string, change: (text: string) => string): Sources =>
  new Map([...sources, [file, change(sources.get(file) ?? '')]])

describe('the source', () => {
  it('is all there', () => expect(sources.size).toBeGreaterThan(50))

  it.each(Object.keys(RULES) as (keyof typeof RULES)[])('keeps the rule %s', (rule) => {
    expect(RULES[rule](sources)).toEqual([])
  })
})

describe('the rules see', () => {
  const importing = (from: string) => (text: string) => `import { x } from '${from}'\n${text}`
  const file = 'channels/slack/adapter.ts'

  it('an adapter that reaches for a decision', () => {
    const changed = withFile(file, importing('../../src/approval/approvals.ts'))
    expect(RULES.adapterReach(changed)).toEqual([`${file} imports src/approval/approvals.ts`])
  })

  it('one adapter that imports the other', () => {
    const changed = withFile(file, importing('../discord/limits.ts'))
    expect(RULES.siblings(changed)).toEqual([`${file} imports channels/discord/limits.ts`])
  })

  it('a table that is named in a second file', () => {
    const changed = withFile('src/gateway/access.ts', (text) => `${text}\ndb.selectFrom('turns')\n`)
    expect(RULES.tables(changed)).toEqual(['src/gateway/access.ts names turns'])
  })

  it('a log line whose words stand beside the code', () => {
    const changed = withFile('src/gateway/access.ts', (text) => `${text}log.warn({ a: 1 }, 'oh no')\n`)
    expect(RULES.logWords(changed)).toHaveLength(1)
  })

  it('a package without a home', () => {
    const changed = withFile('src/util/ids.ts', importing('left-pad'))
    expect(RULES.homeless(changed)).toEqual(['src/util/ids.ts imports left-pad'])
  })

  it('a function of 61 lines', () => {
    const changed = withFile('src/util/ids.ts', (text) => `${text}function long() {\n${'  x()\n'.repeat(59)}}\n`)
    expect(RULES.longFunctions(changed)).toHaveLength(1)
    const fits = withFile('src/util/ids.ts', (text) => `${text}function long() {\n${'  x()\n'.repeat(58)}}\n`)
    expect(RULES.longFunctions(fits)).toEqual([])
  })

  it('a file of 351 lines, a platform’s name, an import upwards, a cycle', () => {
    const long = withFile('src/util/ids.ts', () => 'x\n'.repeat(351))
    expect(RULES.longFiles(long)).toEqual(['src/util/ids.ts: 351 lines'])
    const named = withFile('src/gateway/access.ts', (text) => `${text}const p = 'slack'\n`)
    expect(RULES.platformNames(named)).toEqual(['src/gateway/access.ts names a platform'])
    const upwards = withFile('src/util/ids.ts', importing('../store/store.ts'))
    expect(RULES.upwards(upwards)).toEqual(['src/util/ids.ts imports src/store/store.ts'])
    const round = withFile('src/turn/turns.ts', importing('./journal.ts'))
    expect(RULES.cycles(round)).toEqual([expect.stringContaining('src/turn/journal.ts')])
    const reaching = withFile('src/gateway/access.ts', importing('../../tools/index.ts'))
    expect(RULES.topRoom(reaching)).toEqual(['src/gateway/access.ts imports tools/index.ts'])
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
