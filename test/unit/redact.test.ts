import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, REDACTED } from '../../src/util/redact.ts'
import { looksSecret } from '../../src/util/secrets.ts'

const VALUES = ['hunter2-long-secret', 'pa"ss/word 17', 'long-secret-and more', 'aaaaaaaaab', 'xoxb-1', 'žluťoučký-kůň']
const redactor = createRedactor(VALUES)

const run = (chars: string, min: number, max = min): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...chars), minLength: min, maxLength: max })
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
const ALNUM = LOWER + UPPER + DIGITS
const B64URL = `${ALNUM}-_`
const HEX = '0123456789abcdef'
const after = (opener: string, rest: fc.Arbitrary<string>): fc.Arbitrary<string> => rest.map((r) => opener + r)
const oneOf = (openers: string, rest: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...openers.split(' ')), rest).map(([opener, r]) => opener + r)
const all = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> => fc.tuple(...parts).map((p) => p.join(''))
const is = (text: string): fc.Arbitrary<string> => fc.constant(text)
const discordId = run('123456789', 17, 20).map((id) => Buffer.from(id).toString('base64url'))

/** What is secret of it stands between the two others. */
interface Sample {
  readonly before: string
  readonly secret: string
  readonly after: string
}
const alone = (secret: string): Sample => ({ before: '', secret, after: '' })

/** Every form, by name. */
const FORMS: Readonly<Record<string, fc.Arbitrary<Sample>>> = {
  ours: after('ts_', run(HEX, 64)).map(alone),
  slack: oneOf('xoxb- xoxp- xoxa- xoxs- xapp-', all(is('1'), run(DIGITS, 10, 12), is('-'), run(ALNUM, 10, 40))).map(
    alone,
  ),
  discord: all(discordId, is('.'), run(B64URL, 6), is('.'), run(B64URL, 27, 40)).map(alone),
  github: oneOf('ghp_ gho_ ghu_ ghs_ ghr_', run(ALNUM, 36)).map(alone),
  githubFine: after('github_pat_', run(ALNUM, 22, 82)).map(alone),
  gitlab: after('glpat-', all(is('7'), run(B64URL, 19, 30))).map(alone),
  npm: after('npm_', run(ALNUM, 36)).map(alone),
  openai: oneOf('sk-proj- sk-svcacct-', all(is('a7'), run(B64URL, 40, 160))).map(alone),
  anthropic: after('sk-ant-api03-', run(B64URL, 40, 100)).map(alone),
  aws: oneOf('AKIA ASIA', run(UPPER + DIGITS, 16)).map(alone),
  google: after('AIza', run(B64URL, 35)).map(alone),
  googleOAuth: after('ya29.', run(B64URL, 40, 80)).map(alone),
  stripe: oneOf('sk_live_ rk_test_', run(ALNUM, 24, 90)).map(alone),
  jwt: all(after('eyJ', run(B64URL, 12, 60)), after('.eyJ', run(B64URL, 10, 200)), after('.', run(B64URL, 20, 60))).map(
    alone,
  ),
  jwtLong: all(after('eyJ', run(B64URL, 12)), is(`.${'b0'.repeat(3000)}`), after('.', run(B64URL, 43))).map(alone),
  bearer: all(is('Bearer  '), is('q8'), run(ALNUM, 18, 60)).map(alone),
  awsSecret: run(`${ALNUM}+/`, 40).map((secret) => ({ before: 'aws_secret_access_key = "', secret, after: '"' })),
  address: run(`${ALNUM}!$%^&*;,-+=`, 7, 30).map((rest) => ({
    before: 'postgres://app:',
    secret: `9${rest}x7`,
    after: '@db.example.com:5432/app',
  })),
  pem: fc
    .tuple(fc.constantFrom('', 'RSA ', 'EC ', 'OPENSSH '), fc.array(run(`${ALNUM}+/`, 64), { maxLength: 90 }))
    .map(([kind, lines]) =>
      alone(
        `-----BEGIN ${kind}PRIVATE KEY-----\n${lines.map((l) => `${l}\n`).join('')}-----END ${kind}PRIVATE KEY-----`,
      ),
    ),
  value: fc.constantFrom(...VALUES.filter((v) => v.length > 6)).map(alone),
}

/** What nothing may be taken out of, although it resembles a secret. */
const HARMLESS = [
  'The quick brown fox',
  'sk-learn-based-classification-of-text',
  'risk-assessment-of-things-2024',
  'xoxb-your-token-goes-here',
  'Bearer authentication-scheme',
  'Bearer  internationalization',
  'postgres://user:password@localhost/app',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as it stands in a shell script
  'https://user:${PASSWORD}@host/x',
  'https://example.com:8443/a/b?c=d@e',
  '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c',
  '123e4567-e89b-12d3-a456-426614174000',
  '/usr/local/lib/node_modules/eyJ/index.ts',
  'eyJ.eyJ.eyJ',
  '-----BEGIN CERTIFICATE-----',
  'MNO M.N.O MTIz MTIz.x',
  'ghp_ AKIA ts_1 npm_config_cache',
  '日本語 ünïcödé 🙂',
  'x=1; y:2, "z"',
]

function streamed(text: string, cuts: readonly number[]): string {
  const stream = redactor.stream()
  let out = ''
  let at = 0
  for (const cut of cuts) {
    out += stream.push(text.slice(at, at + cut))
    at += cut
  }
  return out + stream.push(text.slice(at)) + stream.end()
}

/** The longest part of `secret` that stands in `text`, characters; where it is no longer than `most`, only that. */
function longestPart(text: string, secret: string, most: number): number {
  for (let at = 0; at + most < secret.length; at++) if (text.includes(secret.slice(at, at + most + 1))) return most + 1
  return most
}

/** What stands before them tells what they are, or they are longer than what is taken for the rest of a token. */
const ONLY_BY_CONTEXT = new Set(['pem', 'address', 'bearer', 'awsSecret', 'jwtLong'])

const cutsOf = fc.array(fc.nat({ max: 60 }), { maxLength: 60 })
const noise = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom(...HARMLESS),
)
const anySecret = fc.oneof(...Object.values(FORMS))

describe('the redactor', () => {
  it.each(Object.keys(FORMS))(
    'A6 lets no more than 6 characters of a secret out, whatever stands around it: %s',
    (name) => {
      const sample = FORMS[name] ?? fc.constant(alone(''))
      fc.assert(
        fc.property(noise, sample, noise, cutsOf, (left, { before, secret, after: behind }, right, cuts) => {
          const text = left + before + secret + behind + right
          for (const out of [redactor.redact(text), streamed(text, cuts)]) {
            // What the noise itself says of it does not count.
            const rest = out.replace(left, '').replace(right, '').replace(before, '').replace(behind, '')
            expect(longestPart(rest, secret, 6)).toBeLessThanOrEqual(6)
          }
        }),
        { numRuns: 150 },
      )
    },
  )

  it('E7b takes out secrets that follow each other, and loses nothing else, whole or in pieces', () => {
    const parts = fc.array(fc.tuple(anySecret, fc.constantFrom(...HARMLESS)), { maxLength: 4 })
    fc.assert(
      fc.property(parts, cutsOf, (list, cuts) => {
        const text = list.map(([s, words]) => ` ${s.before}${s.secret}${s.after} , ${words} `).join('\n')
        const right = list.map(([s, words]) => ` ${s.before}${REDACTED}${s.after} , ${words} `).join('\n')
        expect(redactor.redact(text)).toBe(right)
        expect(streamed(text, cuts)).toBe(right)
      }),
      { numRuns: 500 },
    )
  })

  it('E7d changes no text without a secret', () => {
    const words = fc.array(fc.oneof(fc.constantFrom(...HARMLESS), fc.string({ maxLength: 20 })), { maxLength: 8 })
    fc.assert(
      fc.property(words, cutsOf, (list, cuts) => {
        const text = list.join(' ')
        expect(redactor.redact(text)).toBe(text)
        expect(streamed(text, cuts)).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  it('gives the same in pieces as in one, for any text', () => {
    const piece = fc.oneof(
      anySecret.map((s) => s.before + s.secret + s.after),
      // Parts of secrets, and what begins or ends one.
      fc
        .tuple(anySecret, fc.nat({ max: 80 }), fc.nat({ max: 80 }))
        .map(([s, from, n]) => s.secret.slice(from, from + n)),
      fc.constantFrom(
        '-----BEGIN ',
        'PRIVATE KEY-----',
        '-----END PRIVATE KEY-----',
        'Bearer ',
        '://',
        ':',
        '@',
        'eyJ',
        'sk-',
      ),
      noise,
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), cutsOf, (list, cuts) => {
        const text = list.join('')
        expect(streamed(text, cuts)).toBe(redactor.redact(text))
      }),
      { numRuns: 1500 },
    )
  })

  it.each(Object.keys(FORMS))('E7c a cut leaves no more than 6 characters of a secret, at either side: %s', (name) => {
    const sample = FORMS[name] ?? fc.constant(alone(''))
    fc.assert(
      fc.property(sample, fc.nat({ max: 400 }), ({ before, secret, after: behind }, at) => {
        const text = `say: ${before}${secret}${behind} and so on`
        const cut = Math.min(at, text.length)
        expect(longestPart(redactor.head(text, cut), secret, 6)).toBeLessThanOrEqual(6)
        if (ONLY_BY_CONTEXT.has(name) || / /.test(secret)) return
        expect(longestPart(redactor.tail(text.slice(cut)), secret, 6)).toBeLessThanOrEqual(6)
      }),
      { numRuns: 150 },
    )
  })

  it('E7c leaves nothing of values that overlap', () => {
    expect(redactor.redact('hunter2-long-secret-and more')).toBe(REDACTED)
    expect(streamed('x hunter2-long-secret-and more y', [9, 4, 3, 3, 3])).toBe(`x ${REDACTED} y`)
  })

  it('shows prose as it comes', () => {
    const stream = redactor.stream()
    expect(stream.push('The qui')).toBe('The qui')
    expect(stream.push('ck fox jumps')).toBe('ck fox jump')
    expect(stream.push('. ')).toBe('s. ')
  })
})

describe('what looks like a secret', () => {
  it.each([
    'workspace',
    'us-east-1',
    '/var/cache/app',
    'my-app-v2',
    'http://localhost:8080/x',
    'production',
    '12345678',
    'aaaaaaaa1a',
    'node20',
    'main.ts',
    'true',
    'CamelCaseName',
    'ollama',
  ])('E7d not %s', (value) => expect(looksSecret(value)).toBe(false))
  it.each([
    'a8f5f167f44f4964e6c998dee827110c',
    'Tr0ub4dor&3',
    'c2VjcmV0/dmFsdWU+',
    '123e4567-e89b-12d3-a456-426614174000',
    'xK9#mQ2$vL',
  ])('%s does', (value) => expect(looksSecret(value)).toBe(true))
})
