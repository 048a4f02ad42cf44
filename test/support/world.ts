/** A chat platform as people see it, the same for both, so that one suite holds both to one behaviour. */
export type PersonName = 'alice' | 'bob' | 'root' | 'stranger'
export type Button = 'approve' | 'always' | 'reject' | 'note'

/** Where a conversation is held. */
export interface Conversation {
  /** Discord thread or DM channel; Slack channel. */
  readonly room: string
  /** Slack: the thread. */
  readonly thread?: string
  /** The person's message that began it. */
  readonly message: string
}

export interface SeenCard {
  readonly id: string
  readonly text: string
  /** Verbs of its live buttons. */
  readonly buttons: readonly Button[]
  readonly files: readonly { readonly name: string; readonly text: string }[]
}

export interface World {
  readonly name: 'discord' | 'slack'
  readonly env: Readonly<Record<string, string>>
  /** The channel in which the bot is mentioned. */
  readonly channel: string
  /** Tables for config.toml: API address and people. */
  readonly toml: string
  /** Mentions the bot in the allowed channel. */
  mention(who: PersonName, text: string): Promise<Conversation>
  /** Writes in the conversation, without a mention unless asked for; the message's id. */
  write(c: Conversation, who: PersonName, text: string, mention?: boolean): Promise<string>
  direct(who: PersonName, text: string): Promise<Conversation>
  /** A mention with files. */
  withFiles(who: PersonName, text: string, files: readonly { name: string; bytes: Buffer }[]): Promise<Conversation>
  /** A thread of people only, with these lines said in it, oldest first; the bot is not mentioned. */
  peoplesThread(lines: readonly (readonly [PersonName, string])[]): Promise<Conversation>
  /** Fills the form of `link` in; what the person was told. */
  link(who: PersonName, token: string): Promise<string>
  /** Asks by slash command in the channel; the conversation that it began. */
  askByCommand(who: PersonName, question: string): Promise<Conversation>
  /** Delivers the person's message once more. */
  redeliver(messageId: string): Promise<void>
  /** What the bot has written there, cards left out, oldest first. */
  texts(c: Conversation): readonly string[]
  cards(c: Conversation): readonly SeenCard[]
  /** What the bot has written in the channel itself. */
  lines(): readonly string[]
  /** All that ever stood there: every version of every message of the bot, cards and files included. */
  everSaid(c: Conversation): readonly string[]
  /** Resolves when the press was acknowledged; rejects where it was not in time. */
  press(who: PersonName, c: Conversation, cardId: string, button: Button): Promise<void>
  /** Presses Note…, fills the modal in. */
  note(who: PersonName, c: Conversation, cardId: string, choice: 'approve' | 'reject', text: string): Promise<void>
  /** A slash command's whole text, e.g. "status"; what the caller was told. */
  command(who: PersonName, c: Conversation | undefined, words: string): Promise<string>
  /** Private lines a person saw, oldest first. */
  private(who: PersonName): readonly string[]
  /** Names of reactions on a message. */
  signs(c: Conversation, messageId: string): readonly string[]
  /** Files the bot has posted there. */
  filesIn(c: Conversation): number
  /** What says that somebody is at work there: typing, a status, an open stream. */
  atWork(c: Conversation): readonly string[]
  /** The platform takes the bot's post in, its answer never comes; `skip` posts pass first. Returns what ends it. */
  losePost(skip?: number): () => void
  /** The platform does not come to change messages of the bot. Returns what ends it. */
  hangEdits(): () => void
  /** The platform does not come to take a reaction off. Returns what ends it. */
  hangUnmark(): () => void
  deleteMessage(c: Conversation, messageId: string): Promise<void>
  /** Everybody or a person pinged by the bot's messages. */
  pings(): readonly string[]
  /** Deviations from the platform's own description. */
  violations(): readonly unknown[]
  /** The platform's clock moves on. */
  jump(ms: number): void
  stop(): Promise<void>
}

/** The people of the config: all but the stranger; root is an admin. */
export function peopleToml(channel: 'discord' | 'slack', idOf: (name: PersonName) => string): string {
  return (['alice', 'bob', 'root'] as const)
    .map((n) => `[users.${n}]\nrole = "${n === 'root' ? 'admin' : 'member'}"\n${channel} = ["${idOf(n)}"]\n`)
    .join('')
}
