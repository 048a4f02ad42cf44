import { fitTurn } from '../../src/agent/fit-history.ts'
import { estimateTokens } from '../../src/agent/history.ts'
import { parseTypedAnswer } from '../../src/gateway/cards/typed-answer.ts'
import { parseWords } from '../../src/gateway/commands/words.ts'
import type { Message } from '../../src/model/message.ts'
import { decide } from '../../src/policy/decide.ts'
import { prepareCalls } from '../../src/tool/prepare-calls.ts'
import { createToolCatalog } from '../../src/tool/tool-catalog.ts'
import { createLog } from '../../src/util/log.ts'
import { createRedactor } from '../../src/util/redact.ts'
import { fill, type LoopRow } from './loop-rows-text.ts'
import { toolBench } from './tool-bench.ts'

const row = (name: string, work: () => unknown): LoopRow => ({ name, make: () => work })

function turn(results: number, parts: number, chars: number): readonly Message[] {
  const content = Array.from({ length: parts }, () => ({ type: 'text' as const, text: fill('x', chars) }))
  return Array.from({ length: results }, (_, i) => [
    { role: 'assistant' as const, text: '', calls: [{ id: `${i}`, name: 'act', arguments: '{}' }] },
    { role: 'tool' as const, callId: `${i}`, name: 'act', content },
  ]).flat()
}

/** What stands between a message or an answer and a tool. */
export function jobRows(): readonly LoopRow[] {
  const redactor = createRedactor([])
  const log = createLog('error', redactor, () => undefined)
  const bench = toolBench()
  const preparing = (text: string) => () =>
    prepareCalls([{ id: 'c', name: 'write_file', arguments: text }], {
      tools: createToolCatalog(() => bench.all, log).snapshot(),
      redactor,
      scope: bench.scope,
      whole: true,
    })
  const layers = { rules: [], skipPermissions: false, autoApprove: new Set<string>(), grants: new Set<string>() }
  const rules = [{ name: 'r', effect: 'deny' as const, act: 'read' as const, match: '/**/a*/b*/**' }]
  const path = `/${fill('a/b', 4000)}`
  return [
    row('E2d typed answer: y, and 40,000 blanks', () => parseTypedAnswer(`y,${fill(' ', 40_000)}.`)),
    row('E2d typed answer: 40,000 blanks in the note', () => parseTypedAnswer(`n, a${fill(' ', 40_000)}b`)),
    row('words: 64 KB of blanks', () => parseWords(`stop${fill(' ', 65_536)}x`, [])),
    row('E2e fitTurn: a result of 54 short parts', () => fitTurn(turn(1, 54, 40), 10, estimateTokens)),
    row('E2e fitTurn: 500 results', () => fitTurn(turn(500, 3, 800), 100, estimateTokens)),
    row('B2 prepareCalls: arguments nested 5,000 deep', preparing(`{"x":${'['.repeat(5000)}${']'.repeat(5000)}}`)),
    row('prepareCalls: 1 MB of content', preparing(JSON.stringify({ path: 'p', content: fill('x\n', 1_000_000) }))),
    row('policy: a path of 4,000 characters', () =>
      decide({ acts: [{ act: 'read', path, zone: 'workspace' }], needsApproval: false }, { ...layers, rules }),
    ),
  ]
}
