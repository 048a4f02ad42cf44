/**
 * Whether the URL is the platform's: by `own`, over https on the standard port, where the API is the platform's; with
 * another `apiUrl` that host alone.
 */
export function isOwnHost(url: URL, apiUrl: string, own: { readonly api: string; readonly hosts: RegExp }): boolean {
  const api = new URL(apiUrl)
  if (api.hostname === own.api) return url.protocol === 'https:' && url.port === '' && own.hosts.test(url.hostname)
  return url.protocol === api.protocol && url.host === api.host
}
