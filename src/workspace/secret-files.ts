import { constants, type Dirent } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** Which files usually hold keys, passwords or cloud credentials: by name, folder and content. The one list. */

const ENDINGS =
  'pem key p8 p12 pfx jks keystore kdb kdbx ppk ovpn tfvars tfvars.json tfstate env kubeconfig mobileprovision'
    .split(' ')
    .map((e) => e.replace('.', '\\.'))
    .join('|')

const NAMES = new RegExp(
  `^(?:${[
    '\\.env(?:rc|[._-].+)?',
    `.*\\.(?:${ENDINGS})`,
    'id_(?:rsa|dsa|ecdsa|ed25519)[^/]*',
    '[._]netrc|\\.npmrc|\\.yarnrc\\.yml|\\.pypirc|\\.git-credentials|\\.pgpass|pgpass\\.conf|\\.htpasswd|\\.my\\.cnf|\\.mylogin\\.cnf',
    '\\.dockercfg|kubeconfig|\\.vault-token|\\.s3cfg|\\.boto|\\.terraformrc|terraform\\.rc|credentials\\.tfrc\\.json',
    '\\.databrickscfg|\\.authinfo|\\.rclone\\.conf|rclone\\.conf|\\.sentryclirc|\\.wakatime\\.cfg',
    '\\.(?:bash|zsh|sh|psql|mysql|sqlite|python|node_repl|rediscli)_history',
    'credentials(?:\\.(?:json|toml|ya?ml|ini|xml|db))?|secrets?\\.(?:ya?ml|json|toml|env|ini|properties)|\\.secrets?',
    'client_secrets?.*\\.json|service[-_]?account.*\\.json|.*firebase-adminsdk.*\\.json|application_default_credentials\\.json',
    'master\\.key|shadow-?|gshadow-?|sudoers',
  ].join('|')})$`,
  'i',
)
/** Files whose names alone say nothing. */
const PLACES =
  /\/(?:\.git\/config|\.cargo\/credentials[^/]*|\.m2\/settings[^/]*\.xml|\.composer\/auth\.json|\.gem\/credentials)$/i
const FOLDERS =
  /\/(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.password-store|\.config\/(?:gcloud|gh|hub|op)|\.terraform\.d|\.vault)(?:\/|$)/i
const HARMLESS = /\.(?:pub|example|sample|template|dist)$/i
/** A copy is what it is a copy of. */
const COPY = /(?:~|\.(?:bak|backup|old|orig|save|copy|tmp|swp|swo|\d{1,8})|[-_.](?:bak|backup|copy|old))$/i

/** Whether the name, or where it lies, says that it usually holds secrets. */
export function holdsSecrets(path: string): boolean {
  if (FOLDERS.test(path)) return true
  let bare = path
  for (let longer = ''; longer !== bare; ) {
    longer = bare
    bare = bare.replace(COPY, '')
  }
  return [path, bare].some((p) => (NAMES.test(basename(p)) || PLACES.test(p)) && !HARMLESS.test(basename(p)))
}

/** A file's beginning is looked at this far, bytes. */
const HEAD_BYTES = 64 * 1024
/** At the start of a line, with a line of the key after it: not where code or a text names it. */
const CONTENT: readonly RegExp[] = [
  /^[ \t]{0,20}-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\s{1,20}[A-Za-z0-9+/=:, -]{16}/m,
  /"private_key"\s{0,5}:\s{0,5}"-----BEGIN /,
  /^PuTTY-User-Key-File-\d/,
  /^AGE-SECRET-KEY-1[A-Z0-9]{50}/m,
  /^\s{0,10}aws_secret_access_key\s{0,5}=\s{0,5}[A-Za-z0-9/+]{40}/im,
]

/** Whether a file's content looks like a key's, whatever its name. */
export async function looksLikeKeyFile(path: string): Promise<boolean> {
  // Non-blocking: a FIFO would otherwise wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (!handle) return false
  try {
    if (!(await handle.stat()).isFile()) return false
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const head = buffer.toString('latin1', 0, bytesRead)
    return CONTENT.some((form) => form.test(head))
  } catch {
    return false
  } finally {
    await handle.close()
  }
}

/** More entries of a workspace are not looked through for hard links: what is then not known counts as a secret. */
const MAX_ENTRIES = 100_000

/**
 * Tells whether a file with more than one name has one, somewhere below `root`, that holds secrets. Costs nothing for the
 * others, and one walk for all that are asked for; where the workspace is too large to tell, the answer is yes.
 */
export function linkedSecrets(root: string): (path: string) => Promise<boolean> {
  let known: Promise<ReadonlySet<string> | undefined> | undefined
  return async (path) => {
    const file = await stat(path).catch(() => undefined)
    if (!file?.isFile() || file.nlink < 2) return false
    known ??= secretInodes(root)
    return (await known)?.has(`${file.dev}:${file.ino}`) ?? true
  }
}

async function secretInodes(root: string): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>()
  let left = MAX_ENTRIES
  const folders = [root]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesOf(folder)) {
      if (--left < 0) return undefined
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile() && holdsSecrets(path)) {
        const info = await stat(path).catch(() => undefined)
        if (info) found.add(`${info.dev}:${info.ino}`)
      }
    }
  }
  return found
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => [])
}
