/** What is known of models by the head of their name; tokens. From the providers' model pages. */
const TABLE: readonly { readonly head: string; readonly window: number; readonly vision: boolean }[] = [
  { head: 'gpt-6', window: 1_000_000, vision: true },
  { head: 'gpt-5', window: 400_000, vision: true },
  { head: 'gpt-4.1', window: 1_000_000, vision: true },
  { head: 'gpt-4o', window: 128_000, vision: true },
  { head: 'o3', window: 200_000, vision: true },
  { head: 'o4', window: 200_000, vision: true },
]

/** An unknown model: a window every current model has, and no vision. */
const UNKNOWN = { window: 32_000, vision: false }

export function knownModel(name: string): { readonly window: number; readonly vision: boolean } {
  return TABLE.find((row) => name.startsWith(row.head)) ?? UNKNOWN
}
