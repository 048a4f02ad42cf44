/** Matches of one file, each `line:text`. */
export interface FileHits {
  readonly path: string
  readonly lines: readonly string[]
}

/** What a search may return, characters. */
const MAX_SHOWN_CHARS = 32_768
/** Matches a file shows when not all fit, tried in this order. */
const HITS_PER_FILE = [5, 3, 1]

/** Everything if it fits; else the first few matches of each file; else how many each file has. */
export function showHits(hits: readonly FileHits[]): string {
  if (hits.length === 0) return '(no matches)'
  const all = render(hits, Number.POSITIVE_INFINITY)
  if (all.length <= MAX_SHOWN_CHARS) return all
  for (const most of HITS_PER_FILE) {
    const some = render(hits, most)
    if (some.length <= MAX_SHOWN_CHARS) return some
  }
  return counts(hits)
}

function render(hits: readonly FileHits[], most: number): string {
  return hits
    .flatMap(({ path, lines }) => {
      const shown = lines.slice(0, most).map((line) => `${path}:${line}`)
      const more = lines.length - shown.length
      return more > 0 ? [...shown, `${path}: and ${more} more`] : shown
    })
    .join('\n')
}

function counts(hits: readonly FileHits[]): string {
  const sorted = [...hits].sort((a, b) => b.lines.length - a.lines.length)
  const total = hits.reduce((n, h) => n + h.lines.length, 0)
  const rows: string[] = [`Too many matches to show (${total} in ${hits.length} files); matches by file:`]
  let size = rows[0]?.length ?? 0
  for (const [i, { path, lines }] of sorted.entries()) {
    const row = `${path}: ${lines.length}`
    if (size + row.length > MAX_SHOWN_CHARS - 100) {
      rows.push(`and ${sorted.length - i} more files`)
      break
    }
    rows.push(row)
    size += row.length + 1
  }
  return rows.join('\n')
}
