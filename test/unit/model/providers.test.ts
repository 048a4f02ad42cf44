import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDemoProvider } from '../../../src/model/demo/provider.ts'
import { ModelError, type ModelEvent, type ModelRequest } from '../../../src/model/model-provider.ts'
import { createOpenAiChatProvider } from '../../../src/model/openai-chat/provider.ts'
import { modelProviderContract } from '../../contracts/model-provider.ts'
import { type Answer, ModelSim, text } from '../../simulators/model/index.ts'
import { ScriptedModel, type ScriptStep } from '../../support/scripted-model.ts'

const BASH = {
  name: 'bash',
  description: 'run',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

function asking(content: string): ModelRequest {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: content }] }], tools: [BASH], workstream: 'w' }
}

describe('openai-chat', () => {
  const KEY = 'sk-a-key-nobody-may-see'
  let sim: ModelSim
  beforeAll(async () => {
    sim = await ModelSim.start({ key: KEY })
  })
  afterAll(() => sim.stop())

  modelProviderContract(async () => {
    const answered = (answer: Answer) => (): ModelRequest => {
      sim.script([answer])
      return asking('hi')
    }
    const call = { name: 'bash', arguments: { command: 'ls' }, fragment: 3 }
    return {
      provider: createOpenAiChatProvider({
        model: 'sim-model',
        baseUrl: sim.baseUrl,
        apiKey: KEY,
        contextWindow: 32_000,
        maxTokens: 0,
        reasoningEffort: '',
        vision: false,
      }),
      key: KEY,
      text: answered({ ...text('hello there'), chunk: 3, usage: { prompt: 9, cached: 4 } }),
      calls: answered({ calls: [call, call] }),
      slow: answered({ ...text('hello there'), chunk: 3, holds: [{ at: 3, gate: sim.gate() }] }),
      faults: {
        'key refused': answered({ http: { status: 401, message: `Incorrect API key provided: ${KEY}` } }),
        'server fails': answered({ http: { status: 500, message: `with ${KEY}` } }),
        'page instead of an answer': answered({ html: `<html>${KEY}</html>` }),
        'cut inside a call': answered({ calls: [call], cut: { after: 4, how: 'destroy' } }),
        'no finish': answered({ ...text('half'), finish: null }),
        'error in the stream': answered({ ...text('half'), streamError: { after: 2, message: `at ${KEY}` } }),
      },
    }
  })
})

describe('the demo model', () => {
  const provider = createDemoProvider({ contextWindow: 32_000 })

  modelProviderContract(async () => ({
    provider,
    key: undefined,
    text: () => asking('hello'),
    calls: () => asking('run ls -la'),
    slow: () => asking('hello'),
    // A script that reads its request and nothing else.
    faults: {},
  }))

  it('calls nothing where that is forbidden', async () => {
    const seen: ModelEvent[] = []
    const request: ModelRequest = { ...asking('run ls'), toolChoice: 'none' }
    for await (const event of provider.stream(request, new AbortController().signal)) seen.push(event)
    expect(seen.some((e) => e.type === 'tool-call')).toBe(false)
  })
})

describe('the tests’ scripted model', () => {
  modelProviderContract(async () => {
    const steps: ScriptStep[] = []
    const answered = (step: ScriptStep) => (): ModelRequest => {
      provider.steps.push(step)
      return asking('hi')
    }
    const provider = new ScriptedModel(...steps)
    return {
      provider,
      key: undefined,
      text: answered('hello'),
      calls: answered({ calls: [{ name: 'bash', args: { command: 'ls' } }] }),
      slow: answered('hello'),
      faults: {
        scripted: answered(async function* () {
          yield { type: 'text', text: 'half' }
          throw new ModelError('cut', 'The answer broke off.')
        }),
      },
    }
  })
})
