import { isAbsolute, join, normalize } from 'node:path'
import { AT_KEY, POLICY } from '../copy/config.ts'
import { TurnstoneError } from '../util/errors.ts'
import type { PolicyRule } from './config.ts'
import { realPlace, withHome } from './places.ts'
import { TOOL_LABELS } from './tool-labels.ts'

interface Bases {
  /** Absolute. */
  readonly home: string
  readonly root: string
  readonly perWorkstream: boolean
}

/**
 * The rules with paths as calls are judged by: absolute, after symlinks. Throws TurnstoneError 'config' for one that can
 * never match: a deny rule would otherwise protect nothing, unnoticed.
 */
export function resolvedRules(rules: readonly PolicyRule[], bases: Bases, where: string): PolicyRule[] {
  return rules.map((rule, i) => {
    const fault = faultOf(rule)
    if (fault !== undefined) throw new TurnstoneError('config', AT_KEY(where, `policy[${i + 1}].match`, fault))
    const isPath = rule.act === 'read' || rule.act === 'write'
    return isPath ? { ...rule, match: resolvedPath(rule.match, bases) } : rule
  })
}

function faultOf({ act, match }: PolicyRule): string | undefined {
  if (act === 'exec') return matchesSome(match) ? undefined : POLICY.noTool(TOOL_LABELS)
  if (act === 'net') return hostFault(match)
  if (match.endsWith('/')) return POLICY.slash
  if (/\*.*\/\.\.(?:\/|$)/.test(match)) return POLICY.dots
  return /^~[^/]/.test(match) ? POLICY.home : undefined
}

function matchesSome(pattern: string): boolean {
  const source = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  // Servers name their tools when they run.
  return pattern.startsWith('mcp__') || TOOL_LABELS.some((label) => new RegExp(`^${source}$`, 's').test(label))
}

function hostFault(match: string): string | undefined {
  if (/^\[?[0-9a-f:*.]+\]?$/i.test(match) && match.split(':').length > 2) return undefined
  return /^[a-z0-9*._-]+$/i.test(match) ? undefined : POLICY.host
}

function resolvedPath(match: string, { home, root, perWorkstream }: Bases): string {
  const from = perWorkstream ? join(root, '*') : root
  const expanded = withHome(match, home)
  const absolute = normalize(isAbsolute(expanded) ? expanded : join(from, expanded))
  const star = absolute.indexOf('*')
  if (star < 0) return realPlace(absolute)
  const folder = absolute.lastIndexOf('/', star)
  const real = realPlace(absolute.slice(0, folder) || '/')
  return (real === '/' ? '' : real) + absolute.slice(folder)
}
