import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { expect, it } from 'vitest'
import { KEYS_NOT_IN_THIS_VERSION } from '../../../src/config/not-in-this-version.ts'
import { exampleConfig } from '../../support/example-config.ts'

const text = readFileSync('config.example.toml', 'utf8')

it('the example is what `npm run example` writes, word for word', () => {
  expect(text).toBe(exampleConfig())
})

it('every key in it says what it is for', () => {
  const settings = text.split('\n').filter((line) => /^(?:# )?\w+ += /.test(line))
  expect(settings.length).toBeGreaterThan(50)
  expect(settings.filter((line) => !/ {2}# \S/.test(line))).toEqual([])
})

it('names what is not in this version once, at its default', () => {
  const tables = parse(text.replace(/^# (?=\[|\w+ += )/gm, ''))
  for (const [key, { standard }] of Object.entries(KEYS_NOT_IN_THIS_VERSION)) {
    const path = key.replace('models.*', 'models.main').split('.')
    const value = path.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], tables)
    expect(value, key).toEqual(standard)
  }
  expect(text.match(/# later: /g)).toHaveLength(Object.keys(KEYS_NOT_IN_THIS_VERSION).length)
})
