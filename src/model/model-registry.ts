import type { ModelConfig } from '../config/config.ts'
import type { ModelProvider } from './model-provider.ts'
import { knownModel } from './model-table.ts'

export interface ModelRegistry {
  readonly defaultAlias: string
  readonly aliases: readonly string[]
  /** For people: "main (gpt-5.4)"; the alias alone where it is unknown. */
  label(alias: string): string
  /** Made at first use and kept. Throws for an unknown alias. */
  get(alias: string): Promise<ModelProvider>
}

export interface RegistryConfig {
  readonly default: string
  readonly byAlias: Readonly<Record<string, ModelConfig>>
}

/** The model that answers where this one is wished for: aliases that are no longer configured give way to the default. */
export function aliasInUse(
  models: Pick<ModelRegistry, 'aliases' | 'defaultAlias'>,
  wished: string | undefined,
): string {
  return wished !== undefined && models.aliases.includes(wished) ? wished : models.defaultAlias
}

/** Providers are imported when first used. `keys` are by alias. */
export function createModelRegistry(config: RegistryConfig, keys: Readonly<Record<string, string>>): ModelRegistry {
  const aliases = Object.keys(config.byAlias)
  const made = new Map<string, Promise<ModelProvider>>()
  const blockOf = (alias: string): ModelConfig => {
    const block = config.byAlias[alias]
    if (!block) throw new Error(`no model is named "${alias}"`)
    return block
  }
  return {
    defaultAlias: config.default,
    aliases,
    label: (alias) => (aliases.includes(alias) ? `${alias} (${blockOf(alias).model})` : alias),
    async get(alias) {
      const block = blockOf(alias)
      let provider = made.get(alias)
      if (!provider) {
        provider = create(block, keys[alias])
        made.set(alias, provider)
      }
      return provider
    },
  }
}

async function create(block: ModelConfig, key: string | undefined): Promise<ModelProvider> {
  const known = knownModel(block.model)
  const settings = {
    model: block.model,
    baseUrl: block.base_url,
    apiKey: key,
    contextWindow: block.context_window || known.window,
    maxTokens: block.max_tokens,
    reasoningEffort: block.reasoning_effort,
    vision: block.capabilities.supports_vision ?? known.vision,
  }
  if (block.provider === 'demo') {
    const { createDemoProvider } = await import('./demo/provider.ts')
    return createDemoProvider(settings)
  }
  const { createOpenAiChatProvider } = await import('./openai-chat/provider.ts')
  return createOpenAiChatProvider(settings)
}
