import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdsSecrets } from '../../../src/workspace/secret-files.ts'
import { toolBench } from '../../support/tool-bench.ts'

describe('names that hold secrets', () => {
  it.each(
    [
      '.envrc prod.env .env~ .env-prod .env.local.bak .git/config .cargo/credentials.toml .cargo/credentials',
      'terraform.tfstate terraform.tfstate.backup x.tfvars x.auto.tfvars.json .dockercfg kubeconfig a.kubeconfig',
      '.vault-token AuthKey.p8 putty.ppk server.pem.bak server.key.old id_rsa.1 .m2/settings.xml client_secret.json',
      'client_secret_123.apps.json application_default_credentials.json .ssh/config .SSH/config .netrc _netrc',
      'my-firebase-adminsdk-x.json secrets.yml Credentials.JSON .bash_history .config/gcloud/x.db .pgpass',
    ].flatMap((line) => line.split(' ')),
  )('A11 %s', (name) => expect(holdsSecrets(`/w/${name}`)).toBe(true))

  it.each(
    'environment.ts .env.example server.pub keys.md config git/config settings.xml credentials.ts x.env.ts tokens.go history.md main.tf key.ts'.split(
      ' ',
    ),
  )('A11 not %s', (name) => expect(holdsSecrets(`/w/${name}`)).toBe(false))
})

const KEY = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEowIBAAKCAQEA0123456789abcdef\n'.repeat(20)}-----END RSA PRIVATE KEY-----\n`

/** A workspace with files, and what kind of place a path is. */
function bench(files: Readonly<Record<string, string>>) {
  const b = toolBench()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(b.root, name)), { recursive: true })
    writeFileSync(join(b.root, name), text)
  }
  const zone = async (tool: string, args: Record<string, unknown>): Promise<string | undefined> => {
    const act = (await b.ready(tool, args)).acts.find((a) => a.act === 'read' || a.act === 'write')
    return act && 'zone' in act ? act.zone : undefined
  }
  return { ...b, zone }
}

describe('files by their content', () => {
  it.each([
    ['a key', KEY],
    ['a key after other text', `cert\n${KEY}`],
    ['a service account', '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nMIIE"}'],
    ['a PuTTY key', 'PuTTY-User-Key-File-3: ssh-ed25519\n'],
    ['AWS credentials', `[default]\naws_secret_access_key = ${'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'}\n`],
  ])('A11 %s asks, whatever the name', async (_, text) => {
    const b = bench({ 'notes.txt': text })
    expect(await b.zone('read_file', { path: 'notes.txt' })).toBe('secret')
    expect(await b.zone('write_file', { path: 'notes.txt', content: 'x' })).toBe('secret')
  })

  it('A11 code and texts that name a key do not', async () => {
    const b = bench({
      'a.ts': "const BEGIN = '-----BEGIN PRIVATE KEY-----'\n",
      'b.md': 'A file that starts with\n-----BEGIN PRIVATE KEY-----\nis a key.\n',
    })
    expect(await b.zone('read_file', { path: 'a.ts' })).toBe('workspace')
    expect(await b.zone('read_file', { path: 'b.md' })).toBe('workspace')
  })

  it('A11 search leaves them out and says so', async () => {
    const b = bench({ 'deploy/notes.txt': KEY, 'a.txt': 'MIIEow is how they start\n' })
    const found = await b.call('search', { query: 'MIIE' })
    expect(found).toContain('a.txt')
    expect(found).not.toContain('MIIEowIBAAKC')
    expect(found).toContain('1 file was left out')
  })
})

describe('hard links', () => {
  it('A11 one to a secret of the workspace counts as it, for reads, edits and search', async () => {
    const b = bench({ 'app/.env': 'DB=postgres-hunter2\n', 'plain.txt': 'DB=sqlite\n' })
    linkSync(join(b.root, 'app/.env'), join(b.root, 'notes.txt'))
    linkSync(join(b.root, 'plain.txt'), join(b.root, 'same.txt'))
    expect(await b.zone('read_file', { path: 'notes.txt' })).toBe('secret')
    expect(await b.zone('write_file', { path: 'notes.txt', content: 'x' })).toBe('secret')
    expect(await b.zone('read_file', { path: 'same.txt' })).toBe('workspace')
    const found = await b.call('search', { query: 'DB=' })
    expect(found).toContain('same.txt')
    expect(found).not.toContain('hunter2')
  })
})
