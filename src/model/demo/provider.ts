import { type Message, type ToolCall, textOf } from '../message.ts'
import type { ModelEvent, ModelProvider, ModelRequest, ModelSettings } from '../model-provider.ts'

const WHO = 'I am the demo model: a script, not an AI. '
const HELP =
  `${WHO}I show how this works without an API key. Try one of these:\n\n` +
  '- `run ls -la`: a shell command, which needs your approval\n' +
  '- `read README.md`, `search TODO`\n' +
  '- `write notes.txt: hello`\n\n' +
  'To talk to a real model, set `OPENAI_API_KEY` or write a `[models.main]` block in config.toml.'

/** How much of a result is shown, characters. */
const MAX_SHOWN_CHARS = 600

/** A scripted model that says it is one: streams, and calls tools on plain requests, so that everything can be tried without a key. */
export function createDemoProvider(settings: Pick<ModelSettings, 'contextWindow'>): ModelProvider {
  return {
    id: 'demo',
    capabilities: { vision: false },
    contextWindow: settings.contextWindow,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const { text, call } = answer(request)
      for (const word of text.match(/\s*\S+\s*/g) ?? []) {
        signal.throwIfAborted()
        yield { type: 'text', text: word }
      }
      if (call) yield { type: 'tool-call', call }
      const output = Math.ceil(text.length / 4)
      yield { type: 'usage', usage: { input: sizeOf(request.messages), cacheRead: 0, cacheWrite: 0, output } }
      yield { type: 'finish', reason: call ? 'tool-calls' : 'stop' }
    },
  }
}

function answer({ messages, tools, toolChoice }: ModelRequest): { text: string; call?: ToolCall } {
  // A note or a message may follow the results: the results come first.
  const step = messages.slice(messages.findLastIndex((m) => m.role === 'assistant') + 1)
  const results = step.filter((m) => m.role === 'tool')
  if (results.length > 0) return { text: results.map(report).join('\n\n') }
  const last = messages.at(-1)
  const [words] = last?.role === 'user' ? last.content : []
  const wish = words?.type === 'text' ? wishOf(words.text.trim()) : undefined
  if (!wish || toolChoice === 'none' || !tools.some((t) => t.name === wish.tool)) return { text: HELP }
  const id = `call_demo_${messages.length}`
  const call = { id, name: wish.tool, arguments: JSON.stringify(wish.args) }
  return { text: `The demo model calls \`${wish.tool}\`, as you asked.`, call }
}

function report(result: Extract<Message, { role: 'tool' }>): string {
  const text = textOf(result.content)
  const more = text.length - MAX_SHOWN_CHARS
  const shown = more > 0 ? `${text.slice(0, MAX_SHOWN_CHARS).toWellFormed()}\n… and ${more} more characters` : text
  const fence = '`'.repeat(Math.max(3, ...(shown.match(/`+/g) ?? []).map((run) => run.length + 1)))
  return `\`${result.name}\` returned:\n\n${fence}\n${shown}\n${fence}`
}

/** The request must begin with the word: a sentence that merely contains it is not a request. */
function wishOf(text: string): { tool: string; args: Record<string, string> } | undefined {
  const [, word, rest = ''] = /^(?:please\s+)?(run|read|search|write)\s+([\s\S]+)$/i.exec(text) ?? []
  const what = rest.trim().replace(/^`([^`]+)`$/, '$1')
  switch (word?.toLowerCase()) {
    case 'run':
      return { tool: 'bash', args: { command: what } }
    case 'read':
      return { tool: 'read_file', args: { path: what } }
    case 'search':
      return { tool: 'search', args: { query: what } }
    case 'write': {
      const [, path, content] = /^(\S+?):\s*([\s\S]*)$/.exec(what) ?? []
      return path ? { tool: 'write_file', args: { path, content: content ?? '' } } : undefined
    }
    default:
      return undefined
  }
}

function sizeOf(messages: readonly Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / 4)
}
