import type { PolicyRule } from '../config/config.ts'
import type { Act } from '../tool/catalog-tool.ts'

/** A call as the policy sees it. */
export interface JudgedCall {
  readonly acts: readonly Act[]
  /** The tool's own wish; it belongs to the exec act. */
  readonly needsApproval: boolean
  /** The blocklist entry that it matches. */
  readonly blocked?: string
}

export interface Layers {
  readonly rules: readonly PolicyRule[]
  readonly skipPermissions: boolean
  readonly autoApprove: ReadonlySet<string>
  /** *Always allow* of this workstream. */
  readonly grants: ReadonlySet<string>
}

export interface Verdict {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** The rule or the reason; for cards, results and the audit. */
  readonly because: string
  /** Only the tool itself asks, so *Always allow* may cover it. */
  readonly grantable: boolean
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const

/** The one decision: each act is judged, the strictest verdict holds. Pure; the order of rules means nothing. */
export function decide(call: JudgedCall, layers: Layers): Verdict {
  const verdicts = call.acts.map((act) => judge(act, call, layers))
  const strictest = verdicts.reduce((a, b) => (STRICTNESS[b.effect] > STRICTNESS[a.effect] ? b : a))
  const grantable = verdicts.every((v) => v.effect !== 'ask' || v.grantable)
  return { ...strictest, grantable: strictest.effect === 'ask' && grantable }
}

function judge(act: Act, call: JudgedCall, layers: Layers): Verdict {
  const rule = (effect: PolicyRule['effect']): Verdict | undefined => {
    const hit = layers.rules.find((r) => r.effect === effect && r.act === act.act && matches(r.match, act))
    return hit && { effect, because: `policy rule "${hit.name}"`, grantable: false }
  }
  const denied = rule('deny')
  if (denied) return denied
  if (act.act === 'exec' && call.blocked !== undefined) {
    return { effect: 'deny', because: `blocklist entry "${call.blocked}"`, grantable: false }
  }
  return rule('ask') ?? rule('allow') ?? withoutRule(act, call, layers)
}

function withoutRule(act: Act, call: JudgedCall, layers: Layers): Verdict {
  const allow = (because: string): Verdict => ({ effect: 'allow', because, grantable: false })
  if (layers.skipPermissions) return allow('skip_permissions')
  if (act.act === 'net') return allow('no rule on this host')
  if (act.act !== 'exec') {
    if (act.zone === 'workspace') return allow('inside the workspace')
    return { effect: 'ask', because: ZONES[act.zone], grantable: false }
  }
  if (layers.grants.has(act.label)) return allow('always allowed in this conversation')
  if (layers.autoApprove.has(act.label)) return allow('auto_approve')
  if (!call.needsApproval) return allow('needs no approval')
  return { effect: 'ask', because: 'this tool needs approval', grantable: true }
}

const ZONES = {
  outside: 'outside the workspace',
  secret: 'a file that may hold secrets',
  own: "one of the gateway's own files",
} as const

function matches(pattern: string, act: Act): boolean {
  if (act.act === 'net') return hostPattern(pattern).test(act.host)
  if (act.act !== 'exec') return pathPattern(pattern).test(act.path)
  const exec = new RegExp(`^${literal(pattern).replaceAll('\\*', '.*')}$`, 's')
  return exec.test(act.label) || exec.test(act.name)
}

/** `*` is any characters: `*.example.com` matches subdomains at any depth, and not `example.com` itself. */
function hostPattern(pattern: string): RegExp {
  return new RegExp(`^${literal(pattern.toLowerCase()).replaceAll('\\*', '.*')}$`)
}

/** `*` within a segment, `**` across; `dir/**` does not match `dir` itself. */
function pathPattern(pattern: string): RegExp {
  const source = literal(pattern).replaceAll('\\*\\*', '\u0000').replaceAll('\\*', '[^/]*').replaceAll('\u0000', '.*')
  return new RegExp(`^${source}$`, 's')
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
