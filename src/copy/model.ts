/** What people read in chat and in `doctor` when a model call fails. Addresses hold neither user, password nor query. */

const ASK_OPERATOR = 'Ask an operator to check'

/** The same fault as `doctor` says it: its reader is the operator. */
export function forOperator(fault: string): string {
  return fault.replaceAll(ASK_OPERATOR, 'Check').replaceAll('Check it.', 'Check the key and its variable.')
}

export const MODEL_CUT_OFF = "The model's answer broke off. Try again."
export const MODEL_STALLED = 'The model stopped answering for two minutes. Try again.'
export const MODEL_TOO_SLOW = 'The answer took longer than 10 minutes, so I stopped it. Ask for less at once.'
export const MODEL_TOO_LONG =
  'The answer grew beyond 1,000,000 characters, so I stopped it. The model may be repeating itself; ask for less at once.'
export const MODEL_UNREACHABLE = 'The model could not be reached. Try again later.'
export const MODEL_OUT_OF_QUOTA = `The account at the model's provider is out of credit or over its quota. ${ASK_OPERATOR} its billing.`
export const MODEL_RATE_LIMITED =
  "The model's provider limits how many requests we may send. Try again in a few minutes."
export const MODEL_WINDOW_FULL =
  "This conversation no longer fits into the model's context window. Start a new one, or ask for less at once."
export const MODEL_IMAGE_REFUSED = 'The model could not read an image.'

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing is listening there',
  ENOTFOUND: 'There is no host with that name',
  EAI_AGAIN: 'The host name could not be looked up',
  ECONNRESET: 'The server closed the connection',
  ETIMEDOUT: 'The server did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'The server did not answer in time',
}

/** `address`: host and port. `code`: the system's, such as ECONNREFUSED. */
export function modelUnreachable(address: string, code: string | undefined): string {
  const why = code === undefined ? '' : ` ${UNREACHABLE[code] ?? 'The connection failed'} (${code}).`
  return `Could not reach the model server at ${address}.${why} ${ASK_OPERATOR} that it is running and that base_url is right.`
}

export function modelKeyRejected(address: string): string {
  return `The model server at ${address} rejected the API key. ${ASK_OPERATOR} it.`
}

/** `said`: the server's own words, or ''. */
export function modelUnknown(model: string, url: string, said: string): string {
  return `The model server does not know the model "${model}"${quoted(said)}. It was asked at ${url}. ${ASK_OPERATOR} the model's name.`
}

/** The server knows no such URL. */
export function modelUrlUnknown(url: string, said: string): string {
  return `The model server found nothing at ${url}${quoted(said)}. ${baseUrlCure(url)}`
}

/** The answer was not one of this API: a proxy's or a start page. */
export function modelAnswerUnreadable(url: string): string {
  return `${url} did not send a model's answer. ${baseUrlCure(url)}`
}

export function modelRequestRefused(said: string): string {
  return `The model server refused the request${quoted(said)}.`
}

/** `status`: HTTP, where there was one. */
export function modelServerFailing(address: string, status: number | undefined): string {
  return `The model server at ${address} is failing${status === undefined ? '' : ` (HTTP ${status})`}. Try again later.`
}

function baseUrlCure(url: string): string {
  const base = url.replace(/\/chat\/completions$/, '')
  if (base.endsWith('/chat/completions')) return `${ASK_OPERATOR} base_url: it must not end in /chat/completions.`
  if (!/\/v\d/.test(base)) return `${ASK_OPERATOR} base_url: most servers want ${base}/v1.`
  return `${ASK_OPERATOR} base_url.`
}

function quoted(said: string): string {
  return said && ` ("${said}")`
}
