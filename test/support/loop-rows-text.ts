import { renderCard } from '../../channels/discord/cards.ts'
import { type RawMessage, toInbound as toDiscordInbound } from '../../channels/discord/inbound.ts'
import { renderView } from '../../channels/discord/parts.ts'
import { closeFences } from '../../channels/markdown/fences.ts'
import { alignRows } from '../../channels/markdown/table.ts'
import { cardBody } from '../../channels/slack/cards.ts'
import { decodeText, peopleIn, toInbound as toSlackInbound } from '../../channels/slack/inbound.ts'
import { growing } from '../../channels/slack/markdown.ts'
import { sectionMarkdown, textParts } from '../../channels/slack/outbound.ts'
import type { CardView } from '../../src/channel/card.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { parseArguments } from '../../src/tool/arguments.ts'
import { cutMiddle } from '../../src/tool/limit-result.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { escapeMarkup, makeVisible, oneLine, plainTerminal } from '../../src/util/visible.ts'
import { blockedBy } from '../../tools/support/blocklist.ts'
import { OutputCollector } from '../../tools/support/output-collector.ts'

/** What must not hold up the event loop; `make` prepares it and is not measured. */
export interface LoopRow {
  readonly name: string
  readonly make: () => Promise<() => unknown> | (() => unknown)
}

const KB = 1024
const MB = 1024 * KB
const redactor = createRedactor(Array.from({ length: 20 }, (_, i) => `a-configured-secret-value-${i}`))
const PROSE = 'The quick brown fox (a Mammal, it is said) jumps over the lazy dog; No. 7 of 12.\n'

/** `piece` repeated to `size` characters. */
export function fill(piece: string, size: number): string {
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size)
}

const row = (name: string, work: () => unknown): LoopRow => ({ name, make: () => work })

function terminal(): LoopRow[] {
  const texts = {
    'one line of 1 MB': fill('x', MB),
    'carriage returns only': fill('\r', MB),
    'a line begun anew 500,000 times': fill('x\r', MB),
    'escapes that do not end': fill('\u001b[1', MB),
    'titles that do not end': fill('\u001b]', MB),
    'one title of 1 MB': `\u001b]${fill('x', MB)}`,
  }
  return Object.entries(texts).map(([name, text]) => row(`E2a plainTerminal: ${name}`, () => plainTerminal(text)))
}

function shown(): LoopRow[] {
  const collect = (piece: string, size: number) => () => {
    const output = new OutputCollector()
    for (let n = 0; n < size; n += piece.length) output.add('stdout', piece)
    return output.text()
  }
  return [
    row('makeVisible: 256 KB of hidden characters', () => makeVisible(fill('\u200b', 256 * KB))),
    row('makeVisible: 1 MB of prose', () => makeVisible(fill(PROSE, MB))),
    row('oneLine: 4 MB of blanks', () => oneLine(fill(' ', 4 * MB), 200)),
    row('oneLine: 4 MB of hidden characters', () => oneLine(fill('\u202e', 4 * MB), 200)),
    row('escapeMarkup: 64 KB of marks', () => escapeMarkup(fill('*', 64 * KB))),
    row('cutMiddle: 20 MB', () => cutMiddle(fill('é', 20 * MB), 256 * KB)),
    row('OutputCollector: 1,000 pieces of one line', collect('xxxxxxxxxxxxxxxx', 16 * KB)),
    row('OutputCollector: one piece of 64 KB of newlines', collect(fill('\n', 64 * KB), 64 * KB)),
  ]
}

const SECRETIVE = {
  'eyJ-': 'eyJ-',
  'eyJ without a boundary': 'eyJeyJ',
  'eyJ with dots': 'eyJ-aaaaaaaa.',
  'M-': 'M-',
  'PEM headers': '-----BEGIN ',
  'PEM headers, whole': '-----BEGIN PRIVATE KEY-----',
  'PEM ends': '-----END A PRIVATE KEY',
  'Bearer and blanks': 'Bearer       ',
  blanks: ' ',
  'sk-': 'sk-',
  xox: 'xoxb-',
  prose: PROSE,
}

function redaction(): LoopRow[] {
  const push = (piece: string, times: number) => () => {
    const stream = redactor.stream()
    let out = 0
    for (let n = 0; n < times; n++) out += stream.push(piece).length
    return out + stream.end().length
  }
  const whole = Object.entries(SECRETIVE).flatMap(([name, piece]) => [
    row(`E2b redact: 40,000 characters of ${name}`, () => redactor.redact(fill(piece, 40_000))),
    row(`E2b redact: 256 KB of ${name}`, () => redactor.redact(fill(piece, 256 * KB))),
    row(`E2b redactor.stream: 3,000 pieces of ${name}`, push(piece, 3000)),
  ])
  return [
    ...whole,
    row('E2b redact: one PEM header and 256 KB', () => redactor.redact(`-----BEGIN ${fill('A', 256 * KB)}`)),
    row('E2b redact: one Bearer and 256 KB of blanks', () => redactor.redact(`Bearer${fill(' ', 256 * KB)}`)),
    row('E2b redactor.stream: 3,000 pieces of a PEM', () => {
      const stream = redactor.stream()
      stream.push('-----BEGIN PRIVATE KEY-----')
      for (let n = 0; n < 3000; n++) stream.push('MIIE\n')
      stream.end()
    }),
    row('E2b redactor.stream: one piece of 256 KB', push(fill(PROSE, 256 * KB), 1)),
  ]
}

function argumentTexts(): LoopRow[] {
  const texts = {
    'A8 a fence and 2,500 newlines': `\`\`\`\n${fill('\n', 2500)}x`,
    'E2d a fence and 20,000 newlines': `\`\`\`\n${fill('\n', 20_000)}x`,
    'E2d a fence and 250,000 blanks': `\`\`\`json\n{}${fill(' ', 250_000)}x`,
    'B2 lists nested 500,000 deep': `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
    'B2 lists nested 5,000 deep, not closed': `{"a":${'['.repeat(5000)}`,
    'a text that does not end': `{"a": "${fill('x', 500 * KB)}`,
    'a text of quotes': `{"a": ${fill('"', 100 * KB)}`,
    'backslashes that do not end': `{"a": "${fill('\\', 500 * KB)}`,
    'single quotes, repaired': `{'a': '${fill('x', 500 * KB)}'}`,
    '50,000 keys without commas': `{${fill('"a": 1 ', 350_000)}}`,
    'one number of 250 KB': `{"a": ${fill('1', 250 * KB)}x}`,
    blanks: `${fill(' ', 500 * KB)}x`,
    '4 MB of valid JSON': JSON.stringify({ a: fill(PROSE, 4 * MB) }),
  }
  return Object.entries(texts).map(([name, text]) =>
    row(`${/^[A-Z]\d/.test(name) ? name : `E2d ${name}`} (parseArguments)`, () => parseArguments(text, 'a', true)),
  )
}

function scripts(): LoopRow[] {
  const texts = {
    'rm with 8,000 flags': `rm ${fill('-r ', 24 * KB)}`,
    'rm with one long flag': `rm -${fill('r', 24 * KB)}!`,
    'rm with double dashes': `rm ${fill('-- ', 24 * KB)}x`,
    'many rm': fill('rm -r ', 24 * KB),
    'chown with one long flag': `chown -${fill('R', 24 * KB)}!`,
    'chown with 8,000 flags': `chown ${fill('-x ', 24 * KB)}`,
    'mv with 8,000 flags': `mv ${fill('-f ', 24 * KB)}`,
    'dd to disks': fill('of=/dev/sda', 24 * KB),
    'blanks, 1 MB': fill(' ', MB),
    mkfs: `mkfs.${fill('a', 24 * KB)}!`,
  }
  return Object.entries(texts).map(([name, text]) => row(`E2d blocklist: ${name}`, () => blockedBy(text)))
}

/** Markdown that makes readers of it slow, and ordinary long answers. */
const MARKDOWN: Readonly<Record<string, string>> = {
  'an answer of 32 KB': fill(`## Heading\n\n${PROSE}\n- item \`code\`\n\n\`\`\`ts\nconst a = 1\n\`\`\`\n\n`, 32 * KB),
  'one line of 64 KB': fill('word ', 64 * KB),
  'one word of 64 KB': fill('x', 64 * KB),
  'open brackets': fill('[', 16 * KB),
  'open images': fill('![[]()', 16 * KB),
  stars: fill('*a **b ', 16 * KB),
  underscores: fill('_a__', 16 * KB),
  backticks: fill('`a``', 16 * KB),
  'quotes nested deep': fill('>', 16 * KB),
  'lists nested deep': fill('- ', 16 * KB),
  'angle brackets': fill('<', 16 * KB),
  'fences that do not end': fill('```\n', 16 * KB),
  'at signs': fill('@', 16 * KB),
  'a table of 2,000 rows': `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(2000)}`,
  'a table of 500 columns': `${'| a '.repeat(500)}|\n${'|---'.repeat(500)}|\n${'| 1 '.repeat(500)}|\n`,
  bars: fill('|', 16 * KB),
  newlines: fill('\n', 64 * KB),
  'blanks and newlines': fill(' \n', 64 * KB),
  emoji: fill('👩‍💻🇩🇪', 16 * KB),
}

function views(): LoopRow[] {
  const view = (text: string) =>
    ({ turn: 't', phase: 'done', sections: [{ items: [{ kind: 'text', text }] }] }) as const
  return Object.entries(MARKDOWN).flatMap(([name, text]) => [
    row(`Discord view: ${name}`, () => renderView(view(text), 't')),
    row(`Slack view: ${name}`, () => {
      const [section] = view(text).sections
      const last = textParts(sectionMarkdown(section, true)).at(-1) ?? ''
      return growing(last, last)
    }),
    row(`closeFences: ${name}`, () => closeFences(text)),
  ])
}

function cards(): LoopRow[] {
  const card = (text: string): CardView => ({
    approval: 'a',
    turn: 't',
    always: true,
    state: { kind: 'open' },
    calls: [
      {
        tool: 'write_file',
        label: 'write_file',
        header: text,
        payload: { filename: 'content.txt', text, bytes: Buffer.byteLength(text), sha256: 'x' },
      },
    ],
  })
  const texts = {
    '512 KB of prose': fill(PROSE, 512 * KB),
    '256 KB of hidden characters': fill('\u202e', 256 * KB),
    '256 KB of backticks': fill('`', 256 * KB),
  }
  return Object.entries(texts).flatMap(([name, text]) => [
    row(`Discord card: ${name}`, () => renderCard(card(text))),
    row(`Slack card: ${name}`, () => cardBody(card(text))),
  ])
}

function inbound(): LoopRow[] {
  const slack = { team: 'T', botUser: 'U0BOT', botId: 'B0BOT', channels: [], bots: [], name: () => undefined }
  const event = { type: 'app_mention', channel: 'C1', user: 'U1', ts: '1700000000.000100' }
  const texts = {
    blanks: `<@U0BOT> x${fill(' ', 39_000)}x`,
    'eyJ-': `<@U0BOT> ${fill('eyJ-', 39_000)}`,
    'mentions that do not end': fill('<@U0BOT|', 39_000),
    'references that do not end': fill('<a', 39_000),
    'labels that do not end': fill('<a|', 39_000),
    'our own mention 4,000 times': fill('<@U0BOT> ', 39_000),
  }
  const config = loadConfig({}, { env: {}, cwd: '/nonexistent', home: '/nonexistent' }).channels.discord
  const names = { channelName: () => undefined, roleName: () => undefined }
  const place = { id: '2', type: 0, guild: '1', name: 'x', overwrites: [] }
  const raw = (content: string): RawMessage => ({
    id: '3',
    channel_id: '2',
    guild_id: '1',
    author: { id: '4', username: 'x' },
    content,
    timestamp: new Date(0).toISOString(),
    type: 0,
    mentions: [{ id: '9', username: 'bot' }],
  })
  return [
    ...Object.entries(texts).flatMap(([name, text]) => [
      row(`A7 Slack inbound: 39,000 characters of ${name}`, () => toSlackInbound({ ...event, text }, slack)),
      row(`A7 Slack text: 39,000 characters of ${name}`, () => decodeText(text, slack)),
      row(`A7 Slack people: 39,000 characters of ${name}`, () => peopleIn({ ...event, text })),
    ]),
    ...['<@9>', ' ', '<:a', '<@', 'eyJ-'].map((piece) =>
      row(`A7 Discord inbound: 39,000 characters of "${piece}"`, () =>
        toDiscordInbound(raw(`<@9>${fill(piece, 39_000)}x`), place, { self: '9', config, names }),
      ),
    ),
  ]
}

/** Every function that works on text of a model, a person or a program. */
export function textRows(): readonly LoopRow[] {
  const table = Array.from({ length: 2000 }, (_, i) => [`row ${i}`, fill('x', i % 50)])
  return [
    ...terminal(),
    ...shown(),
    ...redaction(),
    ...argumentTexts(),
    ...scripts(),
    ...views(),
    ...cards(),
    ...inbound(),
    row('alignRows: 2,000 rows', () => alignRows(table)),
  ]
}
