/** The lines of `turnstone doctor`: what is so, and where it is not well, the cure. */
export const DOCTOR = {
  noFile: 'no file; using defaults and the environment',
  skipPermissions: 'skip_permissions is on: tools run without asking',
  databaseToCome: (file: string) => `${file} will be created at the first start`,
  openDirectory: (directory: string) =>
    `other users of this machine can write to ${directory}, where the database is; close it (chmod go-w ${directory})`,
  openFiles: (files: readonly string[]) =>
    `other users of this machine can open ${files.join(', ')}; close them (chmod 600 ${files.join(' ')})`,
  workspace: (root: string, uid: number | undefined) =>
    `${root}; tools run as ${uid === undefined ? 'the same user as the gateway' : `user ${uid}`}`,
  off: (cure: string) => `off; ${cure}`,
  notInThisVersion: 'not in this version',
  sandbox: 'not in this version; approved bash commands can do whatever their user can',
  demoModel: 'the demo model, which follows a script; set OPENAI_API_KEY or add a [models.main] block',
  modelAnswers: (label: string) => `${label} answers`,
  /** With the address, where one is configured. */
  modelFails: (fault: string, alias: string, address: string) =>
    address === '' ? fault : `${fault} (models.${alias}.base_url = ${address})`,
} as const
