import type { Generated } from 'kysely'

/** Times are milliseconds since the epoch, flags are 0 or 1, structures are JSON text: the same on both databases. */
export interface Tables {
  schema_version: { version: number }
  users: { name: string; role: 'admin' | 'member'; created_at: number }
  api_tokens: { id: string; user_name: string; hash: string; created_at: number; revoked_at: number | null }
  links: { platform: string; external_id: string; user_name: string; created_at: number }
  workstreams: {
    id: string
    owner: string
    platform: string
    /** Address.id of the conversation; `ask:<key>` until its thread is made. */
    address: string
    /** The platform's channel in which it was started. */
    channel: string
    state: 'open' | 'closed'
    /** Raised by each job that takes the workstream; what an older one writes hits no row. */
    epoch: number
    model: string | null
    /** JSON: what must be done before the first answer can be posted; null when done. */
    opening: string | null
    /** JSON Address in which answers are posted; null until opened. */
    post_to: string | null
    title: string
    created_at: number
    active_at: number
    /** 1: the hint how to start again after a close was given. */
    close_told: number
  }
  inbox: {
    id: Generated<number>
    ws_id: string
    /** What the row is: a message of a person or bot. */
    kind: 'message'
    dedupe_key: string
    author: string
    author_name: string
    bot: number
    text: string
    attachments: string
    /** JSON MessageRef of the person's message; null for a slash command. */
    ref: string | null
    /** JSON Address the answer goes to. */
    reply_to: string
    /** 1: the thread's earlier messages are to be read first. */
    context: number
    state: 'queued' | 'taken' | 'done' | 'stopped' | 'failed'
    turn_id: string | null
    /** 1: 👀 was shown and is to be taken off. */
    reacted: number
    sent_at: number
    created_at: number
  }
  turns: {
    id: string
    ws_id: string
    /** The turn that waits for this one; null for a turn that people began. */
    parent_id: string | null
    state: 'running' | 'parked' | 'done' | 'failed' | 'stopped'
    /** Starts since the last new journal row; a graceful stop does not count. */
    tries: number
    /** 1: /stop was asked for. */
    stop: number
    model: string
    /** JSON Address this turn answers in. */
    post_to: string
    created_at: number
    ended_at: number | null
  }
  journal: {
    id: Generated<number>
    ws_id: string
    turn_id: string
    kind: string
    data: string
    created_at: number
    /** The weight of the workstream's rows up to and with this one, tokens. */
    total: number
  }
  /** Images of the journal, each once. */
  blobs: { sha256: string; bytes: Uint8Array; created_at: number }
  approvals: {
    id: string
    ws_id: string
    turn_id: string
    /** What a person is asked: to approve the calls of a step. */
    kind: 'calls'
    state: 'open' | 'approved' | 'always' | 'rejected' | 'stopped' | 'expired' | 'superseded' | 'unshowable'
    /** JSON: the calls as they were shown, with fingerprints. */
    calls: string
    changed: string | null
    always: number
    decided_by: string | null
    note: string | null
    expires_at: number | null
    created_at: number
    decided_at: number | null
    /** 1: the card shows the row's present state. */
    card_up_to_date: number
    /** 1: `calls` holds no payloads any more. */
    payloads_dropped: number
  }
  grants: { ws_id: string; label: string; granted_by: string; created_at: number }
  files_read: { ws_id: string; path: string; sha256: string }
  posts: {
    key: string
    /** The turn, approval or workstream that the post belongs to. */
    scope: string
    platform: string
    /** Address.id. */
    address: string
    kind: string
    text: string
    ref: string | null
    /** MessageRef.id, so that a message finds its owner. */
    ref_id: string | null
    /** Slack: the uploaded file, known before the upload is completed. */
    file_id: string | null
    at: number
  }
  jobs: {
    id: Generated<number>
    key: string
    state: 'queued' | 'active'
    run_at: number
    attempt: number
  }
  seen: { key: string; at: number }
  audit: { id: Generated<number>; at: number; actor: string; action: string; ws_id: string | null; detail: string }
  usage: {
    id: Generated<number>
    at: number
    user_name: string
    ws_id: string
    model: string
    input: number
    cache_read: number
    cache_write: number
    output: number
  }
}
