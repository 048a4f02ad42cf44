import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from './ids.ts'

/** In the environment of whatever a noted script began: the note's own mark. */
const MARK = 'GATEWAY_SCRIPT'

/** Not in the script's own folder, which belongs to the script's user: what it names is killed. */
const NOTE = /^turnstone-[A-Za-z0-9]{6}\.pid$/

/** A number alone is not enough to know a process by: systems use numbers again. */
interface Known {
  readonly pid: number
  /** In clock ticks after the system's start. */
  readonly started: number
}

interface Note {
  /** The system's start and the number space: elsewhere the numbers mean nothing. */
  readonly where: string
  readonly owner: Known
  readonly mark: string
  /** The leader of the group; missing where the owner was killed while it began it. */
  readonly leader?: Known
}

export interface ProcessNote {
  /** Must stand in the script's environment: where this process is killed before `started`, the script is found by it. */
  readonly env: Readonly<Record<string, string>>
  /** The group has begun. */
  started(pid: number): void
  remove(): void
}

/**
 * Notes beside a script's folder that this process runs it, so that the next gateway ends the script's process group
 * where this one is killed. Made before the script begins. Does nothing where there is no /proc. Never throws.
 */
export function noteProcess(folder: string): ProcessNote {
  const file = `${folder}.pid`
  const nothing = { env: {}, started: () => undefined, remove: () => undefined }
  const owner = knownProcess(process.pid)
  if (!owner) return nothing
  const write = (note: Note, flag: 'wx' | 'w'): void => writeFileSync(file, JSON.stringify(note), { flag, mode: 0o600 })
  try {
    const note: Note = { where: whereWeAre(), owner, mark: newId() }
    write(note, 'wx')
    return {
      env: { [MARK]: note.mark },
      started(pid) {
        const leader = knownProcess(pid)
        if (!leader) return
        try {
          write({ ...note, leader }, 'w')
        } catch {
          // The disk is full: it is found by its environment.
        }
      },
      remove: () => rmSync(file, { force: true }),
    }
  } catch {
    return nothing
  }
}

/** Kills the process groups that gateways noted in this folder and did not live to end. How many. Never rejects. */
export async function endLeftProcesses(folder: string): Promise<number> {
  let ended = 0
  for (const name of await readdir(folder).catch(() => [])) {
    if (NOTE.test(name) && (await endNoted(join(folder, name)).catch(() => false))) ended++
  }
  return ended
}

async function endNoted(file: string): Promise<boolean> {
  const { uid } = await lstat(file)
  if (uid !== process.getuid?.()) return false
  const { where, owner, leader, mark } = parse(await readFile(file, 'utf8'))
  const here = where !== undefined && where === whereWeAre()
  if (here && owner && knownProcess(owner.pid)?.started === owner.started) return false
  const group = here ? groupLeft(leader, mark) : undefined
  if (group !== undefined) process.kill(-group, 'SIGKILL')
  await rm(file, { force: true })
  return group !== undefined
}

/** A note that was cut short names nobody. */
function parse(text: string): Partial<Note> {
  try {
    return JSON.parse(text) as Note
  } catch {
    return {}
  }
}

/** The leader may be gone: while a group has members, its number is given to no other process. */
function groupLeft(leader: Known | undefined, mark: string | undefined): number | undefined {
  const now = leader && statOf(leader.pid)
  if (leader && now) return now.started === leader.started && now.group === leader.pid ? leader.pid : undefined
  for (const name of readdirSync('/proc')) {
    const pid = /^\d+$/.test(name) ? Number(name) : 0
    const found = pid > 0 ? statOf(pid) : undefined
    if (!found || found.group !== found.session) continue
    if (leader ? found.group === leader.pid && found.started >= leader.started : isMarked(pid, mark)) return found.group
  }
  return undefined
}

function isMarked(pid: number, mark: string | undefined): boolean {
  if (mark === undefined) return false
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`)
  } catch {
    return false
  }
}

function whereWeAre(): string {
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
}

function knownProcess(pid: number): Known | undefined {
  const found = statOf(pid)
  return found && { pid, started: found.started }
}

function statOf(pid: number): { group: number; session: number; started: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it may hold spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { group: Number(fields[2]), session: Number(fields[3]), started: Number(fields[19]) }
  } catch {
    return undefined
  }
}
