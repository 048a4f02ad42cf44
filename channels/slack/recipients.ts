import type { Address, Person } from '../../src/channel/channel-adapter.ts'

/** Conversations whose last speaker is remembered. */
const MAX_RECIPIENTS = 5000

/** Who spoke last in each conversation: a native stream in a channel must name somebody. */
export class Recipients {
  readonly #byConversation = new Map<string, string>()

  note(to: Address, author: Pick<Person, 'id' | 'bot'>): void {
    if (author.bot) return
    const oldest = this.#byConversation.keys().next().value
    if (this.#byConversation.size >= MAX_RECIPIENTS && oldest !== undefined) this.#byConversation.delete(oldest)
    this.#byConversation.set(to.id, author.id)
  }

  of(to: Address): string | undefined {
    return this.#byConversation.get(to.id)
  }
}
